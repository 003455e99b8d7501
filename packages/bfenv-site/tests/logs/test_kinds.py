"""Faults of logs, each in every format in which it can occur: a table of tests, generated.

In each, an odd job stands between two plain ones of 480 processor seconds. The plain ones are read
as they are; the odd one is a job, or counted under one reason; and no work is lost.
"""

import json
from datetime import datetime

import pytest

from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.cleaning import CHANGED, DROPPED
from bfenv.workloads.logs.swf import read_swf, write_swf
from bfenv_site.logs.formats import find_format
from bfenv_site.logs.table import read_columns
from site_helpers.writers import FORMATS, NOON, TEXTS, job, read, sacct, table, written
from tests.workloads.refusals import refused

PLAIN = 4 * 120  # processor seconds of a plain job
WORDS = ("Unknown", "None", "N/A", "NONE", "NULL", "-", "INVALID")
DATES = (
    "0",
    "1970-01-01",
    "1970-01-01T01:00:00",
    "1969-12-31T16:00:00",
    "0001-01-01T00:00:00",
    "0000-00-00 00:00:00",
    "0000-00-00",
)
UNLIMITED = (
    "",
    "UNLIMITED",
    "unlimited",
    "INFINITE",
    "Partition_Limit",
    "NOT_SET",
    "-1",
    "0",
    "4294967295",
)
NO_START = {
    "sacct": ("", *WORDS, *DATES, "2020-01-01T00:00:00"),
    "sacct-json": (0, None, {"set": False, "number": 5}),
    "pbs": (0, None, -1),
    "torque": (0, None),
    "lsf": (0,),
    "sge": (0, -1),
    "xdmod": (0, "", "1970-01-01"),
    "xdmod-json": (0, None),
    "csv": ("", *WORDS, *DATES, 0, "2020-01-01T00:00:00"),
    "parquet": (None, 0),
}
NO_LIMIT = {
    "sacct": (*UNLIMITED, *WORDS),
    "sacct-json": (
        None,
        0,
        2**32 - 1,
        "Partition_Limit",
        {"set": True, "infinite": True, "number": 0},
    ),
    "pbs": (None, "UNLIMITED", "-1", "00:00:00"),
    "torque": (None, "0"),
    "lsf": (0, -1, 2**31 - 1),
    "sge": (None, "INFINITY", 2**31 - 1),
    "xdmod": (*UNLIMITED, 0),
    "xdmod-json": (None, 0, -1),
    "csv": (*UNLIMITED, *WORDS),
    "parquet": (None, 0, -1, 2**32 - 1),
    "swf": (-1, 0, 2**31 - 1, 2**32 - 1),
}
WITH_RUNTIMES = [form for form in FORMATS if form not in ("lsf", "sge")]
WITH_ENDS = [form for form in FORMATS if form != "swf"]


def cases(values):
    """Pairs of a format and a value, of a mapping of formats to values."""
    return [
        pytest.param(form, value, id=f"{form}-{value}") for form in values for value in values[form]
    ]


def imported(folder, form, odd, **options):
    """The trace of the odd jobs between two plain ones, and its counts of what is no plain job."""
    odd = odd if isinstance(odd, list) else [odd]
    trace = read(written(folder, form, [job(1), *odd, job(9)]), form, **options)
    assert trace.records[[0, -1]][:, [1, 2, 3, 7]].tolist() == [
        [trace.records[0, 1], 60, 120, 4],
        [trace.records[0, 1] + 80, 60, 120, 4],
    ]
    counts = {why: getattr(trace.cleaning, why) for why in (*DROPPED, *CHANGED)}
    return trace, {why: count for why, count in counts.items() if count}


def work(trace):
    """The processor seconds of a trace, which are those of its log."""
    total = int((trace.jobs.size * trace.runtime).sum())
    lost = getattr(trace.cleaning, "work", {})
    assert not any(lost.values()), lost
    return total


