"""Cases of real sites by the form of their data: what each command answers.

`kinds.md` is generated, and is part of the page "Study a site that runs Slurm". To write it again,
delete it and run these tests twice.
"""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from bfenv.core.errors import BfenvError
from bfenv.workloads.load import load_workload
from bfenv_site import read_columns
from bfenv_site.live.apply import apply_order
from bfenv_site.live.live_queue import forecaster_of_queue
from bfenv_site.reports.variants import with_changes
from bfenv_site.reports.whatif import what_if
from site_helpers.queues import FORMS, NOW, as_json, as_text, job, left_out, runs

TABLE = Path(__file__).with_name("kinds.md")
WINDOWS = (
    "2026-02-02T04:40+00:00,2026-02-02T06:40+00:00\n2026-02-02T05:40+00:00,2026-02-02T08:40+00:00\n"
)
BUSY = ["n1|4|allocated|cpu"]
# Jobs and nodes of live queues
QUEUES = {
    "partition": ([runs("1", "g1", partition="gpu"), job("2", partition="gpu")],
                    ["c1|4|idle|cpu", "g1|4|allocated|gpu"]),
    "lost node": ([runs("1", "n1"), runs("2", "n2"), job("3")],
                    ["n1|4|down*|cpu", "n2|4|allocated|cpu"]),
    "draining node": ([runs("1", "n1", limit="20:00"), runs("2", "n2"), job("3")],
                        ["n1|4|draining|cpu", "n2|4|allocated|cpu"]),
    "too few nodes": ([runs("1", "n1"), job("2"), job("3", size=5)], BUSY),
    "partition without nodes": ([runs("1", "n1"), job("2"), job("3", partition="fat")], BUSY),
    "reason": ([runs("1", "n1"), job("2", reason="Licenses"), job("3", size=4)], BUSY),
    "reason that is out of date": (
        [runs("1", "n1"), job("2", reason="ReqNodeNotAvail, UnavailableNodes:n1")], BUSY,
    ),
    "array throttle": ([runs("7_1", "n1", size=1), job("7_[2-9%1]", size=1), job("8", size=4)],
                         ["n1|4|mixed|cpu"]),
    "no limit": ([runs("1", "n1", limit="UNLIMITED"), job("2")], BUSY),
    "limit unknown": ([runs("1", "n1", limit="NOT_SET"), job("2")], BUSY),
    "limit of three days": ([runs("1", "n1", limit="3-00:00:00"), job("2")], BUSY),
    "dependency": ([runs("1", "n1"), job("2", reason="Dependency"), job("3")], BUSY),
    "maintenance": ([job("1", limit="3:00:00")], ["n1|4|idle|cpu"]),
}  # fmt: skip
# Jobs of a log: number, submit, runtime, limit, and the job that they wait for
LOGS = {
    "dependency": [(1, 0, 3600, 3600, -1), (2, 0, 60, 600, 1)],
    "maintenance": [(1, 0, 60, 600, -1), (2, 11_400, 60, 600, -1)],
}
TWO_JOBS = [(1, 0, 1000, 3600, -1), (2, 0, 1000, 3600, -1)]  # of four processors
ALL = "PartitionName=cpu Nodes=ALL Default=YES"
# Lines of slurm.conf for a machine of eight processors
CONFS = {
    "two nodes": ["NodeName=n[1-2] CPUs=4", ALL],
    "`Include`": ["Include nodes.conf", ALL],
    "`NodeSet` by feature": ["NodeName=n[1-2] CPUs=4 Feature=std", "NodeSet=s Feature=std",
                             "PartitionName=cpu Nodes=s Default=YES"],
    'spaces around "="': ["NodeName = n[1-2] CPUs = 4", ALL],
    "old names": ["NodeName=n[1-2] Procs=4", ALL + " Shared=NO"],
    "partition without nodes": ["NodeName=n[1-2] CPUs=4", ALL, 'PartitionName=b Nodes=""'],
    "`FUTURE` nodes": ["NodeName=n[1-2] CPUs=4", "NodeName=n[3-9] CPUs=4 State=FUTURE", ALL],
    "`DownNodes`": ["NodeName=n[1-3] CPUs=4", "DownNodes=n3 State=DOWN", ALL],
    "`EXCLUSIVE`": ["NodeName=n1 CPUs=8", ALL + " Shared=EXCLUSIVE"],
    "not modelled": ["NodeName=n[1-2] CPUs=4 Gres=gpu:1", ALL + " OverSubscribe=FORCE:2"],
}  # fmt: skip
# The limit of an hour in a table, the unit behind its column, and the one behind submit
UNITS = {
    "seconds": (3600, "", ""),
    "minutes, declared": (60, ":min", ""),
    "minutes, not declared": (60, "", ""),
    "hours, declared": (1, ":h", ""),
    "hours, declared as minutes": (1, ":min", ""),
    "microseconds, declared": (3_600_000_000, ":us", ""),
    "unknown unit": (60, ":minutes", ""),
    "text": ("01:00:00", "", ""),
    "submit in ms, declared": (3600, "", ":ms"),
    "submit in ms, not declared": (3600, "", "ms"),
}


