"""
Write a scheduler
=================

A scheduler is a function that is called once per scheduling pass. It sees what users asked for and
the state of the machine, and starts jobs. You write one in ten lines, find out what is wrong with
it, and compile it.
"""

import time

import matplotlib.pyplot as plt

import bfenv
from bfenv.analysis import place
from bfenv.scheduling import advance, kernel, may_start, start, waiting
from bfenv.testing import report_on
from bfenv_judge import load_cases, run_policy

JOBS = 3000  # of the log on which schedulers are timed

# %%
# Ten lines
# ---------
#
# ``jobs`` are arrays of what users asked for. ``waiting`` gives the queue, ``may_start`` tells
# whether a job fits, and ``start`` starts it. This scheduler starts whatever fits, smallest
# first.


@bfenv.policy
def smallest_first(cluster, jobs):
    """Start whatever fits, the smallest job first."""
    for job in sorted(waiting(cluster), key=lambda job: jobs.size[job]):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


# %%
# Try it by hand
# --------------
#
# A machine of four processors and four jobs is small enough to check with a pencil. Job 1 needs
# the whole machine. EASY holds a reservation for it, so job 3 has to wait behind it; the new
# scheduler lets job 3 pass.

small = bfenv.make_trace(
    submit=[0, 1, 2, 2],
    size=[3, 4, 1, 1],
    runtime=[4, 3, 2, 6],
    estimate=[4, 3, 2, 6],
    processors=4,
)
colours = ["#9CCBEA", "#F5CF85", "#96D6BF", "#E6BCD3"]
figure, panels = plt.subplots(2, 1, figsize=(7, 3.6), sharex=True, layout="constrained")
for axes, policy in zip(panels, ("easy", smallest_first), strict=True):
    schedule = bfenv.simulate(small, policy)
    for piece in place(schedule):
        for first, last in piece.spans:
            length = piece.end - piece.start
            box = [(piece.start, length)], (first, last - first)
            axes.broken_barh(*box, facecolor=colours[piece.job], edgecolor="white")
            middle = piece.start + length / 2, (first + last) / 2
            axes.text(*middle, f"job {piece.job}", ha="center", va="center")
    axes.set(title=schedule.policy, ylabel="processors", ylim=(0, 4), yticks=range(5))
    axes.grid(False)
panels[-1].set(xlabel="time (s)")
plt.show()

# %%
# Check it
# --------
#
# ``bfenv check mine:smallest_first`` on the command line, ``report_on`` in Python: they look for
# illegal starts, jobs that never start, hidden state, and decisions that depend on what a
# scheduler cannot know.

print(report_on(smallest_first))

# %%
# This one forgot ``may_start``:


def hasty(cluster, jobs):
    """Start every job at once."""
    for job in waiting(cluster):
        start(cluster, jobs, job)


print(report_on(hasty))

# %%
# Is it EASY?
# -----------
#
# If a scheduler is meant to be EASY, test the rules one by one, with ``bfenv check conformance
# --policy mine:smallest_first`` or in Python. Each case is a handful of jobs, and a wrong schedule
# is matched with usual mistakes. Nothing protects the head here, as the drawing showed:

for verdict in run_policy(smallest_first, load_cases("easy"))[:6]:
    causes = [why for why, starts in verdict.case.mistakes.items() if starts == verdict.starts]
    print(f"{verdict.case.name:26}", "passes" if verdict.passed else f"fails: {causes[:1]}")

# %%
# Compile it
# ----------
#
# Python takes microseconds for each job that it looks at. With ``@kernel``, numba compiles the
# same rule. The loop ``while advance`` stands beside it, and is compiled with it. A kernel
# allocates nothing, so it finds the smallest job by looking, instead of sorting.


@kernel
def next_job(cluster, jobs):
    """Return the smallest waiting job that may start, or -1."""
    best = -1
    for job in waiting(cluster):
        smaller = best < 0 or jobs.size[job] < jobs.size[best]
        if smaller and may_start(cluster, jobs, job):
            best = job
    return best


@kernel
def decide(cluster, jobs, memory):
    """Start whatever fits, the smallest job first."""
    job = next_job(cluster, jobs)
    while job >= 0:
        start(cluster, jobs, job)
        job = next_job(cluster, jobs)


@kernel
def run(cluster, jobs, truth, memory):
    """Run the policy until all jobs have ended."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


compiled = bfenv.Policy("smallest-first-compiled", decide, run=run)

# %%
# Both make the same schedule. The first run of a kernel compiles it, so the second is timed.

trace = bfenv.load_workload(f"lublin:jobs={JOBS},procs=128")
bfenv.simulate(trace, compiled)
seconds = {}
for policy in (smallest_first, compiled):
    begin = time.perf_counter()
    schedule = bfenv.simulate(trace, policy)
    seconds[schedule.policy] = time.perf_counter() - begin
    print(f"{schedule.policy:24} total wait {schedule.wait.sum():,} s")
python, numba = seconds.values()
print(f"the compiled one is {python / numba:.0f} times as fast")

# %%
# Compare it
# ----------
#
# A scheduler takes part wherever a policy is named. Does it help to start the smallest first?

for policy in ("easy", smallest_first):
    schedule = bfenv.simulate(trace, policy)
    row = bfenv.metrics(schedule)
    print(
        f"{schedule.policy:15} bounded slowdown {row['mean_bounded_slowdown']:6.0f}, "
        f"longest wait {row['max_wait'] / 3600:6.0f} h"
    )

# %%
# The mean is lower, but wide jobs starve: whenever processors become free, a small job takes
# them. That is what a reservation is for. ``easy(order=...)`` takes an order and keeps EASY's
# reservation.