@pytest.mark.parametrize("form", FORMATS)
def test_plain(tmp_path, form):
    """The plain jobs are the same in all formats, and nothing is counted.

    What is written as SWF is read as the same.
    """
    trace, counts = imported(tmp_path, form, job(5, size=8, limit=1200, user="bob"))
    assert (counts, work(trace)) == ({}, 4 * PLAIN)
    assert trace.jobs.size.tolist() == [4, 8, 4]
    assert trace.jobs.submit.tolist() == [0, 40, 80]
    if form not in ("sacct", "sacct-json"):  # in minutes
        assert trace.jobs.estimate.tolist() == [600, 1200, 600]
    write_swf(trace, tmp_path / "again.swf")
    assert read_swf(tmp_path / "again.swf").hash == trace.hash


def test_end_minus_zero(tmp_path):
    """A runtime of 56 years is that of a job that never started, whatever else is known."""
    path = tmp_path / "log"
    path.write_text(f"sub,n,ran\n{NOON},4,120\n{NOON},4,{NOON + 9}\n")
    mapping = {"submit": "sub", "size": "n", "runtime": "ran"}
    assert read_columns(path, mapping, processors=4).cleaning.never_started == 1
    _, counts = imported(tmp_path, "swf", job(5, start=0))
    assert counts == {"never_started": 1}


def test_clock_set_back(tmp_path):
    """An end that seems an hour too early is none, if the runtime says so."""
    trace, counts = imported(tmp_path, "sacct", job(5, end=NOON + 110 + 120 - 3600, ran=120))
    assert (counts, work(trace)) == ({}, 3 * PLAIN)


@pytest.mark.parametrize(("form", "start"), cases(NO_START))
def test_never_started(tmp_path, form, start):
    """Whatever a log writes for "no start", such a job is counted, and is no run of 56 years."""
    trace, counts = imported(tmp_path, form, job(5, start=start))
    assert counts == {"never_started": 1}
    assert work(trace) == 2 * PLAIN


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_relative_times(tmp_path, form):
    """In a table of relative times, second 0 is a time like any other."""
    jobs = [job(1, submit=0, start=0, end=9), job(2, submit=0, start=9, end=400)]
    trace = read(written(tmp_path, form, jobs), form)
    assert (trace.runtime.tolist(), trace.records[:, 2].tolist()) == ([9, 391], [0, 9])


@pytest.mark.parametrize("form", [form for form in WITH_ENDS if form not in ("pbs", "torque")])
def test_running(tmp_path, form):
    """A job that has not ended has no runtime yet; PBS writes only of jobs that have."""
    trace, counts = imported(tmp_path, form, job(5, end=0))
    assert (counts, work(trace)) == ({"running": 1}, 2 * PLAIN)


@pytest.mark.parametrize(("form", "limit"), cases(NO_LIMIT))
def test_no_limit(tmp_path, form, limit):
    """Whatever a log writes for "no limit", such a job has none, and ends no import."""
    trace, counts = imported(tmp_path, form, job(5, limit=limit))
    assert (counts, work(trace)) == ({"no_estimate": 1}, 3 * PLAIN)
    assert max(trace.jobs.estimate) == 600


@pytest.mark.parametrize("form", FORMATS)
def test_repeated(tmp_path, form):
    """A run of which the log tells twice is one."""
    trace, counts = imported(tmp_path, form, [job(5), job(5)])
    assert (counts, work(trace)) == ({"duplicates": 1}, 3 * PLAIN)


@pytest.mark.parametrize("wait", [0, 20])
@pytest.mark.parametrize("form", ["sacct", "sacct-json", "pbs", "torque", "lsf", "sge"])
def test_requeued(tmp_path, form, wait):
    """Each run of a requeued job is one, submitted when the one before ended; of PBS, by R."""
    first = job(5, kind="R", end=NOON + 500)
    again = job(5, start=NOON + 500 + wait, end=NOON + 600)
    trace = read(written(tmp_path, form, [job(1), first, again]), form)
    assert (trace.cleaning.requeued, trace.cleaning.dropped) == (1, 0)
    assert work(trace) == PLAIN + 4 * (390 + 100 - wait)
    assert trace.records[:, [1, 2]].tolist() == [[0, 60], [40, 60], [490, wait]]


