"""One small scenario, solved by hand for every policy; most policies schedule it differently.

Joined: it belongs to no single module, but to all policies of the registry.
"""

import pytest

import bfenv
from bfenv import baselines

# Machine of 4 processors, exact estimates; all but job 0 wait when it ends at 10.
#
#     job       0   1   2   3   4
#     submit    0   1   2   3   4
#     size      4   2   4   1   3
#     runtime  10   8   2   4   6
SUBMIT, SIZE, RUNTIME = [0, 1, 2, 3, 4], [4, 2, 4, 1, 3], [10, 8, 2, 4, 6]

FCFS = [0, 10, 18, 20, 20]
#  4 |0000000000        2244444
#  3 |0000000000        2244444     job 2 needs all processors, jobs 3 and 4 wait behind it
#  2 |000000000011111111224444
#  1 |00000000001111111122333
#     0         10      18
EASY = [0, 10, 18, 10, 20]
#  4 |0000000000        22444444
#  3 |00000000003333    22444444    job 3 ends at 14, before job 2 can start; job 4 does not fit
#  2 |00000000001111111122444444
#  1 |00000000001111111122
SHORTEST = [0, 18, 10, 12, 12]
#  4 |000000000022444444            2, 3, 4, 1; job 1 finds two processors free at 18
#  3 |000000000022444444
#  2 |00000000002244444411111111
#  1 |00000000002233331111111111
SMALLEST = [0, 10, 24, 10, 18]  # 3 and 1 together, then 4, and 2 when all are free
LEAST_DEMAND = [0, 16, 14, 10, 24]  # 3 (4), 2 (8) alone, 1 (16), 4 (18)

SCENARIOS = {
    "fcfs": FCFS,
    "easy": EASY,
    # strictly in an order
    "sjf": SHORTEST,
    "lpt": [0, 10, 24, 18, 18],  # 1, then 4 and 3 together, then 2
    "sqf": SMALLEST,
    "lqf": [0, 18, 10, 18, 12],  # 2, 4, then 1 and 3: 3 may not pass 1
    "saf": LEAST_DEMAND,
    "lxf": [0, 12, 10, 12, 20],  # slowdowns at 10: 5 for 2; at 12: 3.25, 2.4, 2.3 for 3, 1, 4
    "wfp3": SHORTEST,  # (w/e)^3 n at 10: 256 for 2; at 12: 11.4, 7.1, 5.2 for 3, 4, 1
    "unicef": LEAST_DEMAND,  # the serial job 3, then w / (log2(n) e): 2, 1, 4
    "f1": FCFS,  # the term in the submit time outweighs all else among short jobs
    "f2": FCFS,
    "f3": FCFS,
    "f4": FCFS,
    # with backfilling
    "easy-sjf": SHORTEST,
    "easy-sjf-shadow1": EASY,  # each job gets at least what EASY promised it: 10, 18, 10, 20
    "easy-sjf-shadow2": SHORTEST,  # one interval more is more than enough
    "easy-sjf-shadow3": SHORTEST,
    "easy-lpt": [0, 10, 24, 10, 18],  # 3 fits in beside 1, before 4
    "easy-sqf": SMALLEST,
    "easy-lqf": [0, 18, 10, 12, 12],  # 3 passes 1, which starts at 18 all the same
    "easy-saf": LEAST_DEMAND,
    "easy-lxf": [0, 12, 10, 12, 20],
    "easy-lxf-width": LEAST_DEMAND,  # at 10: 2.8 and 1.3 for 3, 2; at 16: 1.4 and 1 for 1, 4
    "easy-wfp3": SHORTEST,
    "easy-unicef": LEAST_DEMAND,
    "easy-f1": EASY,
    "easy-f2": EASY,
    "easy-f3": EASY,
    "easy-f4": EASY,
    "easy-aged-sjf": SHORTEST,  # seconds of delay weigh nothing yet
    "easy-saf-guarded": LEAST_DEMAND,  # no wait is over the guard's six hours
    "easy-sjf-guarded": SHORTEST,
    "easy-f2-guarded": EASY,
    "easy-saf-aged": LEAST_DEMAND,  # 4 for 3, 25.6 for 2, 28.6 for 1, 45.3 for 4; no wait counts
    "easy-saf-aged-guarded": LEAST_DEMAND,  # nor is any over the guard's 0.7 days
    "easy-sjbf": EASY,
    "easy++": EASY,  # nobody's runtimes are known: predictions are estimates
    # every job has a reservation; with exact estimates nobody's moves
    "conservative": EASY,
    "conservative-sjf": EASY,
    "conservative-random": EASY,
    "conservative-random-sjf": EASY,
    "cons-rs": EASY,
    "conservative-replan": EASY,
    "conservative-replan-sjf": SHORTEST,
    "conservative-replan-aged-sjf": SHORTEST,
    # all jobs are short: one queue, no trial
    "multiqueue": EASY,
    "easy-speculative": EASY,
    # beside job 1 the fullest machine has job 3 on it
    "los": EASY,
    "los-basic": EASY,
    "los-selected-first": EASY,
    "los-maxjobs": EASY,
    "los-max-slowdown": EASY,
    "selective": EASY,
    "slack": EASY,
    "relaxed": EASY,
}
# One processor; job 0 runs to 5, jobs 1 and 2 (2 s and 3 s) wait: either may be drawn first.
DRAWN = {
    "easy-random",
    "easy-aged-random",
    "conservative-replan-random",
    "conservative-replan-random-sjf",
    "conservative-replan-aged-random",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name):
    """Each policy schedules the scenario as it was solved by hand."""
    trace = bfenv.make_trace(SUBMIT, SIZE, RUNTIME, 4)
    assert bfenv.simulate(trace, name).check().start.tolist() == SCENARIOS[name]


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_drawn_jobs(name):
    """Either of two waiting jobs may be drawn first."""
    trace = bfenv.make_trace([0, 1, 2], [1, 1, 1], [5, 2, 3], 1)
    starts = {tuple(bfenv.simulate(trace, name, seed).start.tolist()) for seed in range(30)}
    assert starts == {(0, 5, 7), (0, 8, 5)}


def test_all_policies():
    """Every policy has a scenario that was solved by hand."""
    assert set(SCENARIOS) | DRAWN == set(baselines.ALL)
    assert not set(SCENARIOS) & DRAWN
