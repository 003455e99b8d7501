"""Outages found in a log, read from a file, and kept in SWF."""

from dataclasses import replace

import pytest

import bfenv
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Outage
from bfenv.workloads.logs.outages import find_outages, outage_texts
from bfenv_site.logs.outage_files import load_outages
from bfenv_site.logs.selection import Selection
from bfenv_site.logs.slurm import read_sacct
from tests.workloads.refusals import refused

NOON = 1_767_268_800  # 2026-01-01 12:00 UTC


def site(folder, waits=(0,), gap=600, header=()):
    """Jobs of 100 s on one of four processors, one every `gap` seconds, with these waits."""
    lines = ["; MaxProcs: 4", f"; UnixStartTime: {NOON}", *header]
    for job, wait in enumerate(waits):
        lines.append(f"{job + 1} {gap * job} {wait} 100 1 -1 -1 1 200 -1 1 1 1 -1 1 1 -1 -1")
    path = folder / "site.swf"
    path.write_text("\n".join(lines) + "\n")
    return bfenv.read_swf(path)


@pytest.mark.parametrize(
    ("jobs", "length", "expected"),
    [(5, 3_600, True), (5, 3_599, False), (4, 3_600, False)],
)
def test_limits(tmp_path, jobs, length, expected):
    """It takes an hour, and five jobs that wait from its begin to its end."""
    end = 100 + length
    trace = site(tmp_path, [0, *(end - job for job in range(1, jobs + 1))], gap=1)
    assert find_outages(trace) == ((Outage(100, end, 4),) if expected else ())


def test_idle_is_no_outage(tmp_path):
    """A machine that stands still because nobody submits is not out of service."""
    assert find_outages(site(tmp_path, [0] * 10, gap=10_000)) == ()
    assert find_outages(bfenv.make_trace([0], [1], [1], 1)) == ()


def test_written_and_read(tmp_path):
    """SWF keeps outages in its header, also those of a part of a log."""
    outages = (Outage(50, 60, 4), Outage(700, 900, 1))
    trace = replace(site(tmp_path, [0, 0, 0]), outages=outages)
    bfenv.write_swf(trace, tmp_path / "out.swf")
    again = bfenv.read_swf(tmp_path / "out.swf")
    assert (again.outages, again.hash) == (outages, trace.hash)
    part = again[1:]
    bfenv.write_swf(part, tmp_path / "part.swf")
    assert bfenv.read_swf(tmp_path / "part.swf").outages == (Outage(100, 300, 1),)
    bfenv.write_swf(replace(trace, outages=()), tmp_path / "none.swf")
    assert bfenv.read_swf(tmp_path / "none.swf").outages == ()


def test_file(tmp_path):
    """Lines have begin, end and, if not the whole machine, processors."""
    path = tmp_path / "down.csv"
    path.write_text(
        "begin,end,processors\n2026-01-01T11:00:00,2026-01-01T12:10:00\n"
        f"{NOON + 1000},{NOON + 2000},9\n{NOON + 3000},{NOON + 3001},2\n{NOON - 9},{NOON - 5},1\n"
    )
    with pytest.warns(UserWarning, match="1 outage before .*; 1 outage cut at .*; 1 outage cut to"):
        outages = load_outages(path, site(tmp_path))
    assert outages == (Outage(0, 600, 4), Outage(1000, 2000, 4), Outage(3000, 3001, 2))
    path.write_text(f"{NOON},{NOON + 600}\n2030-01-01,2030-01-02\n")
    with pytest.warns(UserWarning, match="1 outage over 30 days after the log's last job$"):
        assert load_outages(path, site(tmp_path))[0] == Outage(0, 600, 4)


@pytest.mark.parametrize("line", ["2026-01-01,then", "5,4", "1,2,0", "1,2,3,4", "1"])
def test_wrong_line(tmp_path, line):
    """A line that is no outage is named, also the first."""
    path = tmp_path / "down.csv"
    for number, text in ((2, f"begin,end\n{line}\n"), (1, f"{line}\n")):
        path.write_text(text)
        with refused(WorkloadError, f"down.csv:{number}: "):
            load_outages(path, site(tmp_path))


def test_no_outage(tmp_path):
    """An outage that ends first is refused, and a file with none within the log's time."""
    path = tmp_path / "down.csv"
    path.write_text("2026-01-01 13:00,2026-01-01 12:00\n")
    with refused(WorkloadError, "down.csv:1: ", "ends before it begins"):
        load_outages(path, site(tmp_path))
    for day in ("2025-12-31", "2026-01-03"):
        path.write_text(f"{day} 12:00,{day} 13:00\n")
        with refused(WorkloadError, "no outage lies within the log, 2026-01-01 to 2026-01-01"):
            load_outages(path, site(tmp_path))


