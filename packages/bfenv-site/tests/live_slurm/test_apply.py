"""`bfenv apply` on the installed slurmctld, in real time."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from site_helpers.real_slurm import PROGRAMS, daemons, is_installed, read_accounting, write_conf

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.thorough,
    pytest.mark.skipif(not is_installed(), reason="no real Slurm, or not root"),
]
NODES = 2
BASIC = "PriorityType=priority/basic"
MULTIFACTOR = "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000"
COMMAND = [sys.executable, "-m", "bfenv", "apply", "--policy", "easy-sjf", "--every", "1s"]


@contextmanager
def slurm(folder, priority):
    """A cluster of two nodes, and job 1 on all of it."""
    conf = [
        "SchedulerParameters=bf_interval=2,sched_interval=2",
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
        priority,
    ]
    write_conf(folder, {"nodes": NODES, "processors": 1, "conf": conf})
    with daemons(folder, NODES):
        submit(folder, 20, 900)
        wait_until(lambda: not waiting())
        try:
            yield
        finally:  # else job 1 would outlive the daemons
            subprocess.run(["scancel", "--user", "root"], check=True)
            time.sleep(2)


def submit(folder, limit, seconds=1, *options):
    """Submit a job on all nodes; its limit is in minutes."""
    subprocess.run(
        [
            "sbatch",
            "-Q",
            "-N",
            str(NODES),
            "-t",
            str(limit),
            "-o",
            "/dev/null",
            "-D",
            str(folder),
            *options,
            "--wrap",
            f"sleep {seconds}",
        ],
        check=True,
    )


def waiting():
    """Priority and Nice of the waiting jobs, by their numbers."""
    done = subprocess.run(
        ["squeue", "-h", "-t", "PD", "-o", "%i %Q %y"], capture_output=True, text=True, check=True
    )
    return {int(job): (int(q), int(y)) for job, q, y in map(str.split, done.stdout.splitlines())}


def wait_until(is_so):
    for _ in range(300):
        if is_so():
            return
        time.sleep(0.2)
    raise AssertionError("it has not come in a minute")


@pytest.mark.parametrize("priority", [BASIC, MULTIFACTOR], ids=["basic", "multifactor"])
def test_first_starts(tmp_path, priority):
    """The shadow changes nothing; lifted, the jobs start by their limits, not by submission."""
    with slurm(tmp_path, priority):
        for limit in (5, 4, 3, 2):
            submit(tmp_path, limit)
        before = waiting()
        log = tmp_path / "log.jsonl"
        subprocess.run([*COMMAND, "--cycles", "2", "--log", log], check=True, cwd=tmp_path)
        assert waiting() == before and not any(nice for _, nice in before.values())
        cycle = json.loads(log.read_text().splitlines()[-1])
        assert cycle["slurm"] == ["2", "3", "4", "5"] and cycle["wanted"] == ["5", "4", "3", "2"]
        command = subprocess.Popen([*COMMAND, "--write", "--log", log], cwd=tmp_path)
        wait_until(lambda: '"write"' in log.read_text())
        subprocess.run(["scancel", "1"], check=True)
        wait_until(lambda: not waiting())
        command.send_signal(signal.SIGTERM)
        assert command.wait(30) == 0
        wait_until(lambda: len((tmp_path / "accounting.txt").read_text().splitlines()) == 5)
    starts = [row[1] for row in read_accounting((tmp_path / "accounting.txt").read_text())]
    assert starts[4] < starts[3] < starts[2] < starts[1]
    assert not (tmp_path / "bfenv-apply.json").exists()


@pytest.fixture
def open_path():
    """A folder that other users may read."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


def test_lifts(open_path):
    """The command gives back what it lifted and no more.

    Killed, refused, and while slurmctld is restarted, it keeps count of its lifts.
    """
    tmp_path = open_path
    with slurm(tmp_path, BASIC):
        for limit in (5, 4, 3, 2):
            submit(tmp_path, limit, 1, *(["--nice=-50"] if limit == 4 else []))
        command = subprocess.Popen(
            [*COMMAND, "--write"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        wait_until(lambda: waiting()[5][1] < 0)
        subprocess.run(["scontrol", "update", "JobId=4", "Nice=-70"], check=True)
        command.kill()
        command.communicate()
        assert [nice < 0 for _, nice in waiting().values()].count(True) >= 3
        clean = subprocess.run([*COMMAND, "--write", "--cycles", "0"], check=True, cwd=tmp_path)
        assert {job: nice for job, (_, nice) in waiting().items()} == {2: 0, 3: -50, 4: -70, 5: 0}
        assert clean.returncode == 0 and not (tmp_path / "bfenv-apply.json").exists()

        nobody = ["setpriv", "--reuid", "65534", "--clear-groups", *COMMAND, "--write"]
        refused = subprocess.run(
            [*nobody, "--cycles", "1", "--state", str(tmp_path / "nobody.json")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert refused.returncode == 2 and "refuses a Nice below 0" in refused.stderr

        log = tmp_path / "log.jsonl"
        command = subprocess.Popen([*COMMAND, "--write", "--log", log], cwd=tmp_path)
        wait_until(lambda: waiting()[5][1] < 0)
        pid = tmp_path / "slurmctld.pid"
        os.kill(int(pid.read_text()), signal.SIGTERM)
        wait_until(lambda: not pid.exists())
        time.sleep(3)
        conf = os.environ["SLURM_CONF"]
        subprocess.run([PROGRAMS["slurmctld"], "-f", conf], check=True)
        submit(tmp_path, 1)
        wait_until(lambda: waiting()[6][1] < 0)
        command.send_signal(signal.SIGINT)
        assert command.wait(30) == 0
        assert {job: nice for job, (_, nice) in waiting().items()} == {
            2: 0,
            3: -50,
            4: -70,
            5: 0,
            6: 0,
        }
