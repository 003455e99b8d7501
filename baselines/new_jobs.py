"""Which waiting jobs are new to a policy that follows the queue from pass to pass."""

from bfenv.core.cluster import PASSES, waiting
from bfenv.core.kernel import kernel


@kernel
def new_from(cluster, value, none, last_pass):
    """Return the place in the queue from which on jobs may be new: their value is `none`.

    New jobs are the last ones, unless the policy has missed a pass: then an outage may have hidden
    older ones. `last_pass`, (1,) int64, is kept from pass to pass.
    """
    queue = waiting(cluster)
    missed = cluster.state[PASSES] != last_pass[0] + 1
    last_pass[0] = cluster.state[PASSES]
    if missed:
        return 0
    first = len(queue)
    while first > 0 and value[queue[first - 1]] == none:
        first -= 1
    return first