def test_zone(tmp_path):
    """Local times are those of the log's zone, unless another is named; words are in the log's."""
    path = tmp_path / "down.csv"
    path.write_text("2026-01-01 13:00,2026-01-01 13:10\n")
    trace = site(tmp_path, [0] * 20, header=["; TimeZoneString: Europe/Berlin"])
    assert load_outages(path, trace) == (Outage(0, 600, 4),)
    assert load_outages(path, trace, "UTC") == (Outage(3600, 4200, 4),)
    assert outage_texts(trace, [Outage(0, 600, 4), Outage(60, 90, 2)]) == [
        "2026-01-01 13:00 to 2026-01-01 13:10 (Europe/Berlin)",
        "2026-01-01 13:01 to 2026-01-01 13:01 (Europe/Berlin), 2 processors",
    ]
    undated = bfenv.make_trace([0], [1], [1], 1)
    assert outage_texts(undated, [Outage(5, 6, 1)]) == ["5 s to 6 s"]


def test_no_date(tmp_path):
    """Without a date in the log, dates mean nothing."""
    path = tmp_path / "down.csv"
    path.write_text("1,2\n")
    with refused(WorkloadError, "need a log with dates"):
        load_outages(path, bfenv.make_trace([0], [1], [1], 1))


def test_slurm_events(tmp_path):
    """Slurm's events take the CPUs of their node; one without an end lasts as long as the log."""
    path = tmp_path / "events.txt"
    path.write_text(
        "NodeName|TimeStart|TimeEnd|TRES\n"
        "n1|2026-01-01T12:00:10|2026-01-01T12:00:20|billing=2,cpu=2,mem=4G\n"
        "n2|2026-01-01T12:10:00|Unknown|cpu=1\n"
    )
    with pytest.warns(UserWarning, match="1 event has no end"):
        outages = load_outages(path, site(tmp_path, [0, 0, 0]))
    assert outages == (Outage(10, 20, 2), Outage(600, 1201, 1))
    path.write_text("NodeName|TimeStart|TimeEnd|TRES\nn1|2026-01-01T12:00:10|Unknown|mem=4G\n")
    with pytest.warns(UserWarning, match="1 of nodes without such processors"):
        assert load_outages(path, site(tmp_path)) == ()
    path.write_text("NodeName|TimeStart|TimeEnd|TRES\nn1|then|Unknown|cpu=1\n")
    with refused(WorkloadError, "events.txt:2: ", "is not an event"):
        load_outages(path, site(tmp_path))


def test_events_that_are_none(tmp_path):
    """Events of the cluster, of after the log and of nodes of others are left out with a word."""
    path, dump = tmp_path / "events.txt", tmp_path / "dump.txt"
    names = "JobID|Partition|Submit|Start|End|State|AllocCPUS|NodeList"
    jobs = [("a", 0, "n[1-2]"), ("b", 5, "n3"), ("a", 500, "n2")]
    lines = (
        f"{i}|{part}|{NOON + at}|{NOON + at}|{NOON + at + 9}|COMPLETED|1|{nodes}"
        for i, (part, at, nodes) in enumerate(jobs)
    )
    dump.write_text("\n".join([names, *lines]) + "\n")
    events = [("", 50, 60), ("n3", 100, 200), ("n1", 100, 200), ("n1", 150, 250), ("n2", 600, None)]
    texts = (f"{n}|{NOON + a}|{b and NOON + b}|cpu=4" for n, a, b in events)
    path.write_text("\n".join(["NodeName|TimeStart|TimeEnd|TRES", *texts]) + "\n")
    chosen = Selection(partitions=("a",))
    trace = read_sacct(dump, processors=4, selection=chosen)
    with pytest.warns(UserWarning) as warned:
        assert load_outages(path, trace) == (Outage(100, 250, 4),)
    (warning,) = warned
    for part in ("1 of the cluster", "1 of nodes of other partitions", "1 of after the log's last"):
        assert part in str(warning.message)
    dump.write_text(dump.read_text().replace("NodeList", "Comment"))
    trace = read_sacct(dump, processors=4, selection=chosen)
    with pytest.warns(UserWarning, match="3 events may be of nodes of other partitions"):
        load_outages(path, trace)


