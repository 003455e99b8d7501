"""
Compare policies on a log
=========================

Which policy should a cluster use? You simulate its log under each candidate, and look at more than
one number. A generated log stands in for yours here, so that you need no download.
"""

import matplotlib.pyplot as plt
import numpy as np

import bfenv
from bfenv.analysis import STARVES, batch_means, bounded_slowdown, queue_steps

JOBS = 5000  # of the generated log

# %%
# The log
# -------
#
# Logs come in the Standard Workload Format. This one has the jobs of the Lublin-Feitelson model,
# on 128 processors at an offered load of 80 %. With a log of your own, leave out the first two
# lines.

generated = bfenv.load_workload(f"lublin:jobs={JOBS},procs=128,load=0.8,seed=7")
bfenv.write_swf(generated, "log.swf")
trace = bfenv.read_swf("log.swf")
print(
    f"{len(trace):,} jobs on {trace.processors} processors, offered load {trace.offered_load:.2f}"
)

# %%
# Simulate
# --------
#
# ``check()`` verifies that each schedule is possible on this machine. EASY is the reference with
# which all others are compared.

names = ["fcfs", "easy", "conservative", "easy-sjbf", "easy-f1", "easy-saf"]
schedules = {name: bfenv.simulate(trace, name).check() for name in names}
metrics = {name: bfenv.metrics(schedule) for name, schedule in schedules.items()}
print("policy        bounded slowdown   mean wait   longest wait   used")
for name, row in metrics.items():
    print(
        f"{name:12} {row['mean_bounded_slowdown']:17,.0f} {row['mean_wait'] / 3600:9.1f} h"
        f" {row['max_wait'] / 3600:12.0f} h {row['utilization']:6.1%}"
    )

# %%
# Mean and longest wait
# ---------------------
#
# A policy can buy its mean by letting some jobs starve. The project marks a policy that makes a
# job wait more than twice as long as EASY's longest wait. The best policy is therefore not simply
# the one that is lowest in this figure. Look for points that are low *and* left of the dashed
# line.

easy = metrics["easy"]
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, row in metrics.items():
    point = row["max_wait"] / easy["max_wait"], row["mean_bounded_slowdown"]
    axes.plot(*point, "o", markersize=8)
    axes.annotate(name, point, xytext=(7, 5), textcoords="offset points")
axes.axvline(STARVES, color="#6B6B6B", linestyle="--")
axes.text(STARVES, 0.03, " starves jobs", transform=axes.get_xaxis_transform())
axes.set(yscale="log", xlabel="longest wait / EASY's", ylabel="mean bounded slowdown")
axes.margins(x=0.15, y=0.12)
plt.show()

# %%
# Is the difference real?
# -----------------------
#
# All policies ran the same jobs, so compare job by job. Neighbouring jobs wait in the same queue
# and are not independent. Batch means take that into account.

for name in ("conservative", "easy-sjbf", "easy-f1"):
    difference = bounded_slowdown(schedules[name]) - bounded_slowdown(schedules["easy"])
    mean, low, high = batch_means(difference)[:3]
    print(f"{name:12} minus easy: {mean:+7.0f}, 95 % interval {low:+7.0f} to {high:+7.0f}")

# %%
# If an interval contains 0, the log is too short to rank the two. Simulate a longer log, or
# several.
#
# When does it happen?
# --------------------
#
# The queue shows when policies differ: a few busy weeks make most of the mean.

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for name in ("fcfs", "easy", "easy-f1"):
    time, waiting = queue_steps(schedules[name])
    axes.step(time / 86400, waiting, where="post", linewidth=1, label=name)
axes.set(xlabel="days", ylabel="waiting jobs", xlim=(0, np.max(trace.jobs.submit) / 86400))
axes.legend()
plt.show()

# %%
# The command line makes the same comparison, with more metrics, and pictures of the schedules:
#
# .. code-block:: text
#
#    bfenv evaluate --workload log.swf --policy fcfs --policy easy --policy easy-f1
#    bfenv gantt --workload log.swf --policy easy --policy easy-f1 --out gantt.svg