@pytest.mark.parametrize("form", WITH_ENDS)
def test_longer(tmp_path, form):
    """Of two ends of one run, the later counts; a table may have them of two tasks of an array."""
    runs = [job(5), job(5, end=NOON + 300), job(5, end=NOON + 200)]
    trace, counts = imported(tmp_path, form, runs)
    if form in ("csv", "parquet", "xdmod", "xdmod-json"):
        assert (counts, work(trace)) == ({"requeued": 2}, 3 * PLAIN + 4 * (190 + 90))
    else:
        assert (counts, work(trace)) == ({"duplicates": 2}, 2 * PLAIN + 4 * 190)


@pytest.mark.parametrize(
    ("form", "array", "tasks"),
    [
        ("pbs", "40[].srv", "40[{}].srv"),
        ("sacct", "40_[1-2]", "40_{}"),
        ("csv", "40[]", "40[{}]"),
        ("parquet", "40[]", "40[{}]"),
        ("xdmod", "40[]", "40[{}]"),
    ],
)
def test_array(tmp_path, form, array, tasks):
    """An array as a whole is no job beside its tasks."""
    jobs = [job(5, id=tasks.format(1)), job(5, id=tasks.format(2)), job(5, id=array, size=1)]
    trace, counts = imported(tmp_path, form, jobs)
    assert (counts, work(trace)) == ({"parents": 1}, 4 * PLAIN)


def test_array_alone(tmp_path):
    """PBS's record of an array has no hosts, and is no run even without its tasks."""
    _, counts = imported(tmp_path, "pbs", job(5, id="40[].srv", size=None, asked=1))
    assert counts == {"parents": 1}
    trace, counts = imported(tmp_path, "csv", job(5, id="40[]"))
    assert (counts, work(trace)) == ({}, 3 * PLAIN)


@pytest.mark.parametrize("last", [3, 4])
def test_parts(tmp_path, last):
    """SWF's parts of a job do not count beside the whole, and are one job without it."""
    ends = (NOON + 150, NOON + 190)
    parts = [job(5, end=end, status=status) for end, status in zip(ends, (2, last), strict=True)]
    trace, counts = imported(tmp_path, "swf", [job(5), *parts])
    assert (counts, work(trace)) == ({"parts": 2}, 3 * PLAIN)
    trace, counts = imported(tmp_path, "swf", parts)
    assert (counts, work(trace)) == ({"parts": 1}, 2 * PLAIN + 4 * (40 + 80))
    assert trace.records[1, 10] == (last == 3)


@pytest.mark.parametrize("form", ["sacct", "sacct-json", "pbs", "torque", "lsf"])
@pytest.mark.parametrize("asked", [1, 16])
def test_sizes(tmp_path, form, asked):
    """What a job held outranks what it or its site requested; that they differ is counted."""
    trace, counts = imported(tmp_path, form, job(5, size=8, asked=asked))
    assert (counts, work(trace)) == ({"odd_size": 1}, 4 * PLAIN)


@pytest.mark.parametrize("size", ["", "N/A", "Unknown", None, 0])
def test_no_size(tmp_path, size):
    """A job whose size is not known is counted as such."""
    _, counts = imported(tmp_path, "sacct", job(5, size=size))
    assert counts == {"no_size": 1}


def test_sizes_of_gpus(tmp_path):
    """So is that of GPUs, of which a request in Slurm may name others."""
    path = tmp_path / "log"
    times = f"{NOON}|{NOON}|{NOON + 9}|9|COMPLETED"
    sizes = ("gres/gpu=2|gres/gpu=1", "gres/gpu=2|gres/gpu=2", "cpu=4|gres/gpu=2")
    lines = (f"{i}|{times}|{size}" for i, size in enumerate(sizes))
    names = "JobID|Submit|Start|End|ElapsedRaw|State|AllocTRES|ReqTRES"
    path.write_text("\n".join([names, *lines]) + "\n")
    trace = read(path, "sacct", resource="gpus")
    assert trace.jobs.size.tolist() == [2, 2]
    assert (trace.cleaning.odd_size, trace.cleaning.no_size) == (1, 1)


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        ("Resource_List.ncpus=1 Resource_List.nodes=2:ppn=4", 8),  # the first is a site's default
        ("Resource_List.ncpus=6 Resource_List.nodes=1", 6),
        ("Resource_List.select=1:ncpus=4+2:ncpus=2", 8),
        ("Resource_List.ncpus=1 total_execution_slots=4", 4),
    ],
)
def test_requests(tmp_path, fields, size):
    """Of several requests the largest counts, as defaults are small; what was held outranks all."""
    path = tmp_path / "log"
    path.write_text(f"01/01/2026 12:03:00;E;7;{fields} qtime={NOON} start={NOON} end={NOON + 9}\n")
    assert read(path, "pbs").jobs.size.tolist() == [size]


