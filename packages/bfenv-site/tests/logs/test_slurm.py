"""Slurm's accounting: by hand, line by line, there and back, and damaged."""

import gzip
import inspect
import re
from pathlib import Path

import pytest

import bfenv
from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.cleaning import DROPPED
from bfenv_site.cli.import_ import import_log
from bfenv_site.logs import slurm, tres
from bfenv_site.logs.formats import find_format
from bfenv_site.logs.slurm import read_sacct
from tests.workloads.refusals import refused

COLUMNS = tuple(slurm.COMMAND.partition("-o ")[2].split(","))
HEADER = "|".join(COLUMNS)
NOON = 1_767_268_800  # 2026-01-01 12:00 UTC
JOB = {
    "JobID": "7",
    "User": "ann",
    "Group": "chem",
    "Partition": "batch",
    "QOS": "normal",
    "Submit": NOON,
    "Eligible": NOON,
    "Start": NOON + 60,
    "End": NOON + 160,
    "ElapsedRaw": 100,
    "TimelimitRaw": 5,
    "State": "COMPLETED",
    "AllocCPUS": 4,
    "NNodes": 1,
}


def line(**fields):
    """A line of a dump: `JOB`, but for the fields given."""
    return "|".join(str((JOB | fields)[column]) for column in COLUMNS)


def dump(folder, *lines, header=HEADER, name="dump.txt"):
    """A dump in the folder."""
    path = Path(folder) / name
    data = "\n".join([header, *lines, ""]).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def read(folder, *lines, **options):
    """The trace of a dump."""
    header = options.pop("header", HEADER)
    return read_sacct(dump(folder, *lines, header=header), **({"processors": 64} | options))


def counted(trace):
    """The counts of the lines that are no jobs."""
    counts = {name: getattr(trace.cleaning, name) for name in DROPPED}
    assert sum(counts.values()) == trace.cleaning.dropped
    return {name: count for name, count in counts.items() if count}


def local(text):
    """A local time of January 2026, or a whole one."""
    return text if "T" in text else f"2026-01-01T{text}"


def times(submit, start, end, **fields):
    """A line of local times."""
    return line(Submit=local(submit), Start=local(start), End=local(end), **fields)


# What a line means


def test_two_lines(tmp_path):
    """Two lines give two jobs with these numbers, times and SWF records, and nothing is dropped."""
    trace = read(
        tmp_path,
        line(),
        line(JobID="8", User="bob", Submit=NOON + 30, ElapsedRaw=7, TimelimitRaw=60, AllocCPUS=60),
    )
    assert trace.jobs.submit.tolist() == [0, 30]
    assert trace.jobs.size.tolist() == [4, 60]
    assert trace.jobs.estimate.tolist() == [300, 3600]
    assert trace.jobs.user.tolist() == [0, 1]
    assert trace.runtime.tolist() == [100, 7]
    assert (trace.processors, trace.time_of_day, trace.name) == (64, 12 * 3600, "dump")
    assert trace.records.tolist() == [
        [1, 0, 60, 100, 4, -1, -1, 4, 300, -1, 1, 1, 1, -1, 1, 1, -1, -1],
        [2, 30, 30, 7, 60, -1, -1, 60, 3600, -1, 1, 2, 1, -1, 1, 1, -1, -1],
    ]
    assert counted(trace) == {}


def test_documented_command():
    """The documented command is shown in both help texts, and its columns are those read."""
    words = slurm.COMMAND.split()
    for text in (inspect.getdoc(read_sacct), inspect.getdoc(import_log)):
        assert set(words) <= set(text.split()), text
    columns = {*slurm.COLUMNS, *tres.SIZES["cores"], *tres.SIZES["nodes"]}
    assert columns >= set(COLUMNS)


def test_order_of_columns(tmp_path):
    """Columns are found by name in any order, and others do not matter."""
    columns = ["Comment", *reversed(COLUMNS), "NodeList"]
    fields = JOB | {"Comment": "what?", "NodeList": "n[1-4]"}
    other = "|".join(str(fields[column]) for column in columns)
    trace = read(tmp_path, other, header="|".join(columns).upper())
    assert trace.hash == read(tmp_path, line()).hash


