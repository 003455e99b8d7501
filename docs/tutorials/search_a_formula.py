"""
Search for a priority formula
=============================

EASY serves the queue in order of arrival. Other orders, such as the smallest area first, have a
much lower mean. Genetic programming finds orders that no one wrote down. You run a small search,
read the formula it finds, and score it on jobs that it has not seen.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import bfenv
from bfenv.analysis import STARVES
from bfenv_lab.search import SearchSettings, run_search

GENERATIONS = 8
POPULATION = 24

# %%
# The search
# ----------
#
# Candidates run on slices of the workload, as it is and at a load of 90 %, with submit times
# shifted at random by up to 5 minutes, because small shifts can change a schedule a lot. A
# candidate's score is the mean log ratio of its mean bounded slowdown to EASY's, plus a penalty
# if a job waits more than 1.5 times as long as EASY's longest wait.

settings = SearchSettings(
    workloads=("lublin:jobs=2000,procs=64,seed=1", "lublin:jobs=2000,procs=64,seed=2"),
    split="all",  # other seeds are for scoring
    slice_jobs=1000,
    shakes=1,
    population=POPULATION,
    seed=1,
)
history = []
result = run_search(settings, Path("found"), generations=GENERATIONS, done=history.append)
print(f"{result['candidates']} candidates\n{result['policy']}")

# %%
# Two numbers say how good the best candidate is on the jobs of the search. Both are relative to
# EASY's.

figure, panels = plt.subplots(2, 1, figsize=(7, 4.5), sharex=True, layout="constrained")
generations = [progress.generation for progress in history]
ratios = [progress.score.slowdown_ratio for progress in history]
waits = [progress.score.wait_ratio for progress in history]
panels[0].step(generations, ratios, where="post")
panels[0].set(ylabel="bounded slowdown / EASY's", ylim=0)
panels[1].step(generations, waits, where="post", color="#D55E00")
panels[1].axhline(STARVES, color="#6B6B6B", linestyle="--", label="starves jobs above")
panels[1].set(ylabel="longest wait / EASY's", xlabel="generation", ylim=0)
panels[1].legend(loc="lower left")
panels[1].locator_params(axis="x", integer=True)
plt.show()

# %%
# Read it
# -------
#
# The result is a policy's name, which you can use wherever you name a policy. The job with the
# smallest value of the formula comes first. In reading it, remember:
#
# * a term with ``size`` or ``estimate`` lets small or short jobs pass;
# * ``-wait``, or a division by ``wait``, moves a job forward while it waits, so it cannot starve
#   forever;
# * a constant factor changes nothing, because an order compares.
#
# Does it still help on other jobs? The search has not seen these seeds. A mean over so few jobs
# depends on luck, so there are several.


def score(policy, trace):
    """Return mean bounded slowdown and longest wait, as ratios to EASY's."""
    own, easy = (bfenv.metrics(bfenv.simulate(trace, name)) for name in (policy, "easy"))
    return tuple(own[name] / easy[name] for name in ("mean_bounded_slowdown", "max_wait"))


unseen = [bfenv.load_workload(f"lublin:jobs=2000,procs=64,seed={seed}") for seed in range(11, 17)]
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
named = {"found": result["policy"], "easy-saf": "easy-saf", "easy-f1": "easy-f1"}
for name, policy in named.items():
    points = [score(policy, trace) for trace in unseen]
    axes.plot(*zip(*points, strict=True), "o", label=name)
    starving = sum(wait > STARVES for _, wait in points)
    print(f"{name:9} slowdown / EASY's", *(f"{ratio:.2f}" for ratio, _ in points), end="; ")
    print(f"starves jobs on {starving} of {len(points)} logs")
axes.axhline(STARVES, color="#6B6B6B", linestyle="--", label="starves jobs above")
axes.axvline(1, color="#6B6B6B", linewidth=1)
axes.set(xlabel="bounded slowdown / EASY's", ylabel="longest wait / EASY's")
axes.set(xlim=0, ylim=0)
axes.legend(loc="upper right")
plt.show()

# %%
# A few hundred candidates on small logs make a demonstration. The formulas that come with bfenv
# took tens of thousands of candidates, on large slices of several workloads. The same search on
# the command line, and a card with which the result becomes an agent that knows its training
# jobs:
#
# .. code-block:: text
#
#    bfenv search -w lublin:jobs=20000,seed=1 --split all --budget 2h -o found
#    bfenv agents card found/result.json --what "Two hours on the model" -o mine.json
#    bfenv evaluate -p easy -p agent:mine.json
