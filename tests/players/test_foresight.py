"""Foresight: found where decisions depend on what nobody can know, and nowhere else."""

import numpy as np
import pytest

import bfenv
import bfenv.players.foresight as foresight
from bfenv.core.schedule import Schedule
from bfenv.players.player_process import PlayerKilledError
from tests.players.programs import QUICK, few_jobs, program

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
        foresight._find(TRACE, lambda trace: bfenv.simulate(trace, "easy-sjf"))
        == foresight.NONE_FOUND
    )
    assert foresight._find(TRACE, clairvoyant).startswith("peeking: ")
    lengths = []

    def restless(trace):
        lengths.append(len(trace))
        schedule = bfenv.simulate(trace, "fcfs")
        return scheduled(trace, schedule.start + len(lengths))

    assert foresight._find(TRACE, restless).startswith(f"{foresight.NOT_CHECKED}two runs differ")
    assert set(lengths) == {foresight.JOBS}


@pytest.mark.parametrize("name", ["random", "agent:scorer-lublin"])
def test_own_agents(name):
    """The agents of bfenv foresee nothing."""
    assert foresight.foresight_of_agent(name, TRACE, 0, None) == foresight.NONE_FOUND


def test_players():
    """A program is tried in one process, one that ends after a run is not, nor one killed."""
    trace = few_jobs()
    assert foresight.foresight_of("x", program(), trace, 0, QUICK) == foresight.NONE_FOUND
    found = foresight.foresight_of("x", program("sys.exit()"), trace, 0, QUICK)
    assert found == f"{foresight.NOT_CHECKED}its process died (exit status 0)"
    with pytest.raises(PlayerKilledError, match="its process died .SIGKILL"):
        foresight.foresight_of("x", program("os.kill(os.getpid(), 9)"), trace, 0, QUICK)
