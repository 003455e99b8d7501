"""A machine continued from another one, which is copied in place: kernels allocate nothing."""

from bfenv.core.cluster import QUEUE_BEGIN, QUEUE_END, running, waiting
from bfenv.core.event_heap import EventHeap, push
from bfenv.core.events import JOB_BITS
from bfenv.core.kernel import kernel


@kernel
def copy_machine(target, target_truth, cluster, truth):
    """Copy a machine between two passes, all of whose starts are committed.

    Only what is known of waiting and running jobs is copied. So the target must have submitted
    no fewer jobs; those to come are submitted to it again.
    """
    state = cluster.state
    _copy(target.queue, cluster.queue, state[QUEUE_BEGIN], state[QUEUE_END])
    _copy(target.running, cluster.running, 0, len(running(cluster)))
    _copy(target.expected_end, cluster.expected_end, 0, len(running(cluster)))
    _copy(target.state, state, 0, len(state))
    for job in running(cluster):
        _copy_job(target, cluster, job)
    for job in waiting(cluster):
        _copy_job(target, cluster, job)
    count = truth.event_count[0]
    _copy(target_truth.event_time, truth.event_time, 0, count)
    _copy(target_truth.event_entry, truth.event_entry, 0, count)
    target_truth.event_count[0] = count


@kernel
def _copy(target, source, begin, end):
    for i in range(begin, end):
        target[i] = source[i]


@kernel
def _copy_job(target, cluster, job):
    target.start[job] = cluster.start[job]
    target.kill_time[job] = cluster.kill_time[job]
    target.trial_start[job] = cluster.trial_start[job]
    target.trial_end[job] = cluster.trial_end[job]


@kernel
def renew_ends(cluster, truth):
    """Let the running jobs end by `truth.runtime`, which has changed since they started.

    They must still be running by it.
    """
    heap = EventHeap(truth.event_time, truth.event_entry, truth.event_count)
    count = heap.length[0]
    heap.length[0] = 0
    for i in range(count):  # what is pushed takes the place of what has been read
        time, entry = heap.time[i], heap.entry[i]
        if entry >= 0:
            job = entry & JOB_BITS
            time = min(cluster.start[job] + truth.runtime[job], cluster.kill_time[job])
        push(heap, time, entry)
