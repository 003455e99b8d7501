"""A cluster on other machines: workers that have neither the logs nor the modules of the user."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import bfenv
from bfenv.core.errors import BfenvError
from bfenv.core.versions import versions
from bfenv.evaluation import evaluate, workload_cases
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.suite import suite_of
from bfenv.parallel.cluster import _check_workers, check_versions
from bfenv.parallel.sweep import run_tasks
from bfenv.workloads.load import load_workload
from bfenv.workloads.logs.swf import write_swf

pytest.importorskip("distributed")
pytestmark = pytest.mark.dask

POLICY = """
from bfenv.core.cluster import may_start, start, waiting
from far_rule import turn


def decide(cluster, jobs, memory):
    for job in turn(waiting(cluster)):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)
"""
RULE = """
def turn(jobs):
    return jobs[::-1]
"""


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """The user's folder, with a log and a policy in two modules."""
    folder = tmp_path_factory.mktemp("user")
    write_swf(bfenv.load_workload("lublin:jobs=120,procs=32,load=1.2,seed=4"), folder / "mine.swf")
    (folder / "far_policy.py").write_text(POLICY)
    (folder / "far_rule.py").write_text(RULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BFENV_TRACES", str(folder))
        patch.syspath_prepend(folder)
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def scheduler(user, tmp_path_factory):
    """The address of a scheduler with two workers, in another folder and environment."""
    folder = tmp_path_factory.mktemp("workers")
    names = ("PATH", "HOME", "TMPDIR", "BFENV_CACHE")
    env = {name: os.environ[name] for name in names if name in os.environ}
    env |= {"BFENV_COMPILE": "never", "BFENV_TRACES": str(folder)}
    file = folder / "scheduler.json"
    shared = ["--scheduler-file", str(file), "--no-dashboard"]
    worker = ["distributed.cli.dask_worker", *shared, "--nthreads", "1", "--no-nanny"]
    commands = [["distributed.cli.dask_scheduler", *shared, "--port", "0"], worker, worker]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", *command], cwd=folder, env=env, stderr=subprocess.DEVNULL
        )
        for command in commands
    ]
    try:
        yield _address(file)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _address(file: Path) -> str:
    """The address of the scheduler, once it has two workers."""
    from distributed import Client

    deadline = time.monotonic() + 120
    while not file.is_file():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    with Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(2, timeout=120)
        address: str = client.scheduler.address
        return address


def test_evaluate(user, scheduler):
    """Workers get the log by name and by path, parts of it, and the user's policy."""
    policies = ["easy", "far_policy:decide"]
    cases = [
        *workload_cases("mine"),
        *workload_cases(str(user / "mine.swf"), split="test"),
        *workload_cases("mine.swf:load=0.8"),
    ]
    there = evaluate(policies, cases, full=True, backend="dask", scheduler=scheduler)
    assert all(row.ok for row in there)
    assert there == evaluate(policies, cases, full=True)


def test_no_log(scheduler):
    """Without being sent, the log is not there: the workers have other folders."""
    for name in ("mine", "mine.swf"):
        with pytest.raises((BfenvError, FileNotFoundError), match="mine"):
            list(run_tasks(load_workload, [(name,)], backend="dask", scheduler=scheduler))


@pytest.mark.together
def test_leaderboard(user, scheduler, tmp_path):
    """A row's own process and a player on a worker get the log and the policy as well."""
    suite = suite_of(["mine"])
    policies = ["easy", "far_policy:decide"]
    there = {"backend": "dask", "scheduler": scheduler}
    rows = run_suite(suite, policies, out=tmp_path / "there", **there).new_rows
    assert {(row.status, row.error) for row in rows} == {("ok", "")}
    here = run_suite(suite, policies, out=tmp_path / "here").new_rows
    assert sorted(rows, key=lambda row: row.key) == sorted(here, key=lambda row: row.key)


def test_changed_module(user, scheduler, monkeypatch):
    """A policy that has changed since the last sweep is the new one on the workers, too."""
    case = workload_cases("mine")
    [before] = evaluate(["far_policy:decide"], case, backend="dask", scheduler=scheduler)
    (user / "far_rule.py").write_text(RULE.replace("[::-1]", ""))
    [after] = evaluate(["far_policy:decide"], case, backend="dask", scheduler=scheduler)
    [fcfs] = evaluate(["far_policy:decide"], case)
    assert before.metrics == fcfs.metrics != after.metrics  # here, the old one is still imported


def test_no_workers():
    """That a run waits for a first worker is said."""
    client = SimpleNamespace(run=lambda *_, **__: {})
    with pytest.warns(UserWarning, match="has no worker: the run waits for one"):
        _check_workers(client, {})


def test_versions():
    """A worker with another version is refused before it runs anything."""
    here = {"bfenv": "1", "numpy": "2", "sources": "ab"}
    check_versions("w", here, here)
    for name, shown in {"numpy": "numpy 1", "sources": "sources of bfenv 1"}.items():
        with pytest.raises(BfenvError, match=f"the worker w has {shown}, and this machine has"):
            check_versions("the worker w", here | {name: "1"}, here)


def test_worker_with_other_versions(scheduler, monkeypatch):
    """The versions of all workers are compared before the first task."""
    here = versions() | {"numba": "0.1"}
    monkeypatch.setattr("bfenv.parallel.cluster.versions", lambda: here)
    with pytest.raises(BfenvError, match=r"the worker tcp://.* has numba .*machine has 0\.1"):
        evaluate(["easy"], workload_cases("lublin:jobs=5"), backend="dask", scheduler=scheduler)
