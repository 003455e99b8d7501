"""`bfenv.scheduling`: what writers of policies import, and hints where a name is."""

from importlib import import_module

import pytest

import bfenv
import bfenv.core
from bfenv import scheduling
from bfenv.core.jobs import make_trace
from bfenv.parallel.failures import describe_error


def test_policy():
    """A policy that plans with a shadow time needs no other module."""

    def plan(cluster, jobs):
        queue = scheduling.waiting(cluster)
        while len(queue) and scheduling.may_start(cluster, jobs, queue[0]):
            scheduling.start(cluster, jobs, queue[0])
            queue = queue[1:]
        if len(queue):
            shadow_time, extra_nodes = scheduling.shadow(cluster, jobs, queue[0])
            for job in queue[1:]:
                ends = scheduling.now(cluster) + jobs.estimate[job] <= shadow_time
                if scheduling.may_start(cluster, jobs, job) and (
                    ends or jobs.size[job] <= extra_nodes
                ):
                    scheduling.start(cluster, jobs, job)
                    extra_nodes -= 0 if ends else jobs.size[job]

    trace = bfenv.load_workload("lublin:jobs=300,procs=64,load=0.9")
    expected = bfenv.simulate(trace, "easy").start
    assert bfenv.simulate(trace, plan).start.tolist() == expected.tolist()


def test_names():
    """Every name is documented, and is that of the engine."""
    for name in scheduling.__all__:
        value = getattr(scheduling, name)
        assert value.__doc__
        assert name == "kernel" or getattr(bfenv.core, name) is value


@pytest.mark.parametrize("module", ["cluster", "events", "profile"])
def test_hint(module):
    """A name that another module of the engine has is answered with the import that works."""
    found = import_module(f"bfenv.core.{module}")
    missing = next(name for name in ("shadow", "start", "advance") if name not in vars(found))
    with pytest.raises(ImportError, match=f"use: from bfenv.scheduling import {missing}$"):
        exec(f"from bfenv.core.{module} import {missing}")
    assert not hasattr(found, "nothing")


def test_near_name():
    """A misspelled name of a room is answered with the nearest one."""
    with pytest.raises(AttributeError, match="'shadw'; did you mean shadow?"):
        bfenv.core.shadw  # noqa: B018


def test_forgotten_import():
    """A policy that forgot an import is told which one."""

    def forgetful(cluster, jobs):
        for job in waiting(cluster):  # noqa: F821
            print(job)

    with pytest.raises(bfenv.PolicyError, match="use: from bfenv.scheduling import waiting"):
        bfenv.check_policy(forgetful)
    try:
        forgetful(None, make_trace([0], [1], [1], 1).jobs)
    except NameError as error:
        assert describe_error(error).count("bfenv.scheduling") == 1