def test_missing_columns(tmp_path):
    """All missing columns are named at once, with the command."""
    missing = ["Start", "State", "AllocCPUS or NCPUS", "ElapsedRaw or Elapsed or End"]
    with refused(WorkloadError, *missing, slurm.COMMAND) as error:
        read(tmp_path, "7|ann", header="JobID|User|Submit")
    assert "Submit," not in str(error.value).partition(slurm.COMMAND)[0]
    with refused(WorkloadError, "NNodes or AllocNodes"):
        header = "JobID|Submit|Start|State|AllocCPUS|End"
        read(tmp_path, "7|1|2|COMPLETED|4|3", header=header, resource="nodes")


def test_sizes_of_tres(tmp_path):
    """Where a dump has no column of CPUs or nodes, they are those of AllocTRES, or of ReqTRES."""
    header = "JobIDRaw|Submit|Start|State|ElapsedRaw|AllocTRES|ReqTRES"
    assert find_format(dump(tmp_path, header=header)) == "sacct"
    lines = (
        f"7|{NOON}|{NOON}|COMPLETED|60|billing=9,cpu=4,mem=8G,node=2|cpu=2,node=1",
        f"8|{NOON}|{NOON}|COMPLETED|60||cpu=3,node=3",
    )
    for resource, sizes in (("cores", [4, 3]), ("nodes", [2, 3])):
        trace = read(tmp_path, *lines, header=header, resource=resource)
        assert trace.jobs.size.tolist() == sizes
    header, line = f"{header}|ReqCPUS", f"{lines[0]}|1"
    assert read(tmp_path, line, header=header).jobs.size.tolist() == [4]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"JobID": "7.batch"}, "steps"),
        ({"JobID": "7.extern"}, "steps"),
        ({"JobID": "7_3.0"}, "steps"),
        ({"JobID": "7+1.interactive"}, "steps"),
        ({"JobID": "7.0+1"}, "steps"),
        ({"State": "PENDING", "Start": "Unknown", "End": "Unknown", "ElapsedRaw": 0}, "pending"),
        ({"JobID": "7_[5-9%2]", "State": "PENDING", "Start": "Unknown"}, "pending"),
        ({"State": "RUNNING", "End": "Unknown"}, "running"),
        ({"State": "SUSPENDED"}, "running"),
        ({"State": "RUNNING"}, "running"),  # with -T there is an end
        ({"End": "Unknown"}, "running"),
        ({"State": "CANCELLED by 1000", "Start": "None", "AllocCPUS": 0}, "never_started"),
        ({"State": "CANCELLED by 1000", "Start": NOON + 160}, "never_started"),
        ({"JobID": "7_[1-3,...]", "State": "CANCELLED", "Start": "Unknown"}, "never_started"),
        ({"Submit": "Unknown"}, "no_submit"),
        ({"ElapsedRaw": 0}, "no_runtime"),
        ({"AllocCPUS": 0}, "no_size"),
        ({"AllocCPUS": ""}, "no_size"),
        ({"AllocCPUS": 65}, "too_large"),
        ({"AllocCPUS": "9" * 12}, "too_large"),
    ],
)
def test_no_job(tmp_path, fields, reason):
    """A line that is no job is counted under its reason."""
    trace = read(tmp_path, line(JobID="1", User="bob"), line(**fields))
    assert len(trace) == 1
    assert counted(trace) == {reason: 1}


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("COMPLETED", 1),
        ("CANCELLED by 1000", 5),
        ("TIMEOUT", 0),
        ("NODE_FAIL", 0),
        ("REQUEUED", 0),
        ("RESIZING", 0),
    ],
)
def test_states(tmp_path, state, status):
    """Whatever ran is a job, however it ended, and its status is that of its state."""
    trace = read(tmp_path, line(State=state))
    assert counted(trace) == {}
    assert trace.records[0, 10] == status


def test_tasks_and_components(tmp_path):
    """Tasks of an array and components of a heterogeneous job are jobs."""
    trace = read(tmp_path, *(line(JobID=job) for job in ("7_1", "7_2", "9+0", "9+1")))
    assert len(trace) == 4
    assert (trace.cleaning.components, trace.cleaning.requeued) == (2, 0)


@pytest.mark.parametrize(
    ("column", "text", "seconds"),
    [
        ("TimelimitRaw", "90", 5400),
        ("Timelimit", "90", 5400),
        ("Timelimit", "10:30", 630),
        ("Timelimit", "01:00:00", 3600),
        ("Timelimit", "2-03:04:05", 183_845),
        ("Timelimit", "2-03", 183_600),
        ("Timelimit", "2-03:04", 183_840),
        ("Timelimit", "90m", 5400),
        ("Timelimit", "2d", 172_800),
    ],
)
def test_time_limits(tmp_path, column, text, seconds):
    """A time limit is read in each of Slurm's formats."""
    header = HEADER.replace("TimelimitRaw", column)
    trace = read(tmp_path, line(TimelimitRaw=text), header=header)
    assert trace.jobs.estimate.tolist() == [seconds]


