"""Environments to render: a small machine worked out by hand, and a crowded one.

On 4 processors, after slots 0 and 0 have started at 0 and 10 and the clock is at 20:

   4 |   .  . [2 2 2 2 2      job 0: 1 processor until 100      head: job 2, needs 4,
   3 | 0 0 .  [2 2 2 2 2      job 1: 2 processors until 130     shadow time 130, 0 extra nodes
   2 | 1 1 1  [2 2 2 2 2      job 3 (1 processor, 200 s) would delay it, job 4 (1, 40 s) not
   1 | 1 1 1  [2 2 2 2 2
     0   100  130       210
"""

import numpy as np

import bfenv
from bfenv.envs.backfill import BackfillEnv

SMALL = {
    "submit": [0, 10, 20, 20, 20],
    "size": [1, 2, 4, 1, 1],
    "runtime": [60, 90, 50, 100, 30],
    "processors": 4,
    "estimate": [100, 120, 80, 200, 40],
    "user": [7, 7, 8, 9, 9],
    "name": "small",
}


def small(mode="ansi", **options):
    env = BackfillEnv(
        bfenv.make_trace(**SMALL),
        warmup_jobs=0,
        episode_jobs=None,
        split="all",
        reservations=1,
        render_mode=mode,
        **options,
    )
    env.reset(seed=0)
    return env


def at_20(mode="ansi", **options):
    env = small(mode, **options)
    env.step(0)
    env.step(0)
    return env


def crowd(jobs=3000, processors=64, seed=0):
    """A trace with far more work than the machine can do."""
    rng = np.random.default_rng(seed)
    estimate = rng.integers(1, 50_000, jobs)
    return bfenv.make_trace(
        np.sort(rng.integers(0, 100_000, jobs)),
        rng.integers(1, processors + 1, jobs),
        rng.integers(1, estimate + 1),
        processors,
        estimate=estimate,
        user=rng.integers(0, 10**6, jobs),
        name="a very long name of a workload, longer than the line of the screen has room" * 3,
    )


def lines_of(text):
    """The lines by their first word."""
    return {line.split()[0]: line for line in text.splitlines() if line.split()}
