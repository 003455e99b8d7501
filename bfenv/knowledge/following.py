"""How a policy follows the machine and the queue from pass to pass."""

from bfenv.core.cluster import PASSES, waiting
from bfenv.core.kernel import kernel


@kernel
def has_missed_pass(cluster, last_pass):
    """Return whether there was another pass since the last one of this policy.

    In it, another policy may have decided, or an outage may have hidden other jobs. `last_pass`,
    (1,) int64, is kept from pass to pass.
    """
    missed = cluster.state[PASSES] != last_pass[0] + 1
    last_pass[0] = cluster.state[PASSES]
    return missed


@kernel
def new_from(cluster, value, none, last_pass):
    """Return the place in the queue from which on jobs may be new: their value is `none`.

    New jobs are the last ones, unless the policy has missed a pass; see `has_missed_pass`.
    """
    if has_missed_pass(cluster, last_pass):
        return 0
    queue = waiting(cluster)
    first = len(queue)
    while first > 0 and value[queue[first - 1]] == none:
        first -= 1
    return first
