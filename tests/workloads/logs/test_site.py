"""From a dump to the calibration, on a site whose truth is known: an independent simulator's."""

import random
from dataclasses import replace

import pytest

import bfenv
from bfenv.analysis.calibration import calibrate, verdict
from bfenv.analysis.logged import logged_schedule
from bfenv.workloads.logs.outages import load_outages
from bfenv.workloads.logs.slurm import read_sacct
from tests.oracles.machine import Easy, Job
from tests.oracles.outages import around

NOON = 1_767_268_800  # 2026-01-01 12:00 UTC
PROCESSORS = 8
OUTAGES = [(400, 700, 8), (900, 1_000, 5)]


def site_jobs(count=60):
    """Jobs (submit, size, estimate, runtime) of a busy machine."""
    random_ = random.Random(7)
    submit, jobs = 0, []
    for _ in range(count):
        submit += random_.randint(0, 35)
        estimate = random_.choice((30, 60, 120))
        jobs.append((submit, random_.choice((1, 2, 4, 8)), estimate, random_.randint(1, estimate)))
    return jobs


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """What sacct would print of this site, which runs EASY around its outages, and the outages."""
    folder = tmp_path_factory.mktemp("site")
    jobs = site_jobs()
    starts = around([Job(*job) for job in jobs], PROCESSORS, OUTAGES, Easy())
    lines = ["JobID|Submit|Start|End|ElapsedRaw|Timelimit|State|AllocCPUS"]
    for job, ((submit, size, estimate, runtime), start) in enumerate(
        zip(jobs, starts, strict=True)
    ):
        times = (NOON + submit, NOON + start, NOON + start + runtime)
        limit = f"00:{estimate // 60:02}:{estimate % 60:02}"
        lines.append(f"{job}|{times[0]}|{times[1]}|{times[2]}|{runtime}|{limit}|COMPLETED|{size}")
    (folder / "dump.txt").write_text("\n".join(lines) + "\n")
    rows = (f"{NOON + begin},{NOON + end},{out}" for begin, end, out in OUTAGES)
    (folder / "outages.csv").write_text("\n".join(["begin,end,processors", *rows]) + "\n")
    return folder


def imported(folder, outages):
    """The site's workload, there and back through SWF."""
    trace = read_sacct(folder / "dump.txt", processors=PROCESSORS)
    if outages:
        trace = replace(trace, outages=load_outages(folder / "outages.csv", trace))
    path = folder / f"site-{outages}.swf"
    bfenv.write_swf(trace, path)
    return bfenv.read_swf(path)


def test_truth(dump):
    """With the outages, EASY repeats what the site's EASY did, job by job."""
    trace = imported(dump, outages=True)
    logged = logged_schedule(trace)
    logged.check()
    schedule = bfenv.simulate(trace, "easy")
    assert schedule.start.tolist() == logged.start.tolist()
    assert verdict(calibrate(schedule, logged)) == "good"


def test_without_outages(dump):
    """Without them, it waits far less than the site did, and the ratio says so."""
    trace = imported(dump, outages=False)
    logged = logged_schedule(trace)
    numbers = calibrate(bfenv.simulate(trace, "easy"), logged)
    real = sum(logged.wait.tolist())
    simulated = sum(bfenv.simulate(trace, "easy").wait.tolist())
    assert numbers["log_mean_wait_ratio"] == pytest.approx(simulated / real)
    assert numbers["log_mean_wait_ratio"] < 0.8


def test_other_policy(dump):
    """Another policy does not repeat the site's."""
    trace = imported(dump, outages=True)
    numbers = calibrate(bfenv.simulate(trace, "fcfs"), logged_schedule(trace))
    assert numbers["log_mean_wait_ratio"] > 1