def test_sizes(tmp_path):
    """A size is the CPUs or nodes allocated, or the CPUs requested where none are."""
    header = "JobID|Submit|Start|End|State|AllocCPUS|ReqCPUS|AllocNodes|NNodes"
    lines = ["1|10|20|30|COMPLETED|8|2|2K|2000", "2|10|20|30|COMPLETED|0|3|1.5K|"]
    options = {"header": header, "processors": 5000}
    assert read(tmp_path, *lines, **options).jobs.size.tolist() == [8, 3]
    assert read(tmp_path, *lines, resource="nodes", **options).jobs.size.tolist() == [2000, 1536]


@pytest.mark.parametrize(
    ("columns", "values", "runtime"),
    [
        ("ElapsedRaw|Elapsed|End", f"50|00:01:10|{NOON + 160}", 50),  # suspended for the rest
        ("Elapsed|End", f"00:01:10|{NOON + 160}", 70),
        ("Elapsed|End", f"|{NOON + 160}", 100),
        ("Elapsed", "1-00:00:01", 86_401),
    ],
)
def test_runtime(tmp_path, columns, values, runtime):
    """A runtime is the elapsed time, or else the end minus the start."""
    text = f"7|{NOON}|{NOON + 60}|COMPLETED|1|{values}"
    trace = read(tmp_path, text, header=f"JobID|Submit|Start|State|AllocCPUS|{columns}")
    assert trace.runtime.tolist() == [runtime]


def test_held_job(tmp_path):
    """A held job is submitted when it is eligible, if that is asked for."""
    lines = [line(Eligible=NOON + 50), line(JobID="8"), line(JobID="9", Eligible="Unknown")]
    assert read(tmp_path, *lines).jobs.submit.tolist() == [0, 0, 0]
    assert read(tmp_path, *lines, eligible=True).jobs.submit.tolist() == [0, 0, 50]
    assert read(tmp_path, *lines, eligible=True).records[:, 2].tolist() == [60, 60, 10]


# Times


def test_local_times(tmp_path):
    """Local times are those of the zone or of their own offset, and midnight is not special."""
    text = times("2025-12-31T23:59:30", "2026-01-01T00:00:00", "2026-01-01T00:01:40")
    trace = read(tmp_path, text, timezone="Europe/Prague")
    assert trace.records[0, 2] == 30
    assert trace.time_of_day == 86_370
    assert "UnixStartTime: 1767221970" in trace.header
    assert "TimeZoneString: Europe/Prague" in trace.header
    other = read(tmp_path, times("2025-12-31T22:59:30Z", "2026-01-01T00:00:00+0100", "00:01:40"))
    assert "UnixStartTime: 1767221970" in other.header


@pytest.mark.parametrize(
    ("submit", "start", "end", "elapsed", "wait", "runtime"),
    [
        # The clock of Prague was set back from 03:00 to 02:00 on 26 October 2025.
        ("01:50", "02:10", "02:50", 2400, 1200, 2400),
        ("01:50", "02:10", "02:50", 6000, 1200, 6000),  # 02:10 the first, 02:50 the second time
        ("02:50", "02:10", "02:20", 600, 1200, 600),  # only the second 02:10 is after 02:50
        ("02:50", "02:10", "02:20", "", 1200, 600),
        ("01:50", "02:50", "02:10", "", 3600, 1200),
        ("01:50", "02:10", "03:10", 7200, 1200, 7200),
        ("01:50", "02:10", "03:10", 3600, 4800, 3600),
        ("01:50", "02:10", "03:10", "", 1200, 7200),
    ],
)
def test_repeated_hour(tmp_path, submit, start, end, elapsed, wait, runtime):
    """In the hour that comes twice, times are in order and agree with the elapsed time."""
    day = [f"2025-10-26T{time}:00" for time in (submit, start, end)]
    trace = read(
        tmp_path, times(*day, ElapsedRaw=elapsed, TimelimitRaw=""), timezone="Europe/Prague"
    )
    assert trace.records[0, [2, 3]].tolist() == [wait, runtime]


