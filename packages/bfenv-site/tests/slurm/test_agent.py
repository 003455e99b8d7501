"""Slurm's scheduler acts in the environment: it keeps in step with what the rules replace."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfenv.envs.backfill import BackfillEnv
from tests.agents.acting import check_default, check_free, play, workload

every_policy = pytest.mark.parametrize(
    "policy",
    [
        "slurm",
        'slurm(parameters="bf_interval=600,bf_max_job_test=3")',
        'slurm(parameters="bf_max_job_user=1,bf_window=60")',
    ],
)


@every_policy
def test_free(policy):
    """Where all is allowed, each job starts when it does under `simulate`, and none is replaced."""
    check_free(policy)


@every_policy
def test_default(policy):
    """By default, each planned start that is not made counts as replaced, and each other start."""
    check_default(policy)


@every_policy
@given(
    window=st.sampled_from([1, 2, 5, 16, 64]),
    reservations=st.sampled_from(["chosen", 0, 1]),
    idle=st.sampled_from(["never", "allowed", "every_pass"]),
)
@settings(max_examples=10)
def test_settings(policy, window, reservations, idle):
    """Under drawn settings it chooses legal actions."""
    rules = {"reservations": reservations, "idle": idle}
    env = BackfillEnv(
        workload(), split="all", window=window, episode_jobs=40, warmup_jobs=20, **rules
    )
    play(policy, env)
