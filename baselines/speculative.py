"""EASY with priorities, reservations and speculative execution.

The policy that Lawson and Smirni 2002 (section 3) compare multiple-queue backfilling with:
aggressive backfilling from a single queue, otherwise under the same rules. It is the algorithm of
their Figure 2 with one partition, whose pivot is the head of the queue. With equal priorities and
neither reservations nor trials it is EASY.
"""

from bfenv.baselines.multiqueue.figure2 import LONG, TRIAL, with_queues
from bfenv.core.policy import Policy


def easy_speculative(speculation: int = TRIAL, suspect: int = LONG) -> Policy:
    """Single-queue backfilling; the options are those of
    `bfenv.baselines.multiqueue.figure2.multiqueue`.

    Raises PolicyError on an option out of range.
    """
    return with_queues(
        "easy-speculative",
        (),
        speculation,
        suspect,
        summary="easy with priorities and reservations, after a trial of long jobs",
        source="Lawson and Smirni 2002, section 3",
    )


EASY_SPECULATIVE = easy_speculative()