@pytest.mark.parametrize("form", WITH_ENDS)
def test_end_before_start(tmp_path, form):
    """A job that ends before it starts is counted, and ends no import."""
    trace, counts = imported(tmp_path, form, job(5, end=NOON + 100))
    assert (counts, work(trace)) == ({"contradictory": 1}, 2 * PLAIN)


@pytest.mark.parametrize("form", WITH_RUNTIMES)
def test_negative_runtime(tmp_path, form):
    """So is one of a negative runtime."""
    trace, counts = imported(tmp_path, form, job(5, ran=-50))
    assert (counts, work(trace)) == ({"contradictory": 1}, 2 * PLAIN)


@pytest.mark.parametrize("form", FORMATS)
def test_start_before_submission(tmp_path, form):
    """A job that starts before its submission is one of an unknown wait, and counted."""
    trace, counts = imported(tmp_path, form, job(5, start=NOON + 30))
    assert counts == {"early_start": 1}
    assert work(trace) == 2 * PLAIN + 4 * 200
    assert trace.records[1, 2] < 0
    assert imported(tmp_path, form, job(5, start=NOON + 50))[1] == {}  # at its submission


@pytest.mark.parametrize("form", ["csv", "parquet", "swf"])
def test_fractions(tmp_path, form):
    """The difference of two fractions of seconds is rounded once."""
    trace, counts = imported(tmp_path, form, job(5, start=NOON + 60.4, end=NOON + 80.6))
    assert counts == {} and trace.runtime.tolist()[1] == 20


NAMES = {
    "sacct": ("a|b", "a|b|c", "a\nb", "a\n\nb|c"),
    "sacct-json": ('a"|\nb',),
    "pbs": ("a;b", "a\nb", 'a"b', '"a b; start=5"', '"a\nb"'),
    "lsf": ('a "b" 5', "a\nb\nc"),
    "sge": ("a:b", "post:5:7", "00005:post"),
    "csv": ("a,b", 'say "x", do', "a\nb,c\n\nd"),
    "xdmod": ("a,b", "a\nb"),
}


@pytest.mark.parametrize(("form", "name"), cases(NAMES))
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_text(tmp_path, form, name, on_error):
    """Delimiters and line breaks in a name take nothing from a job, with --skip or without."""
    trace, counts = imported(tmp_path, form, job(5, name=name), on_error=on_error)
    more = len([line for line in name.split("\n") if line]) - 1
    if form != "sacct-json":
        assert counts.pop("continued", 0) == more * (1 + (form == "lsf"))  # where it is twice
    assert (counts, work(trace)) == ({}, 3 * PLAIN)


def test_account(tmp_path):
    """Grid Engine's account may have colons as well as the name before the id."""
    path = written(tmp_path, "sge", [job(1), job(5, name="a:5:b"), job(9)])
    path.write_text(path.read_text().replace(":sge:", ":lab:x:1:"))
    assert work(read(path, "sge")) == 3 * PLAIN


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_last_column(tmp_path, on_error):
    """Lines behind sacct's last column, a script of the user, are of the record before them."""
    path = tmp_path / "log"
    path.write_text(sacct([job(1), job(5), job(9)]).replace("\n", "|run 1\n\nx | y\n"))
    path.write_text(path.read_text().replace("|run 1\n\nx | y", "|SubmitLine", 1))
    trace = read(path, "sacct", on_error=on_error)
    assert (work(trace), trace.cleaning.dropped, trace.cleaning.continued) == (3 * PLAIN, 0, 3)


@pytest.mark.parametrize("name", ['"a" b', '"a', 'a"b'])
@pytest.mark.parametrize("form", ["csv", "sacct"])
def test_wrong_quotes(tmp_path, form, name):
    """Quotes that hold no field together are characters like others."""
    path = written(tmp_path, form, [job(1), job(5, name="NAME"), job(9)])
    path.write_text(path.read_text().replace("|", ",").replace("NAME", name))
    assert work(read(path, form)) == 3 * PLAIN


