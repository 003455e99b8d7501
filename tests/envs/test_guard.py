"""The setting `guard`: the same rule and the same limits as in `easy(guard=...)`."""

import pytest

import bfenv
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.core.durations import DAY
from bfenv.envs.features import AGE, QUEUE, USERS
from bfenv.envs.legal_actions import longest_allowed_wait
from bfenv.envs.settings import GUARD_SCALES
from bfenv.workloads.transform import transformed
from tests.envs.playing import whole

CROWD = transformed(bfenv.load_workload("lublin:procs=16,jobs=220,seed=5"), load=1.4)
CHOSEN = {"window": 220, "reservations": "chosen", "idle": "every_pass"}


@pytest.mark.parametrize("scale", GUARD_SCALES)
def test_policy(scale):
    """A guarded policy replays to the schedule of `simulate`: both guards have the same limit."""
    policy = f"easy(order='size * estimate', guard=0.1, guard_scale={scale})"
    schedule = bfenv.simulate(CROWD, policy)
    unguarded = bfenv.simulate(CROWD, "easy(order='size * estimate')")
    assert schedule.start.tolist() != unguarded.start.tolist()
    env = whole(CROWD, guard=0.1, guard_scale=scale, **CHOSEN)
    agent = PolicyAgent(policy, env)
    observation, _ = env.reset(seed=0)
    while env.unstarted:
        action, _ = agent.predict(observation)
        limit = agent._memory[0].easy.queue.age_limit[0]
        assert longest_allowed_wait(env.batch._state, env.batch.rules, 0) == limit
        observation, *_ = env.step(action)
    assert env.cluster.start.tolist() == schedule.start.tolist()


def test_limit():
    """The limit is the factor times a day and the largest backlog; the oldest job past it leads."""
    hour = 3600
    trace = bfenv.make_trace([0, 0, 1, 30 * hour], [2, 2, 1, 1], [40 * hour, hour, hour, hour], 2)
    env = whole(trace, guard=0.5, guard_scale="backlog", reservations="chosen", idle="never")
    env.reset(seed=0)
    observation, *_, info = env.step(0)
    limit = 0.5 * (DAY + (2 * 40 * hour + 2 * hour) / 2)  # when jobs 0 and 1 waited
    assert info["now"] == 40 * hour
    age = observation["queue"][:3, len(QUEUE)]
    assert age == pytest.approx([1, 1, 10 * hour / limit])
    assert info["action_mask"][:3].tolist() == [1, 0, 0]


def test_column():
    """The guard shows the ages of jobs."""
    env = whole(CROWD, guard=1.0, job_features=["users"])
    assert env.batch.queue_features == QUEUE + USERS + AGE