def test_skipped_hour(tmp_path):
    """A job over the hour that is left out is an hour shorter."""
    day = [f"2026-03-29T{time}:00" for time in ("01:00", "01:30", "03:30")]
    trace = read(tmp_path, times(*day, ElapsedRaw=""), timezone="Europe/Prague", overrun="extend")
    assert trace.records[0, [2, 3]].tolist() == [1800, 3600]


# Back and forth, and no names


def test_header(tmp_path):
    """The header tells of the conversion and its counts."""
    trace = read(tmp_path, line(), line(JobID="7.batch"), line(JobID="7.0"), line(JobID="9+0"))
    text = "\n".join(trace.header)
    for part in ("MaxProcs: 64", "MaxJobs: 2", f"UnixStartTime: {NOON}", "TimeZoneString: UTC"):
        assert part in text
    assert "Note: not a job: job step: 2" in text
    assert re.search("Note: component of a heterogeneous job.*: 1", text)


def test_names(tmp_path):
    """No name of a user, job, account or node gets into the file."""
    secret = ("annabel", "chemistry", "secretproject", "fatnodes", "urgentqos", "myjob", "node17")
    user, group, account, partition, qos, job, node = secret
    fields = {**JOB, "Account": account, "JobName": job, "NodeList": node}
    fields |= {"User": user, "Group": group, "Partition": partition, "QOS": qos}
    header = "|".join(fields)
    path = dump(tmp_path, "|".join(map(str, fields.values())), header=header, name=f"{user}.txt")
    bfenv.write_swf(read_sacct(path, processors=64), tmp_path / "out.swf")
    text = (tmp_path / "out.swf").read_text().lower()
    assert not [name for name in secret if name in text]


# What cannot be read


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"JobID": "ann"}, ["JobID", "'ann'"]),
        ({"JobID": ""}, ["JobID", "''"]),
        ({"State": ""}, ["State", "''"]),
        ({"Submit": "yesterday"}, ["Submit", "'yesterday'"]),
        ({"Submit": "2026-02-30T00:00:00"}, ["Submit", "'2026-02-30T00:00:00'"]),
        ({"Start": "Ystday 12:00"}, ["Start", "'Ystday 12:00'"]),
        ({"Start": "12:00:00"}, ["Start", "'12:00:00'"]),
        ({"End": f"{NOON}000"}, ["End", f"'{NOON}000'"]),
        ({"ElapsedRaw": "long"}, ["ElapsedRaw", "'long'"]),
        ({"TimelimitRaw": "9" * 15}, ["TimelimitRaw", "9" * 15]),
        ({"TimelimitRaw": "9" * 400 + "d"}, ["TimelimitRaw", "9" * 40]),
        ({"AllocCPUS": "four"}, ["AllocCPUS", "'four'"]),
        ({"User": "a|b"}, ["15 fields", "14"]),
    ],
)
def test_malformed_line(tmp_path, fields, named):
    """A malformed line is named with its field; or skipped, counted and warned of."""
    lines = [line(), line(**({"JobID": "8"} | fields))]
    named = ["dump.txt:3: ", *named]
    with refused(WorkloadError, *named):
        read(tmp_path, *lines)
    with pytest.warns(UserWarning) as warned:
        trace = read_sacct(dump(tmp_path, *lines), processors=64, on_error="skip")
    (warning,) = warned
    assert all(name in str(warning.message) for name in named)
    assert warning.filename == __file__
    assert counted(trace) == {"malformed": 1}
    path = dump(tmp_path, *lines)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with refused(WorkloadError, *named):
        read_sacct(path, processors=64)


def test_size_hint(tmp_path):
    """Without a machine size, the message states the most in use at once."""
    lines = [
        line(AllocCPUS=4),
        line(JobID="8", Start=NOON + 159, AllocCPUS=5),
        line(JobID="9", Start=NOON + 160, AllocCPUS=6),  # starts when the first ends
    ]
    with refused(WorkloadError, "processors", "at least 11 were in use at once") as caught:
        read(tmp_path, *lines, processors=None)
    assert "(" not in str(caught.value)  # there is one partition
    lines.append(line(JobID="10", Start=NOON + 159, AllocCPUS=3, Partition="gpu"))
    with refused(WorkloadError, "at least 14 were in use at once (batch=11, gpu=3)"):
        read(tmp_path, *lines, processors=None)