def test_empty_surplus(tmp_path):
    """A row with a delimiter too many at its end is never taken for one of a running job."""
    path = tmp_path / "log"
    path.write_text(table([job(1)]) + "5,run,ann,1767268850,1767268910,1767269030,120,600,4,\n")
    with refused(WorkloadError, "10 fields, expected 9"):
        read(path, "csv")


def test_unquoted(tmp_path):
    """A delimiter in a name without quotes belongs to the one column where the others fit."""
    path = written(tmp_path, "csv", [job(1), job(5, name="a,b"), job(9)])
    path.write_text(path.read_text().replace('"', ""))
    assert work(read(path, "csv")) == 3 * PLAIN


@pytest.mark.parametrize("form", ["sacct", "lsf", "sge", "csv", "xdmod"])
def test_half_a_record(tmp_path, form):
    """A record that is cut takes no other with it."""
    path = written(tmp_path, form, [job(1), job(5), job(9)])
    lines = path.read_text().splitlines()
    lines[-2] = lines[-2][: len(lines[-2]) // 3]
    path.write_text("\n".join(lines) + "\n")
    with refused(WorkloadError, f"{path}:{len(lines) - 1}: ", "--skip leaves out 1 such line of 3"):
        read(path, form)
    with pytest.warns(UserWarning, match="1 malformed line"):
        trace = read(path, form, on_error="skip")
    assert (work(trace), trace.cleaning.malformed) == (2 * PLAIN, 1)


@pytest.mark.parametrize("form", ["sacct", "pbs", "sge", "csv", "parquet", "xdmod"])
def test_no_advice(tmp_path, form):
    """To skip is no advice where nothing would be left."""
    path = written(tmp_path, form, [job(1, size="four"), job(2, size="four")])
    with refused(WorkloadError, "four", "no line is a job that ran") as caught:
        read(path, form)
    assert "--skip" not in str(caught.value)


@pytest.mark.parametrize("form", [form for form in TEXTS if form != "swf"])
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(tmp_path, form, encoding):
    """Users whose names differ in the file differ in the workload, whatever the encoding."""
    path = written(tmp_path, form, [job(1, user="müller"), job(5, user="möller"), job(9)])
    path.write_bytes(path.read_text().encode(encoding))
    trace = read(path, form)
    assert trace.jobs.user.tolist() == [0, 1, 2]
    assert trace.cleaning.encoding == encoding


@pytest.mark.parametrize("delimiter", [";", "\t", ",", "~", "^|^"])
def test_sacct_delimiters(tmp_path, delimiter):
    """A dump of sacct is one whatever --delimiter it had."""
    path = tmp_path / "log"
    steps = [job(5, id="5.batch"), job(5)]
    path.write_text(sacct([job(1), *steps, job(9)], delimiter))
    assert find_format(path) == "sacct"
    for options in ({}, {"delimiter": delimiter}):
        trace = read(path, "sacct", **options)
        assert (trace.cleaning.steps, work(trace)) == (1, 3 * PLAIN)
    names, _, rows = path.read_text().partition("\n")
    fields = ",".join(f" {name.upper()}%20" for name in names.split(delimiter))
    for text in (rows, rows.replace("\n", f"{delimiter}\n")):  # as of sacct -p
        path.write_text(text)
        assert find_format(path, fields) == "sacct"
        assert work(read(path, "sacct", fields=fields)) == 3 * PLAIN


def test_milliseconds(tmp_path):
    """Times in another unit are named as such; Univa's Grid Engine writes them so."""
    times = {"submit": NOON * 1000, "start": NOON * 1000 + 60_123, "end": NOON * 1000 + 180_456}
    assert read(written(tmp_path, "sge", [job(1, **times)]), "sge").runtime.tolist() == [120]
    times = {"submit": NOON * 1000, "start": NOON * 1000, "end": NOON * 1000 + 9}
    path = tmp_path / "log"
    path.write_text(table([job(1, **times)]))
    with refused(WorkloadError, "submit", "in milliseconds since 1970"):
        read(path, "csv")


@pytest.mark.parametrize("form", [form for form in WITH_RUNTIMES if form != "swf"])
def test_milliseconds_of_runtimes(tmp_path, form):
    """Runtimes in another unit than the times are named as such."""
    path = written(tmp_path, form, [job(1, ran=120_000)])
    with refused(WorkloadError, "in milliseconds"):
        read(path, {"torque": "pbs"}.get(form, form))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"nb_res": 4, "jobs": [{"id": "1", "subtime": 10, "res": 4}], "profiles": {}}', "Batsim"),
        ('{"jobs":[{"account":"a","job_state":["RUNNING"],"start_time":5}]}', "squeue"),
        ('{"jobs":[{"id":5,"t_submit":1.5,"t_run":2.5}]}', "Flux"),
        ('[\n{"ClusterId":101,"ProcId":0},\n{"ClusterId":102}\n]', "HTCondor"),
        ('{"jobid":101,"@start":"2026-01-15T10:00:10"}\n{"jobid":102}\n', "jobcomp"),
        ('{"a":1}\n{"a":2}\n', "JSON lines"),
        ('{"meta": {}}', "no list 'jobs'"),
        ("JobId=101 UserId=u1(1001) GroupId=g1(1001) Name=job\n", "jobcomp"),
        ("---\njobs:\n- account: a\n", "YAML"),
        ("# Version: 1.0\n# GWF\n1\t0\t5\n", "Grid Workload"),
        ("\t".join(["1", *["5"] * 10, *["U1"] * 18]) + "\n", "Grid Workload"),
        (" ".join(["1", *["5"] * 10, *["U1"] * 18]) + "\n", "Grid Workload"),
        ("JobId=41 ArrayJobId=40 ArrayTaskId=1 JobName=x\n   UserId=u(1)\n", "scontrol"),
        (f"{'=' * 62}\nqname        all.q\nhostname     n1\n", "qacct"),
        ("NodeName|TimeStart|TimeEnd|TRES\nn1|5|6|cpu=8\n", "--outages"),
        ("             JOBID PARTITION     NAME\n  1 p n\n", "squeue"),
    ],
)
def test_foreign(tmp_path, text, named):
    """What is no log that can be read is named, and never advised to be skipped."""
    path = tmp_path / "log"
    path.write_text(text)
    for options in ({}, {"on_error": "skip"}):
        with refused(WorkloadError, path, named) as caught:
            read(path, None, **options)
        assert "--skip" not in str(caught.value)