def left_out_text(counts):
    """Return in words which jobs are left out."""
    return "".join(f"; left out: {count} ({why})" for why, count in sorted(counts.items()))


def forecast_cell(path, nodes, **options):
    """What `bfenv when` says of a queue: the plan by limits, and what is left out."""
    forecaster = forecaster_of_queue(path, sinfo=nodes, futures=20, at=NOW, **options)
    plan = ", ".join(
        "never" if wait == np.inf else f"{wait:.0f} s"
        for wait in forecaster.waiting().plan.tolist()
    )
    return plan + left_out_text(left_out(forecaster))


def order_cell(folder, monkeypatch, jobs, nodes):
    """What a cycle of `bfenv apply` says, with programs that print the queue and the nodes."""
    for name, text in (("squeue", as_text(jobs)), ("sinfo", "\n".join(nodes))):
        (folder / f"{name}.txt").write_text(text + "\n")
        (folder / name).write_text(f"#!/bin/sh\n/bin/cat {folder}/{name}.txt\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    events = []
    apply_order("easy-sjf", log=events.append, cycles=1, state=folder / "state.json")
    cells = [
        (", ".join(dict.fromkeys(event["wanted"])) + left_out_text(event["left_out"])).strip("; ")
        for event in events
    ]
    return " / ".join(cells)


def write_log(path, jobs):
    """Write a log of jobs of four processors, on a machine of eight."""
    lines = [
        f"{number} {submit} -1 {runtime} 4 -1 -1 4 {limit} -1 1 1 1 1 1 1 {after} {min(after, 0)}"
        for number, submit, runtime, limit, after in jobs
    ]
    header = "; UnixStartTime: 1769997600\n; TimeZoneString: UTC\n; MaxProcs: 8\n"
    path.write_text(header + "\n".join(lines) + "\n")


def what_if_cell(folder, jobs, policy="easy", changes=""):
    """The mean wait that `bfenv report whatif` finds for a log, with changes where there are."""
    write_log(folder / "log.swf", jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that jobs wait for others
        trace = load_workload(str(folder / "log.swf"))
    variants = {"changed": with_changes(trace, changes)} if changes else {}
    [row] = what_if(trace, variants, [policy], as_is=not variants).rows
    return f"mean wait {row.metrics['mean_wait']:.0f} s"


def queue_rows(folder, monkeypatch):
    """row for each queue: what each command answers to each form."""
    yield ("case", "`when`, text", "`when`, JSON", "`apply`", "`report whatif`")
    for kind, (jobs, nodes) in QUEUES.items():
        place = folder / kind.replace(" ", "-")
        place.mkdir()
        (place / "nodes").write_text("\n".join(nodes))
        windows = place / "windows.txt" if kind == "maintenance" else None
        if windows:
            windows.write_text("begin,end\n" + WINDOWS)
        cells = []
        for form, write in zip(FORMS, (as_text, as_json), strict=True):
            (place / form).write_text(write(jobs))
            cells.append(forecast_cell(place / form, place / "nodes", maintenance=windows))
        assert len(set(cells)) == 1
        cells.append(order_cell(place, monkeypatch, jobs, nodes))
        changes = f"maintenance={windows}" if windows else ""
        cells.append(what_if_cell(place, LOGS[kind], changes=changes) if kind in LOGS else "–")
        yield (kind, *cells)


def conf_rows(folder):
    """row for each slurm.conf: what a log and a live queue wait under it, and what is named.

    In the queue, a job of four processors runs, and two wait, of four and of eight. The log has two
    jobs of four at once.
    """
    yield ("slurm.conf", "`when`, text", "`when`, JSON", "`report whatif`", "warning")
    (folder / "nodes.conf").write_text("NodeName=n[1-2] CPUs=4\n")
    jobs = [runs("1", "n1", size=4), job("2", size=4, priority=200), job("3", size=8)]
    for form, write in zip(FORMS, (as_text, as_json), strict=True):
        (folder / form).write_text(write(jobs))
    for kind, lines in CONFS.items():
        conf = folder / "slurm.conf"
        head = ["SchedulerType=sched/backfill", "SelectType=select/cons_tres"]
        conf.write_text("\n".join([*head, *lines]) + "\n")
        nodes = ["n1|4|allocated|cpu", "n2|4|idle|cpu"]
        if "n1 CPUs=8" in lines[0]:
            nodes = ["n1|8|mixed|cpu"]
        (folder / "nodes").write_text("\n".join(nodes))
        policy = f"slurm(conf='{conf}')"
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            cells = [
                forecast_cell(folder / form, folder / "nodes", policy=policy) for form in FORMS
            ]
            assert len(set(cells)) == 1
            cells.append(what_if_cell(folder, TWO_JOBS, policy))
        texts = {str(warning.message).partition(": ")[2] for warning in warned}
        yield (kind, *cells, "; ".join(sorted(texts)))


def unit_rows(folder):
    """row for each unit of a limit of an hour: the limit that is read, or why none is."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    yield ("unit of a limit of 1 h", "csv", "parquet")
    for kind, (limit, unit, unit_of_submit) in UNITS.items():
        factor = 1000 if unit_of_submit else 1
        columns = {
            "submit": [(NOW + i) * factor for i in range(30)],
            "size": [1] * 30,
            "runtime": [3000] * 30,
            "limit": [limit] * 30,
        }
        lines = [columns, *zip(*columns.values(), strict=True)]
        text = "\n".join(",".join(map(str, line)) for line in lines)
        (folder / "jobs.csv").write_text(text + "\n")
        parquet.write_table(arrow.table(columns), folder / "jobs.parquet")
        mapping = {"submit": "submit", "size": "size", "runtime": "runtime"}
        mapping["estimate"] = f"limit{unit}"
        if unit_of_submit.startswith(":"):
            mapping["submit"] += unit_of_submit
        cells = []
        for form in ("csv", "parquet"):
            try:
                trace = read_columns(folder / f"jobs.{form}", mapping, processors=64)
                cells.append(f"{trace.jobs.estimate[0]} s")
            except BfenvError as error:
                text = re.sub(r"^\S+?:(\d+:)? ", "", str(error))
                text = re.sub(r"^\d+ of \d+ jobs ran longer than their limit: ", "", text)
                text = text.partition(", or --overrun")[0].partition("; no line")[0]
                cells.append(f"refused: {text}")
        yield (kind, *cells)


def as_table(rows):
    """Return rows as Markdown; the first has the names of the columns."""
    head, *lines = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * (head.count(" | ") + 1), *lines]) + "\n"


def test_table(tmp_path, monkeypatch):
    """Text and JSON give the same; the table has what each command really answers."""
    for name in ("confs", "units"):
        (tmp_path / name).mkdir()
    tables = [conf_rows(tmp_path / "confs"), unit_rows(tmp_path / "units")]
    tables = [as_table(rows) for rows in (queue_rows(tmp_path, monkeypatch), *tables)]
    text = "\n".join(tables)
    if not TABLE.exists():
        TABLE.write_text(text)
    assert TABLE.read_text() == text
