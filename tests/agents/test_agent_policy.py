"""Networks by the name of a policy."""

import pickle

import numpy as np
import pytest
from typer.testing import CliRunner

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.agents.network_agent import load_network
from bfenv.cli.app import app
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.envs.backfill import BackfillEnv
from bfenv.leaderboard.make_row import agent_schedule
from bfenv.leaderboard.suite import find_suite
from bfenv.leaderboard.task import plan_rows
from bfenv.testing.report import report_on

TRACE = "lublin:procs=64,jobs=200,seed=9,load=0.9"


@pytest.mark.parametrize("name", ["agent:scorer-lublin", "agent:trial-ranker"])
def test_same_schedule(name: str) -> None:
    """As a policy, a network makes the schedule that it makes as an agent, in its division."""
    trace = bfenv.load_workload(TRACE)
    shares, agent = [], agent_schedule(trace, name, 0).schedule
    schedule = bfenv.simulate(trace, name, watch=shares.append).check()
    assert schedule.policy == name and shares[0]() == 1.0
    assert bfenv.find_policy(name).trials == ("trial" in name)
    for column in ("start", "end", "trial_start", "trial_end"):
        assert np.array_equal(getattr(schedule, column), getattr(agent, column))


def test_elsewhere() -> None:
    """It can be sent to another process, and runs there."""
    policy = pickle.loads(pickle.dumps(bfenv.find_policy("agent:ranker")))
    trace = bfenv.load_workload(TRACE)
    schedules = bfenv.simulate_many([trace], [policy, "agent:ranker"], jobs=2)
    first, second = (schedule.start for schedule in schedules)
    assert np.array_equal(first, second)


def test_seen_jobs() -> None:
    """`bfenv evaluate` says that a network was trained on the jobs it is scored on."""
    trained = load_network("scorer-lublin").card.found["settings"]["workload"][0]
    result = CliRunner().invoke(app, ["evaluate", "-w", trained, "-p", "agent:scorer-lublin"])
    assert "agent:scorer-lublin was trained on" in result.output


def test_leaderboard() -> None:
    """A leaderboard ranks it as the agent that it is, whichever option names it."""
    suite = find_suite("smoke-v1")
    rows = plan_rows(suite, ["easy", "agent:ranker"], ["agent:ranker"])
    assert rows == plan_rows(suite, ["easy"], ["agent:ranker"])


def test_no_passes() -> None:
    """Whatever needs single passes of a policy says that a network has none."""
    with pytest.raises(PolicyError, match="acts in the environment"):
        report_on("agent:ranker")
    env = BackfillEnv(TRACE, episode_jobs=20, warmup_jobs=0, idle="every_pass")
    observation, _ = env.reset(seed=0)
    with pytest.raises(PolicyError, match="use --agent agent:ranker"):
        PolicyAgent("agent:ranker", env).predict(observation)
    with pytest.raises(BfenvError, match="it has no event order"):
        bfenv.simulate(bfenv.load_workload(TRACE), "agent:ranker", event_order="pyss")
