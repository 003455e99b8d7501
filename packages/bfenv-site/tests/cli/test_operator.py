"""An operator's way from a dump to the page, on a site whose truth another simulator knows."""

import random
import re

import pytest

import bfenv
from bfenv.analysis.calibration import calibrate, verdict
from bfenv.analysis.formatting import duration
from bfenv.analysis.logged import logged_schedule
from site_helpers.nodes_oracle import Job, Node, simulate

NOON = 1_767_268_800  # 2026-01-01 12:00 UTC
DOWN = ((30_000, 40_000), (60_000, 70_000))  # of the GPU nodes
NODES = [Node("gpu", (32, 256, 4), DOWN) for _ in range(8)] + [Node("cpu", (64, 256, 0))] * 2
NEEDS = {
    "gpu": ((2, 8, 1), (2, 8, 1), (4, 16, 2), (8, 64, 4), (6, 64, 1)),
    "cpu": ((16, 32, 0), (64, 64, 0)),
}
CAPACITY = "gpu: cpu=256,mem=2T,gpu=32; cpu: cpu=128,mem=512G"


def site_jobs(count=320):
    """Jobs of a busy site, four of five on the nodes with GPUs, whose GPUs are scarce."""
    random_ = random.Random(5)
    submit, jobs = 0, []
    for _ in range(count):
        partition = random_.choice(("gpu", "gpu", "gpu", "gpu", "cpu"))
        estimate = random_.choice((1_800, 3_600, 7_200, 14_400))
        jobs.append(
            Job(
                submit,
                partition,
                random_.choice((1, 1, 1, 2)),
                random_.choice(NEEDS[partition]),
                estimate,
                int(estimate * random_.choice((0.05, 0.2, 0.5, 0.8, 1))),
            )
        )
        submit += random_.randint(0, 520)
    return jobs


def line(number, job, start):
    """What sacct prints of a job."""
    cores, memory, gpus = (job.nodes * need for need in job.needs)
    times = (NOON + time for time in (job.submit, start, start + job.runtime))
    return "|".join(
        map(
            str,
            (
                number,
                f"user{number % 9}",
                job.partition,
                *times,
                job.estimate // 60,
                "COMPLETED",
                cores,
                f"cpu={cores},mem={memory}G,node={job.nodes},gres/gpu={gpus}",
            ),
        )
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The site's dump, and the events of its nodes."""
    path = tmp_path_factory.mktemp("operator")
    jobs = site_jobs()
    starts = simulate(jobs, NODES)
    columns = "JobID|User|Partition|Submit|Start|End|TimelimitRaw|State|AllocCPUS|AllocTRES"
    lines = [line(number, *fields) for number, fields in enumerate(zip(jobs, starts, strict=True))]
    (path / "dump.txt").write_text("\n".join([columns, *lines]) + "\n")
    events = [
        f"n{n}|{NOON + begin}|{NOON + end}|cpu=32,mem=256G" for n in range(8) for begin, end in DOWN
    ]
    (path / "events.txt").write_text("\n".join(["NodeName|TimeStart|TimeEnd|TRES", *events]) + "\n")
    return path


def imported(run, folder, name, *options):
    """The workload that a command makes of the jobs on the GPU nodes."""
    out = folder / f"{name}.swf.gz"
    site = ("--partition", "gpu", "--timezone", "UTC", *options)
    status, _, _ = run("workloads", "import", folder / "dump.txt", "-o", out, *site)
    assert status == 0
    return bfenv.load_workload(str(out))


def fidelity(trace):
    """The calibration of EASY."""
    return calibrate(bfenv.simulate(trace, "easy"), logged_schedule(trace))


def test_scarce_resource_and_outages(run, folder):
    """Jobs counted by their dominant share, around the outages, repeat what the nodes did."""
    dominant = ("--resource", "dominant", "--capacity", CAPACITY, "--processors", 256)
    cores, events = ("--processors", 256), ("--outages", folder / "events.txt")
    whole = fidelity(imported(run, folder, "whole", *dominant, *events))
    assert verdict(whole) == "good"
    assert 0.9 < whole["log_mean_wait_ratio"] < 1.1
    in_cores = fidelity(imported(run, folder, "cores", *cores, *events))
    always_up = fidelity(imported(run, folder, "up", *dominant))
    neither = fidelity(imported(run, folder, "neither", *cores))
    assert [verdict(comparison) for comparison in (in_cores, always_up, neither)] == ["poor"] * 3
    assert neither["log_mean_wait_ratio"] < 0.1
    assert in_cores["log_mean_wait_ratio"] < 0.5 and always_up["log_mean_wait_ratio"] < 0.5


def test_page(run, folder):
    """The page opens with the site's mean wait, and how much of it the simulation gives."""
    dominant = ("--resource", "dominant", "--capacity", CAPACITY, "--processors", 256)
    trace = imported(run, folder, "site", *dominant, "--outages", folder / "events.txt")
    page = folder / "site.html"
    log = folder / "site.swf.gz"
    status, out, _ = run("report", log, "-o", page, "-p", "easy-sqf", "--jobs", 1)
    assert status == 0
    wait = duration(float(logged_schedule(trace).wait.mean()))
    sentence = re.search(rf"In reality the mean wait was {wait}: (.*?)\. ", page.read_text())
    ratio = fidelity(trace)["log_mean_wait_ratio"]
    assert ratio < 1.9
    clause = f"gives {ratio:.0%} of it".replace("%", " %")
    assert clause in sentence[1]
    assert "It repeats your log well" in page.read_text() and sentence[1] in out
