"""Every policy acts in the environment, whatever the settings: no index leaves its array.

Uncompiled, numpy finds an index beyond the end; `make bounds` compiles with a check of every index.
"""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv import baselines
from bfenv.agents import PolicyAgent
from bfenv.core.cluster import NOW
from bfenv.core.jobs import FOREVER
from bfenv.envs.backfill import BackfillEnv

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
    'slurm(parameters="bf_interval=600,bf_max_job_test=3")',
    'slurm(parameters="bf_max_job_user=1,bf_window=60")',
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


@cache
def workload():
    """70 jobs on 16 processors, crowded, of four users."""
    trace = bfenv.load_workload("lublin", procs=16, jobs=300, load=1.4, seed=3)[100:170]
    jobs, users = trace.jobs, np.random.default_rng(2026).integers(0, 4, 70)
    times = jobs.submit, jobs.size, trace.runtime, trace.processors
    return bfenv.make_trace(*times, estimate=jobs.estimate, user=users)


class Watched(PolicyAgent):
    """A PolicyAgent that notes which starts it plans, and when."""

    def __init__(self, policy, env):
        super().__init__(policy, env, seed=7)
        self.planned = set()

    def _plan(self, i, handle):
        super()._plan(i, handle)
        time = int(handle.cluster.state[NOW])
        self.planned |= {(start.job, time) for start in self._starts[i]}


def play(policy, env, seed=0):
    """Play an episode with legal actions; return the agent and the last info."""
    agent = Watched(policy, env)
    observation, info = env.reset(seed=seed)
    over = False
    while not over:
        action, _ = agent.predict(observation)
        assert info["action_mask"][action] == 1
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    assert info["illegal_actions"] == 0
    return agent, info


@every_policy
def test_free(policy):
    """Where all is allowed, each job starts when it does under `simulate`, and none is replaced."""
    free = {"reservations": 0, "guard": None, "idle": "every_pass", "window": len(workload())}
    env = BackfillEnv(workload(), split="all", episode_jobs=None, warmup_jobs=0, **free)
    agent, info = play(policy, env)
    assert env.cluster.start.tolist() == bfenv.simulate(workload(), policy, 7).start.tolist()
    assert agent.replaced_actions == info["forced_starts"] == 0


@every_policy
def test_default(policy):
    """By default, each planned start that is not made counts as replaced, and each other start."""
    env = BackfillEnv(workload(), split="all", episode_jobs=40, warmup_jobs=20, window=16)
    agent, info = play(policy, env)
    begin, end = workload().jobs.submit[env.episode_jobs.start], info["now"]
    started = {(job, time) for job, time in enumerate(env.cluster.start.tolist())}
    lost = {(job, time) for job, time in agent.planned - started if time < end}
    others = {(job, time) for job, time in started - agent.planned if begin <= time < FOREVER}
    assert agent.replaced_actions >= len(lost | others)
    assert (agent.replaced_actions > 0) == bool(lost | others)


@every_policy
@given(drawn=DRAWN, seed=st.integers(0, 3))
@settings(max_examples=10)
def test_settings(policy, drawn, seed):
    """Under drawn settings it chooses legal actions."""
    env = BackfillEnv(workload(), split="all", episode_jobs=40, **drawn)
    play(policy, env, seed)
