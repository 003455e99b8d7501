"""What a decision shows: the observation, the totals and the integers of the info."""

from bfenv.core.cluster import NEXT_JOB, now, waiting
from bfenv.core.kernel import kernel
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.batch_state import (
    BEFORE_LONGEST,
    BEFORE_NOW,
    BEFORE_SLOWDOWN,
    BEFORE_SUBMITTED,
    BEFORE_WAIT,
    BOUNDED_SLOWDOWN,
    FIRST,
    FORCED,
    ILLEGAL,
    LAST,
    LAST_ILLEGAL,
    LAST_LONGEST,
    LAST_NOW,
    LAST_SLOWDOWN,
    LAST_SUBMITTED,
    LAST_WAIT,
    LONGEST_WAIT,
    OUTSIDE,
    SHOWN_SLOWDOWN,
    STEPS,
    UNSTARTED,
    WAIT,
    StepTotals,
)
from bfenv.envs.observation import observe


@kernel
def write_outputs(state, tables, rules, cluster, jobs, i, buffers):
    """Write the observation, the totals and the infos of environment i into its place."""
    counters, sums = state.counters[i], state.sums[i]
    observe(state, tables, rules, cluster, jobs, i, buffers)
    wait, slowdown, longest = sums[WAIT], sums[SHOWN_SLOWDOWN], sums[LONGEST_WAIT]
    for job in waiting(cluster):
        if counters[FIRST] <= job < counters[LAST]:
            waited = now(cluster) - jobs.submit[job]
            wait += waited
            slowdown += bounded_slowdown(waited, jobs.estimate[job])
            longest = max(longest, waited)
    if counters[UNSTARTED] == 0:
        slowdown = sums[BOUNDED_SLOWDOWN]
    submitted = min(cluster.state[NEXT_JOB], counters[LAST]) - counters[FIRST]
    if counters[STEPS] > 0:
        sums[LAST_NOW] = now(cluster)
        sums[LAST_WAIT] = wait
        sums[LAST_SLOWDOWN] = slowdown
        sums[LAST_LONGEST] = longest
        sums[LAST_SUBMITTED] = submitted
    totals = StepTotals(
        before_now=sums[BEFORE_NOW],
        before_wait=sums[BEFORE_WAIT],
        before_slowdown=sums[BEFORE_SLOWDOWN],
        before_longest=sums[BEFORE_LONGEST],
        before_submitted=sums[BEFORE_SUBMITTED],
        now=float(now(cluster)),
        wait=wait,
        slowdown=slowdown,
        longest=float(longest),
        submitted=float(submitted),
        unstarted=float(counters[UNSTARTED]),
        steps=float(counters[STEPS]),
        illegal_actions=float(counters[ILLEGAL]),
        last_illegal=float(counters[LAST_ILLEGAL]),
        forced_starts=float(counters[FORCED]),
        outside=float(counters[OUTSIDE]),
    )
    for column in range(len(totals)):
        buffers.totals[column, i] = totals[column]
    buffers.illegal[i] = counters[LAST_ILLEGAL]
    duration = int(now(cluster) - sums[BEFORE_NOW]) if counters[STEPS] > 0 else 0  # s
    infos = now(cluster), duration, counters[ILLEGAL], counters[FORCED]
    for column in range(len(infos)):
        buffers.infos[column, i] = infos[column]
