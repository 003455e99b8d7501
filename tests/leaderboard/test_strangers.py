"""Names of strangers are told from bfenv's own, and nothing of them is imported for it."""

import sys
from pathlib import Path

import numpy as np
import pytest

import bfenv
import bfenv.leaderboard.foresight as foresight
from bfenv.agents.card import Card, write_card
from bfenv.baselines.registry import ALL
from bfenv.core.schedule import Schedule
from bfenv.leaderboard.strangers import (
    is_strange_agent,
    is_strange_policy,
    package_of,
    source_of,
)


def test_own_policies(tmp_path):
    """Shipped policies, with or without options, are bfenv's own; so are cards that name them."""
    names = [*ALL, "easy(order=sjf)", "easy:order=sjf"]
    assert not any(map(is_strange_policy, names))
    path = tmp_path / "mine.json"
    write_card(path, Card("mine", "completion", "policy", "", "easy(order=sjf)", {}, ()))
    assert not is_strange_policy(f"agent:{path}")
    assert not is_strange_policy(f"agent(name='{path}')")


@pytest.mark.parametrize(
    "name",
    [
        "mine:policy",
        "mine:policy(x=1)",
        "bfenv.baselines.registry:find_policy(policy='mine:policy')",
    ],
)
def test_strange_policies(name):
    """An object in a module is a stranger's, by whatever way its name is given."""
    assert is_strange_policy(name)


def test_agents(tmp_path):
    """Random actions and networks are bfenv's own; saved models and objects are not."""
    model = tmp_path / "model.zip"
    model.write_bytes(b"")
    for name, strange in {
        "random": False,
        "random:window=3": False,
        "agent:network": False,
        "run/agent.json": False,
        "mine:agent": True,
        str(model): True,
    }.items():
        assert is_strange_agent(name) == strange, name


def test_source(tmp_path, monkeypatch):
    """The source of a module in a package is found without importing either."""
    package = tmp_path / "strange_package"
    package.mkdir()
    for file in ("__init__.py", "module.py"):
        (package / file).write_text("raise SystemExit")
    monkeypatch.syspath_prepend(tmp_path)
    assert source_of("strange_package.module:policy(x=1)") == package / "module.py"
    assert source_of("strange_package:policy") == package / "__init__.py"
    assert source_of("math:sin") is None
    assert package_of("strange_package.module:policy") == [package]
    (tmp_path / "strange.py").write_text("raise SystemExit")
    assert package_of("strange:policy") == [tmp_path / "strange.py"]
    assert "strange_package" not in sys.modules
    with pytest.raises(bfenv.BfenvError, match="there is no such module"):
        source_of("strange_package.nothing:policy")
    with pytest.raises(bfenv.BfenvError, match="name the module, not its file"):
        source_of(f"{Path('x.py')}:policy")


TRACE = bfenv.load_workload("lublin:procs=32,jobs=80,load=1.2,seed=3")


def clairvoyant(trace):
    """Serve the shortest runtime first, one job at a time."""
    order, clock = np.argsort(trace.runtime, kind="stable"), int(trace.jobs.submit[-1])
    start = np.empty(len(trace), dtype=np.int64)
    for job in order:
        start[job], clock = clock, clock + trace.runtime[job]
    return scheduled(trace, start)


def scheduled(trace, start):
    none = np.full(len(trace), -1)
    return Schedule(trace, "test", 0, start, start + trace.runtime, none, none)


def test_find():
    """A clairvoyant is found out, an honest policy is not, and a forgetful one cannot be tried."""
    assert (
        foresight.look_for_foresight(TRACE, lambda trace: bfenv.simulate(trace, "easy-sjf"))
        == foresight.NONE_FOUND
    )
    assert foresight.look_for_foresight(TRACE, clairvoyant).startswith("peeking: ")
    lengths = []

    def restless(trace):
        lengths.append(len(trace))
        schedule = bfenv.simulate(trace, "fcfs")
        return scheduled(trace, schedule.start + len(lengths))

    assert foresight.look_for_foresight(TRACE, restless).startswith(
        f"{foresight.NOT_CHECKED}two runs differ"
    )
    assert set(lengths) == {foresight.JOBS}


@pytest.mark.parametrize("name", ["random", "agent:network"])
def test_own_agents(name):
    """The agents of bfenv foresee nothing."""
    assert foresight.foresight_of_agent(name, TRACE, 0) == foresight.NONE_FOUND