def test_damaged_events(tmp_path):
    """An event without a start, or that ends before it, ends no import; nor does a line break."""
    path = tmp_path / "events.txt"
    lines = ("n1|900|500|x|cpu=8", "n2|Unknown|900|x|cpu=8", "n3|{a}|{b}|two\nlines|cpu=8")
    text = "\n".join(["NodeName|TimeStart|TimeEnd|Reason|TRES", *lines]) + "\n"
    path.write_text(text.format(a=NOON + 1, b=NOON + 9))
    with pytest.warns(UserWarning, match="2 without a start"):
        assert load_outages(path, site(tmp_path)) == (Outage(1, 9, 4),)


def test_more_than_the_machine(tmp_path):
    """Outages that take more processors than there are take the whole machine then."""
    path = tmp_path / "down.csv"
    lines = (f"{NOON + a},{NOON + b},{n}\n" for a, b, n in ((0, 50, 3), (10, 20, 3), (15, 30, 1)))
    path.write_text("".join(lines))
    with pytest.warns(UserWarning, match="3 outages would take more processors than the machine"):
        outages = load_outages(path, site(tmp_path))
    assert outages == (Outage(0, 10, 3), Outage(10, 20, 4), Outage(20, 30, 1), Outage(20, 50, 3))


def test_before_the_log(tmp_path):
    """A window before the first submission is left out; one that reaches into the log is cut."""
    path = tmp_path / "down.csv"
    path.write_text(
        "# begin, end\n"
        f"{NOON - 900},{NOON - 600}\n{NOON - 60},{NOON + 60},\n{NOON + 90},{NOON + 99},400\n"
    )
    with pytest.warns(UserWarning) as warned:
        assert load_outages(path, site(tmp_path)) == (Outage(0, 60, 4), Outage(90, 99, 4))
    (warning,) = warned
    assert "1 outage before the log's first submission left out; 1 outage cut" in str(
        warning.message
    )


def test_events_without_a_column(tmp_path):
    """The column that is missing is named, and the command that prints it."""
    path = tmp_path / "events.txt"
    path.write_text("NodeName|TimeStart|TimeEnd|State|Reason\nn1|2026-01-01T12:00:10|Unknown||x\n")
    with refused(WorkloadError, "no column TRES; print it with sacctmgr -P show event format="):
        load_outages(path, site(tmp_path))


def test_overlap_in_header(tmp_path):
    """Two outages of 3 of 4 processors take all where they overlap, and a warning says so."""
    header = ["; Outage: 90 120 3", "; Outage: 100 130 3"]
    with pytest.warns(UserWarning, match="2 outages in the header take more processors than"):
        trace = site(tmp_path, [0, 0, 0], header=header)
    assert trace.outages == (Outage(90, 100, 3), Outage(100, 120, 4), Outage(120, 130, 3))


def test_whole_machine(tmp_path):
    """Outages of the whole machine are united.

    Those of a part are cut to what is left beside them; parts that fit add up.
    """
    path = tmp_path / "down.csv"
    windows = [(0, 50, 4), (40, 60, 4), (50, 80, 1), (90, 99, 2), (90, 99, 2)]
    path.write_text("".join(f"{NOON + a},{NOON + b},{n}\n" for a, b, n in windows))
    assert load_outages(path, site(tmp_path)) == (
        Outage(0, 60, 4),
        Outage(60, 80, 1),
        Outage(90, 99, 2),
        Outage(90, 99, 2),
    )


def test_option(tmp_path):
    """A log's outages are those of its header, or also those found, or none."""
    header = ["; Outage: 90 120 2", "; Outage: 9000 9100 1"]
    site(tmp_path, [0, *(7_000 - job for job in range(1, 7))], gap=1, header=header)
    path = tmp_path / "site.swf"
    header_outages = (Outage(90, 120, 2), Outage(9000, 9100, 1))
    assert bfenv.read_swf(path).outages == header_outages
    assert bfenv.read_swf(path, outages="none").outages == ()
    # That of 100 to 7000 s is found, but meets one that the header has.
    assert bfenv.read_swf(path, outages="find").outages == header_outages
    site(tmp_path, [0, *(7_000 - job for job in range(1, 7))], gap=1, header=header[1:])
    outages = bfenv.load_workload(f"{path}:outages=find").outages
    assert outages == (Outage(100, 7000, 4), Outage(9000, 9100, 1))
    with refused(WorkloadError, "'maybe'"):
        bfenv.read_swf(path, outages="maybe")