def test_peak_above_size(tmp_path):
    """A peak use above the given size is a warning; it counts the jobs that are too large."""
    lines = [line(), line(JobID="8"), line(JobID="9", AllocCPUS=99)]
    path = dump(tmp_path, *lines)
    with pytest.warns(UserWarning, match=r"\b107\b.*\b7\b") as warned:
        trace = read_sacct(path, processors=7)
    assert warned[0].filename == __file__
    assert len(trace) == 2
    read(tmp_path, *lines[:2], processors=8)  # which is as many


def test_delimiter_in_names(tmp_path):
    """Where names hold the delimiter, an error or a warning names the option of sacct."""
    path = tmp_path / "dump.txt"
    line = "{}|{}|{}|{}|{}|60|5|COMPLETED|1\n"
    head = "JobID|User|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|AllocCPUS\n"
    times = (1600000000, 1600000001, 1600000061)
    path.write_text(
        head + "".join(line.format(i, ("ann", "svc|pipe")[i % 2], *times) for i in range(1, 9))
    )
    with pytest.raises(WorkloadError, match="or print the log again .* sacct --delimiter"):
        read_sacct(path, processors=8)
    with pytest.warns(UserWarning, match="4 malformed lines .* sacct --delimiter"):
        assert len(read_sacct(path, processors=8, on_error="skip")) == 4


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("afterok:1", 3600),
        ("afterany:1(unfulfilled)", 3600),
        ("afterok:1:2,afterany:77", 3600),
        ("afterok:2,afternotok:1_*(fulfilled)", 3600),
        ("AFTEROK:1_[1-4,7]", 3600),
        ("1 2", 3600),
        ("afterany:2+1", 65),  # the second part of job 2
        ("afterok:1?afterany:2", 65),  # one suffices
        ("afterok:77", 9),
        ("", 9),
    ],
)
def test_dependencies(text, start, tmp_path):
    """afterok and afterany wait for the end of a job; the last of several counts."""
    path = tmp_path / "dump.txt"
    begin = 1_600_000_000
    head = "JobID|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|AllocCPUS|Dependency\n"
    rows = [
        (1, begin, begin, begin + 3600, 3600, 60, "COMPLETED", 2, ""),
        (2, begin + 5, begin + 5, begin + 65, 60, 60, "COMPLETED", 2, ""),
        (3, begin + 9, begin + 3700, begin + 3760, 60, 60, "COMPLETED", 2, text),
    ]
    path.write_text(head + "\n".join("|".join(map(str, row)) for row in rows))
    trace = read_sacct(path, processors=8)
    assert bfenv.simulate(trace, "easy").start.tolist() == [0, 5, start]


@pytest.mark.parametrize("text", ["after:1", "after:1+10", "singleton", "singleton,afterok:2"])
def test_ignored_dependencies(text, tmp_path):
    """A job that waits for a start, or for a name, starts at once, and a warning says so."""
    path, begin = tmp_path / "dump.txt", 1_600_000_000
    head = "JobID|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|AllocCPUS|Dependency\n"
    row = f"{{}}|{begin}|{begin}|{begin + 600}|600|60|COMPLETED|2|{{}}\n"
    path.write_text(head + row.format(1, "") + row.format(3, text))
    with pytest.warns(
        UserWarning, match="1 job waits for the start of another job, or for jobs of"
    ):
        trace = read_sacct(path, processors=8)
    assert bfenv.simulate(trace, "easy").start.tolist() == [0, 0]


def test_aftercorr(tmp_path):
    """A task waits for the one of its number with aftercorr, for all tasks with afterok."""
    path, begin = tmp_path / "dump.txt", 1_600_000_000
    head = "JobID|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|AllocCPUS|Dependency\n"
    rows = [
        f"1_1|{begin}|{begin}|{begin + 100}|100|60|COMPLETED|1|",
        f"1_2|{begin}|{begin}|{begin + 900}|900|60|COMPLETED|1|",
        *(f"{job}|{begin}|{begin + 900}|{begin + 960}|60|60|COMPLETED|1|{text}" for job, text in
          (("5_1", "aftercorr:1"), ("5_2", "aftercorr:1"), ("6_1", "afterok:1"))),
    ]  # fmt: skip
    path.write_text(head + "\n".join(rows))
    trace = read_sacct(path, processors=8)
    assert bfenv.simulate(trace, "easy").start.tolist() == [0, 0, 100, 900, 900]