def test_numbers_of_json(tmp_path):
    """What has been through other tools, with numbers as floats or text, is the same."""
    path = written(tmp_path, "sacct-json", [job(1), job(9)])
    jobs = json.loads(path.read_text())
    for kind in (float, str):
        for entry in jobs["jobs"]:
            entry["time"] = {
                key: value and kind(int(float(value))) for key, value in entry["time"].items()
            }
            entry["job_id"] = kind(int(float(entry["job_id"])))
        path.write_text(json.dumps(jobs))
        assert work(read(path, "sacct-json")) == 2 * PLAIN


def test_first_event(tmp_path):
    """LSF's log is one whatever event comes first."""
    path = written(tmp_path, "lsf", [job(1), job(9)])
    path.write_text(f'"EVENT_ADRSV_FINISH" "10.1" {NOON} {NOON} "u" "x"\n{path.read_text()}')
    assert find_format(path) == "lsf"
    assert read(path, "lsf").cleaning.other_record == 1


def test_dates_of_parquet(tmp_path):
    """Dates before 1970, and of 1970, are those of jobs that never started."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    at = [datetime(2026, 1, 1, 12), datetime(1970, 1, 1), datetime(1969, 12, 31, 16)]
    end = arrow.array([datetime(2026, 1, 1, 13)] * 3, arrow.timestamp("ns"))
    sub = arrow.array([datetime(2026, 1, 1, 11)] * 3, arrow.timestamp("ns", tz="UTC"))
    columns = {"sub": sub, "on": arrow.array(at, arrow.timestamp("ms")), "off": end, "n": [1] * 3}
    write_table(arrow.table(columns), tmp_path / "log")
    mapping = {"submit": "sub", "start": "on", "end": "off", "size": "n"}
    trace = read_columns(tmp_path / "log", mapping, processors=4)
    assert (trace.runtime.tolist(), trace.cleaning.never_started) == ([3600], 2)
