"""Every policy acts in the environment, whatever the settings: no index leaves its array.

Uncompiled, numpy finds an index beyond the end; `make bounds` compiles with a check of every index.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfenv import baselines
from bfenv.envs.backfill import BackfillEnv
from tests.agents.acting import check_default, check_free, play, workload

# Policies of every family with options that the registered ones do not have
VARIANTS = (
    "queue(order=size*estimate)", "easy(order=saf,reservations=2,lookahead=3)",
    "easy(order=sjf,backfill=saf,reservations=all)", "easy(order=-wait/likely_runtime)",
    "easy(guard=1.2)", "easy(guard=0.9,guard_scale=backlog)",
    "easy(guard=1.1,guard_scale=corrected_easy)",
    "easy(order=lxf,guard=0.9,guard_scale=scaled_backlog)", "easy(backfill_estimate=prediction)",
    "conservative(order=lxf)", "conservative(order=saf,guarantees=False)", "cons-rs(iterations=4)",
    "los(lookahead=4,counts=fitting)", "selective(threshold=1.5)", "slack(seconds=600)",
    "relaxed(factor=0.4)",
)  # fmt: skip
REGISTERED = [name for name, policy in baselines.ALL.items() if not policy.trials]
every_policy = pytest.mark.parametrize("policy", [*REGISTERED, *VARIANTS])
SETTINGS = {
    "window": [1, 2, 5, 16, 64],
    "window_order": ["mixed", "oldest", "saf"],
    "reservations": ["chosen", 0, 1],
    "idle": ["never", "allowed", "every_pass"],
    "guard": [None, 1e-4, 0.9],
    "guard_scale": ["backlog", "scaled_backlog"],
    "warmup_jobs": [0, 25],
    "max_episode_steps": [None, 20],
}
DRAWN = st.fixed_dictionaries({name: st.sampled_from(SETTINGS[name]) for name in SETTINGS})


@every_policy
def test_free(policy):
    """Where all is allowed, each job starts when it does under `simulate`, and none is replaced."""
    check_free(policy)


@every_policy
def test_default(policy):
    """By default, each planned start that is not made counts as replaced, and each other start."""
    check_default(policy)


@every_policy
@given(drawn=DRAWN, seed=st.integers(0, 3))
@settings(max_examples=10)
def test_settings(policy, drawn, seed):
    """Under drawn settings it chooses legal actions."""
    env = BackfillEnv(workload(), split="all", episode_jobs=40, **drawn)
    play(policy, env, seed)
