"""What tests of policies as agents share: a crowded workload, and an agent that notes its plans.

Uncompiled, environments and policies work on strict arrays, so that no index leaves its array.
"""

from functools import cache

import numpy as np
from hypothesis import strategies as st

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.agents.agent_policy import find_agent_competitor
from bfenv.core.cluster import NOW
from bfenv.core.jobs import FOREVER
from bfenv.core.simulator import ignore
from bfenv.envs.backfill import BackfillEnv
from tests.conftest import COMPILED
from tests.strict_arrays import strict, strict_environment

FEW = 24  # jobs, for tests of many settings or options
SOME = 42  # jobs, for tests of many policies
SETTINGS = st.fixed_dictionaries(
    {
        "window": st.sampled_from([1, 2, 5, 16, 64]),
        "window_order": st.sampled_from(["mixed", "oldest", "saf"]),
        "reservations": st.sampled_from(["chosen", 0, 1]),
        "idle": st.sampled_from(["never", "allowed", "every_pass"]),
        "warmup_jobs": st.sampled_from([0, 8]),
        "max_episode_steps": st.sampled_from([None, 10]),
    }
)


@cache
def workload(count=70):
    """70 jobs on 16 processors, crowded, of four users; fewer for tests of many policies."""
    trace = bfenv.load_workload("lublin", procs=16, jobs=300, load=1.4, seed=3)[100 : 100 + count]
    jobs, users = trace.jobs, np.random.default_rng(2026).integers(0, 4, count)
    times = jobs.submit, jobs.size, trace.runtime, trace.processors
    return bfenv.make_trace(*times, estimate=jobs.estimate, user=users)


def play_whole(trace, name, seed=0):
    """Let the agent of a name schedule a whole trace; return the schedule and what it did."""
    return find_agent_competitor(name).play(trace, seed, ignore)


class Watched(PolicyAgent):
    """A PolicyAgent that notes which starts it plans, and when."""

    def __init__(self, policy, env):
        super().__init__(policy, env, seed=7)
        self.planned = set()

    def _new_memory(self, handle):
        memory = super()._new_memory(handle)
        return memory if COMPILED else strict(memory)

    def _plan(self, i, handle):
        super()._plan(i, handle)
        time = int(handle.cluster.state[NOW])
        self.planned |= {(job, time) for job in self._starts[i]}


def play(policy, env, seed=0):
    """Play an episode with legal actions; return the agent and the last info."""
    agent = Watched(policy, env)
    if not COMPILED:
        strict_environment(env)
    observation, info = env.reset(seed=seed)
    over = False
    while not over:
        action, _ = agent.predict(observation)
        assert info["action_mask"][action] == 1
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    assert info["illegal_actions"] == 0
    return agent, info


def check_free(policy, count=SOME):
    """Where all is allowed, each job starts when it does under `simulate`, and none is replaced."""
    trace = workload(count)
    free = {"reservations": 0, "idle": "every_pass", "window": count}
    env = BackfillEnv(trace, split="all", episode_jobs=None, warmup_jobs=0, **free)
    agent, info = play(policy, env)
    assert env.cluster.start.tolist() == bfenv.simulate(trace, policy, 7).start.tolist()
    assert agent.replaced_actions == info["forced_starts"] == 0


def check_default(policy, count=SOME):
    """By default, each planned start that is not made counts as replaced, and each other start."""
    trace = workload(count)
    episode = {"episode_jobs": 4 * count // 7, "warmup_jobs": 2 * count // 7}
    env = BackfillEnv(trace, split="all", window=16, **episode)
    agent, info = play(policy, env)
    begin, end = trace.jobs.submit[env.episode_jobs.start], info["now"]
    started = {(job, time) for job, time in enumerate(env.cluster.start.tolist())}
    lost = {(job, time) for job, time in agent.planned - started if time < end}
    others = {(job, time) for job, time in started - agent.planned if begin <= time < FOREVER}
    assert agent.replaced_actions >= len(lost | others)
    assert (agent.replaced_actions > 0) == bool(lost | others)


def check_settings(policy, drawn, seed):
    """Under drawn settings, a policy chooses legal actions."""
    play(policy, BackfillEnv(workload(FEW), split="all", episode_jobs=12, **drawn), seed)
