"""EASY with priorities, reservations and speculative execution.

The policy that Lawson and Smirni 2002 (section 3) compare multiple-queue backfilling with:
aggressive backfilling from a single queue, otherwise under the same rules. It is the algorithm of
their Figure 2 with one partition, whose pivot is the head of the queue. With equal priorities and
neither reservations nor trials it is EASY.
"""

from bfenv.baselines.multiqueue.figure2 import LONG, TRIAL, with_queues
from bfenv.core.policy import Policy


def easy_speculative(
    speculation: int | str = TRIAL,
    tried_above: int | str = LONG,
    order: str = "fcfs",
    restartable: str | None = None,
) -> Policy:
    """Make a policy of single-queue backfilling with trials.

    Args:
        speculation: Length of a trial, in seconds or like "3min"; 0 for no trials.
        tried_above: Jobs with estimates above it, in seconds or like "12min", are tried first.
        order: The order of the jobs that have one priority: a name of
            `bfenv.knowledge.priorities.ORDERS`, or an expression as `easy` takes it.
        restartable: Which of the restartable jobs are tried, as in `multiqueue`.

    Raises:
        PolicyError: If an option is out of its range.
    """
    return with_queues(
        easy_speculative,
        {
            "speculation": speculation,
            "tried_above": tried_above,
            "order": order,
            "restartable": restartable,
        },
        bounds=(),
        summary="easy with priorities and reservations, after a trial of long jobs",
        source="Lawson and Smirni 2002, section 3",
    )


EASY_SPECULATIVE = easy_speculative()
POLICIES = (EASY_SPECULATIVE,)
FAMILIES = (easy_speculative,)
