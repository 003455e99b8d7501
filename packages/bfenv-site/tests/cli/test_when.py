"""The command `bfenv when`."""

import csv
import io
import json
import re

import numpy as np
import pytest
from matplotlib.textpath import TextPath

import bfenv_site
from bfenv_site.forecasts import learned
from bfenv_site.forecasts.knowledge import UNLIMITED
from bfenv_site.forecasts.start_forecast import StartForecast
from bfenv_site.forecasts.when_text import write_strips
from bfenv_site.live.live_queue import forecaster_of_queue
from site_helpers.queues import QUEUE
from tests.site_log import write_site

pytestmark = pytest.mark.compiled  # forecasts simulate many futures
FEW = ("--futures", 40, "--past", 4)
OPTIONS = {"futures": 40, "past": 4}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return write_site(tmp_path_factory.mktemp("when") / "site.swf", jobs=260)


def rows_agree(rows, forecast):
    assert [row["job"] for row in rows] == list(forecast.job)
    levels = [0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975]
    quantiles = [[row[f"q{level:g}"] for level in levels] for row in rows]
    assert np.array_equal(quantiles, forecast.quantile(levels))
    assert np.array_equal([row["plan"] for row in rows], forecast.plan)
    hour = forecast.probability(3600)
    assert np.array_equal([row["within 1 h"] for row in rows], hour)


def test_same_as_the_call(run, site):
    """The command says what the Python call returns, for all jobs that wait and for a new one."""
    status, out, _ = run("when", "--log", site, "--at", "2d", *FEW, "-f", "json")
    waiting = bfenv_site.forecast_starts(str(site), "2d", **OPTIONS)
    assert status == 0 and len(waiting.job) > 1
    rows_agree(json.loads(out), waiting)
    request = ("--size", 20, "--limit", "4h")
    _, out, _ = run("when", "-w", site, "--at", "2d", *request, *FEW, "-f", "json")
    new = bfenv_site.forecast_starts(str(site), "2d", size=20, limit=14400, **OPTIONS)
    rows_agree(json.loads(out), new)
    number = waiting.job[1]
    _, out, _ = run("when", "-w", site, "--at", "2d", "--job", number, *FEW, "-f", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    forecast = bfenv_site.forecast_starts(str(site), "2d", jobs=[int(number)], **OPTIONS)
    assert row["job"] == number and float(row["q0.5"]) == forecast.median[0]


def test_table(run, site, tmp_path):
    """A table has a line for each job, and the picture a strip with its name."""
    picture = tmp_path / "when.svg"
    words = ("when", "-w", site, "--at", "2d", *FEW, "--simulated", "-p", "fcfs", "--out", picture)
    status, out, _ = run(*words)
    forecast = bfenv_site.forecast_starts(str(site), "2d", policy="fcfs", recorded=False, **OPTIONS)
    assert status == 0 and "site at 2 d" in out and "under fcfs" in out
    names = re.findall(r"^ *([0-9]+) ", out, re.MULTILINE)
    assert names[: len(forecast.job)] == list(forecast.job)
    drawn = picture.read_text()
    assert drawn.startswith("<?xml") and all(f">{job} · " in drawn for job in forecast.job[:60])
    assert run(*words)[2] == f"bfenv: {picture} exists; use --force to overwrite it\n"


def test_picture(tmp_path):
    """It says how many jobs it leaves out, and "never" and "no limit" where the table does."""
    count, picture = 61, tmp_path / "when.svg"
    ones = np.ones(count, dtype=np.int64)
    samples, plan = np.full((count, 9), 60.0), np.full(count, 600.0)
    samples[1:3], plan[::2] = np.inf, np.inf
    names = ["48123456_[1-100,200-300,400-500]", "123456789012_3456", *map(str, range(2, count))]
    limit = np.where(ones.cumsum() == 2, UNLIMITED, 3600)
    forecast = StartForecast(0, "easy", names, ones, limit, ones, samples, samples, plan, 0)
    write_strips(forecast, picture)
    drawn = picture.read_text()
    assert ">from now on (the first 60 of 61 jobs)<" in drawn
    assert drawn.count(">plan: never<") == 29  # of every other job but the third
    assert drawn.count(">median: never<") == drawn.count(">never<") == 1
    assert ">48123456_[1-100,200-300,400-5… · 1 × 60.0 min<" in drawn
    longest = "48123456_[1-100,200-300,400-5… · 1 × 60.0 min"
    end = float(re.search(f'<text[^>]* x="([0-9.]+)"[^>]*>{re.escape(longest)}<', drawn)[1])
    assert ">123456789012_3456 · 1 × no limit<" in drawn
    assert end > 1.15 * TextPath((0, 0), longest, size=9).get_extents().width


def test_advice(run, site):
    """Advice is lines, or one that says that there is none."""
    words = ("when", "-w", site, "--at", "2d", *FEW, "--size", 1, "--limit", "1min", "--advice")
    _, out, _ = run(*words)
    assert out.endswith("no smaller request starts much sooner\n")


def test_prometheus(run, site):
    """Each line of the exposition has a metric, its labels and a number."""
    _, out, _ = run("when", "-w", site, "--at", "2d", *FEW, "-f", "prometheus")
    lines = [line for line in out.splitlines() if not line.startswith("#")]
    waiting = bfenv_site.forecast_starts(str(site), "2d", **OPTIONS)
    assert lines[0] == f"bfenv_waiting_jobs {len(waiting.job)}"
    line = re.compile(
        r'bfenv_expected_wait_seconds\{policy="easy",processors="(\d+)",limit="(\d+)",'
        r'quantile="(0\.\d+)"\} [0-9.e+]+'
    )
    labels = [match.groups() for match in map(line.fullmatch, lines[1:]) if match]
    assert len(labels) == len(lines) - 1 and {"64", "16", "4", "1"} == {
        values[0] for values in labels
    }


def test_evaluate(run, monkeypatch):
    """The evaluation scores each way on the same jobs; coverage is a share."""
    pytest.importorskip("sklearn")
    monkeypatch.setattr(learned, "TRAINED", 60)
    words = ("when", "--evaluate", "lublin:jobs=300,procs=64", "--moments", 4, *FEW)
    status, out, _ = run(*words, "-f", "json")
    rows = json.loads(out)
    assert status == 0 and {row["number"] for row in rows if row["jobs"] == "all"} == {8}
    assert len({row["way"] for row in rows}) == 6
    assert all(0 <= row["holds_80"] <= row["holds_95"] <= 1 for row in rows)
    forecast = rows[0]
    assert forecast["way"] == "forecast" and sum(map(int, forecast["tenths"].split())) > 95
    _, table, _ = run(*words, "--months")
    assert "month 1" in table or "month 2" in table
    assert "gradient boosting" in table and "80 % holds: the share" in table
    assert max(len(line) for line in table.splitlines() if line.startswith(" ")) <= 80
    assert (
        "--evaluate draws its own jobs and moments: leave out --size" in run(*words, "--size", 4)[2]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--size", 4, "--job", 3], "--size for a new job, or --job for one that waits, not both"),
        (["--limit", "4h"], "--limit and --user describe a new job: give --size"),
        (["--advice"], "--advice is for one job"),
        (["--evaluate", "lublin", "-f", "prometheus"], "--evaluate prints a table, json or csv"),
        (["--moments", 50], "--months and --moments are for --evaluate"),
        (["--months"], "--months and --moments are for --evaluate"),
        (["-f", "prometheus", "--out", "a.svg"], "--format prometheus chooses its own jobs"),
        (["--job", 3, "--advice", "-f", "json"], "--advice needs --format text, got json"),
        (["--partition", "a", "--size", 4], "--maintenance and --partition are for --squeue"),
        (["--out", "when.txt"], "the suffix of a picture must be"),
        (["--at", "9000d"], "the moment 9000d is outside of lublin"),
        (["--past", 0, "--size", 10**6, "--limit", "1h"], "is larger than lublin"),
    ],
    ids=str,
)
def test_bad_input(run, words, message):
    """Each mistake is a line."""
    status, _, err = run("when", "-w", "lublin:jobs=50", *words)
    assert status == 2 and message in err and err.count("\n") == 1


