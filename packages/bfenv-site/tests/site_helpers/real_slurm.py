"""Run jobs through a real slurmctld, faster than real time, and read when they started.

    python site_helpers/real_slurm.py jobs.json --speed 60 > accounting.txt

`jobs.json` has "nodes", "processors" of each, "conf", a list of further lines of slurm.conf, and
"jobs": [submit, nodes, limit, runtime, options of sbatch], in seconds; limits are whole minutes.
See the README beside this file. Each run has its own folder and ports, on the loopback only.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

PROGRAMS = {name: f"{name}-wlm" for name in ("slurmctld", "slurmd")}
NEEDED = (*PROGRAMS.values(), "sbatch", "squeue", "sinfo", "faketime")
TIMES = ("SubmitTime", "StartTime", "EndTime")
CONF = """
ClusterName=bfenv
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/accounting.txt
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdTimeout=0
InactiveLimit=0
MessageTimeout=100
KillWait=1
MinJobAge=36000
NodeName=n[1-{nodes}] NodeHostName={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={cpus}
"""


def is_installed():
    """Whether a real Slurm can be run here, by this user."""
    return os.geteuid() == 0 and all(map(shutil.which, NEEDED))


def run_real(case, speed=60):
    """[submit, start, end, state] of each job in the order of submission, in seconds."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = Path(folder)
        write_conf(folder, case)
        (folder / "jobs.json").write_text(json.dumps(case))
        drive = [sys.executable, __file__, "--drive", str(folder)]
        subprocess.run(["faketime", "-m", "-f", f"+0 x{speed}", *drive], check=True)
        return read_accounting((folder / "accounting.txt").read_text())


def free_ports(count):
    """The first of so many neighbouring ports that nobody listens to."""
    while True:
        first = random.randrange(20_000, 60_000)
        sockets = [socket.socket() for _ in range(count)]
        try:
            for i, sock in enumerate(sockets):
                sock.bind(("127.0.0.1", first + i))
            return first
        except OSError:
            continue
        finally:
            for sock in sockets:
                sock.close()


def write_conf(folder, case):
    """Write the slurm.conf of a case into a folder, with ports of its own."""
    (folder / "state").mkdir()
    count = case["nodes"]
    port = free_ports(count + 1)
    conf = CONF.format(
        host=socket.gethostname(),
        port=port,
        folder=folder,
        nodes=count,
        first=port + 1,
        last=port + count,
        cpus=case["processors"],
    )
    (folder / "slurm.conf").write_text("\n".join([conf, *case["conf"]]) + "\n")


def read_accounting(text):
    """[submit, start, end, state] of each job, in seconds, from the text of jobcomp/filetxt."""
    lines = [dict(item.partition("=")[::2] for item in line.split()) for line in text.splitlines()]
    lines.sort(key=lambda line: int(line["JobId"]))
    times = [[datetime.fromisoformat(line[name]).timestamp() for name in TIMES] for line in lines]
    first = times[0][0]
    return [
        [*(int(at - first) for at in row), line["JobState"]]
        for row, line in zip(times, lines, strict=True)
    ]


def drive(folder):
    """Start the daemons, submit the jobs in time, wait for their ends, and stop the daemons."""
    case = json.loads((folder / "jobs.json").read_text())
    with daemons(folder, case["nodes"]):
        begin = time.time()
        for submit, nodes, limit, runtime, *options in sorted(case["jobs"], key=lambda job: job[0]):
            time.sleep(max(0.0, begin + submit - time.time()))
            subprocess.run(
                [
                    "sbatch",
                    "-Q",
                    "-N",
                    str(nodes),
                    "-t",
                    str(limit // 60),
                    "-o",
                    "/dev/null",
                    "-D",
                    str(folder),
                    *options,
                ],
                input=f"#!/bin/sh\nsleep {runtime}\n",
                text=True,
                check=True,
            )
        while _output("squeue", "-h", "-o", "%i"):
            time.sleep(30)
        time.sleep(60)  # until the accounting is written


@contextmanager
def daemons(folder, nodes):
    """Run the daemons of the slurm.conf in a folder, which clients then find."""
    conf = os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    try:
        subprocess.run([PROGRAMS["slurmctld"], "-c", "-f", conf], check=True)
        for node in range(1, nodes + 1):
            subprocess.run([PROGRAMS["slurmd"], "-f", conf, "-N", f"n{node}"], check=True)
        for _ in range(600):
            if _output("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(nodes):
                break
            time.sleep(2)
        else:
            raise RuntimeError(f"Slurm does not start, see {folder}/slurmctld.log")
        yield
    finally:
        for file in folder.glob("*.pid"):
            os.kill(int(file.read_text()), signal.SIGTERM)
        for _ in range(600):  # each removes its file at its end
            time.sleep(1 if any(folder.glob("*.pid")) else 0)
        del os.environ["SLURM_CONF"]


def _output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", type=Path, nargs="?")
    parser.add_argument("--speed", type=int, default=60)
    parser.add_argument("--drive", type=Path)
    arguments = parser.parse_args()
    if arguments.drive:
        drive(arguments.drive)
    else:
        json.dump(run_real(json.loads(arguments.jobs.read_text()), arguments.speed), sys.stdout)
