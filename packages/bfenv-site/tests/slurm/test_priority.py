"""Fair share and the factors of a job's priority, solved by hand."""

import numpy as np
import pytest

import bfenv
from bfenv.core.cluster import now, start
from bfenv.core.events import advance, new_cluster
from bfenv_site.slurm.conf import Multifactor, Partition
from bfenv_site.slurm.priority import (
    LAST_TICK,
    TIER,
    follow_usage,
    meet,
    new_priority,
    score_of,
    share_fairly,
)

PARTS = (Partition("a", np.array([0]), 1, 5), Partition("b", np.array([0]), 1, 10))
ACCOUNT_OF = (0, 0, 1)  # users 0 and 1 are of account 0, user 2 of account 1


def shares(usage, **settings):
    """The fair-share factors of three users who have used so much."""
    priority = new_priority(Multifactor(True, fair_share=1.0, **settings), PARTS, 8, 3)
    for user, account in enumerate(ACCOUNT_OF):
        meet(priority, user, account)
        priority.usage[user] = usage[user]
        priority.account_usage[account] += usage[user]
    share_fairly(priority)
    return priority.share.tolist()


@pytest.mark.parametrize(
    ("usage", "ranks"),
    [
        # Account 1 used less, so its user is before all of account 0.
        ((60, 0, 40), (1, 2, 3)),
        # The accounts tie, so their users are sorted together, by their part of the account's
        # shares over their part of its usage: 0.5 / 1, infinity, 1 / 1.
        ((50, 0, 50), (1, 3, 2)),
        # 0.5 / 0.5 is 1 for both, and 1 / 1: all tie.
        ((25, 25, 50), (3, 3, 3)),
        ((0, 0, 0), (3, 3, 3)),
        ((0, 0, 9), (3, 3, 1)),
    ],
)
def test_fair_tree(usage, ranks):
    """The fair tree ranks users level by level."""
    assert shares(usage) == [rank / 3 for rank in ranks]


def test_classic_formula():
    """The classic formula takes a part of the account's usage.

    F = 2^(-U/S/d); the shares are 1/4, 1/4 and 1/2, the effective usages 0.6, 0.3 and 0.4.
    """
    factors = shares((60, 0, 40), fair_tree=False)
    assert factors == pytest.approx([2**-2.4, 2**-1.2, 2**-0.8])
    damped = shares((60, 0, 40), fair_tree=False, damping=4.0)
    assert damped == pytest.approx([2**-0.6, 2**-0.3, 2**-0.2])


def test_half_life():
    """Four processors for a half-life of h leave 4 h / ln 2 x 1/2, and half of that one later."""
    half_life = 1000.0
    settings = Multifactor(True, fair_share=1.0, half_life=half_life, period=500)
    trace = bfenv.make_trace([0, 2000], [4, 1], [1000, 1], 4)
    cluster, jobs, truth = new_cluster(trace)
    priority = new_priority(settings, PARTS, 4, 1)
    meet(priority, 0, 0)
    users, usage = np.zeros(2, dtype=np.int64), {}
    while advance(cluster, jobs, truth):
        follow_usage(priority, cluster, jobs, users)
        usage[now(cluster)] = priority.usage[0]
        if now(cluster) == 0:
            start(cluster, jobs, 0)
    used = 4 * half_life / np.log(2) / 2
    assert usage == {0: 0, 1000: pytest.approx(used), 2000: pytest.approx(used / 2)}


def priority_of(*, at=100, part=1, share=1.0, nice=0, **settings):
    """The priority at a time (s) of a job with two of eight processors and a limit of 600 s."""
    trace = bfenv.make_trace([100], [2], [600], 8, priority=[-nice])
    priority = new_priority(Multifactor(True, **settings), PARTS, 8, 1)
    priority.clock[LAST_TICK] = at
    meet(priority, 0, 0)
    priority.share[0] = share
    return -TIER - score_of(priority, trace.jobs, 0, part, 0)


@pytest.mark.parametrize(
    ("priority", "settings"),
    [
        (250, {"age": 1000.0, "max_age": 400, "at": 200}),
        (1000, {"age": 1000.0, "max_age": 400, "at": 900}),  # no more than its weight
        (1, {"age": 1000.0, "at": 50}),  # submitted after the last calculation: at least 1
        (250, {"job_size": 1000.0}),
        (750, {"job_size": 1000.0, "favor_small": True}),
        (25, {"job_size": 1000.0, "by_time": True}),  # over its ten minutes
        (975, {"job_size": 1000.0, "by_time": True, "favor_small": True}),
        (1000, {"partition": 1000.0}),
        (500, {"partition": 1000.0, "part": 0}),
        (333, {"fair_share": 1000.0, "share": 1 / 3}),  # an integer
        (1283, {"fair_share": 1000.0, "job_size": 1000.0, "share": 1 / 3, "nice": -700}),
        (1, {"job_size": 1000.0, "nice": 400}),
    ],
)
def test_sum_of_factors(priority, settings):
    """A priority is the sum of its weighted factors, less the nice value, and at least 1."""
    assert priority_of(**settings) == priority