def test_live_queue(run, tmp_path):
    """A snapshot of a queue takes the place of a log, and a job is named as Slurm does."""
    queue = tmp_path / "queue.txt"
    queue.write_text(QUEUE)
    command = ("when", "--squeue", queue, "--processors", 8, "--futures", 30)
    status, out, _ = run(*command, "--job", 13, "-f", "json")
    (row,) = json.loads(out)
    forecast = forecaster_of_queue(queue, processors=8, futures=30).waiting(["13"])
    assert status == 0 and row["job"] == "13" and row["q0.5"] == forecast.median[0]
    assert "--recorded and --simulated are for a log" in run(*command, "--recorded")[2]
    assert "are for --squeue" in run("when", "--processors", 8)[2]
    nodes = tmp_path / "nodes.txt"
    nodes.write_text("n1|4|allocated|main\nn2|4|allocated|main\n")
    contradictions = [
        (("--log", "lublin"), "--log is not for --squeue: give the accounting log as --history"),
        (("--sinfo", nodes), "--sinfo says how many processors there are: leave out --processors"),
        (("--past", 9), "--past is for a log: forecasts of a live queue are not corrected"),
        (("--users", queue), "--users needs --history, whose users it names"),
        (("--partition", "main"), "--partition names the partition of a new job: give --size, too"),
        (("-f", "prometheus", "--size", 4), "--format prometheus chooses its own jobs: leave out"),
    ]
    for words, message in contradictions:
        status, _, err = run(*command, *words)
        assert status == 2 and message in err and err.count("\n") == 1
    assert "job 11 does not wait in queue.txt" in run(*command, "--job", 11)[2]
