"""Logs of each system as they are written: fields, sizes, resources, and which of them to take."""

import gzip
import json
import lzma

import pytest

import bfenv
from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.records import STATUS
from bfenv_site.logs.formats import KINDS, find_format, read_log
from bfenv_site.logs.selection import Selection
from bfenv_site.logs.slurm import read_sacct
from site_helpers.samples import (
    JSON,
    LSF,
    NOON,
    PBS,
    SGE,
    TEXTS,
    XDMOD,
    XDMOD_JSON,
    lsf_line,
    slurm_job,
)
from tests.workloads.refusals import refused


def written(folder, text, name="log"):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", TEXTS)
def test_found(tmp_path, kind):
    """Each kind is known by its first line."""
    assert find_format(written(tmp_path, TEXTS[kind])) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("JobID|User\n1|ann\n", "sacct"),
        ("|".join(["7"] * 14) + "\n", "sacct"),
        ("when;cpus;ran\n1;2;3\n", "csv"),
        ('when,cpus,ran\n1,2,3\n1,2\n"1,2,3\n4,5,6\n', "csv"),
        (XDMOD_JSON, "xdmod"),
        (XDMOD_JSON.replace("\n", ""), "xdmod"),
    ],
)
def test_found_others(tmp_path, text, kind):
    """So are Slurm's dumps, with or without names, tables, and Open XDMoD's JSON."""
    assert find_format(written(tmp_path, text)) == kind


def test_not_found(tmp_path):
    """SWF needs no import, and what is no log is named by how it begins."""
    with refused(WorkloadError, "looks like SWF already"):
        find_format(written(tmp_path, "; Version: 2.2\n"))
    with refused(WorkloadError, "begins with 'hello'", *KINDS.values()):
        find_format(written(tmp_path, "hello\n"))
    with refused(WorkloadError, "unknown kind of log", "begins with '[1, 2]'"):
        find_format(written(tmp_path, "[1, 2]\n"))
    prose = "# Notes\n\nOne, two, and three.\nWhatever it says, no job is in it.\nNone, that is.\n"
    for text in (prose, prose.partition("\n\n")[2], "when,cpus\n1,2\n"):
        with refused(WorkloadError, "neither the columns of sacct", "CSV", "fields of SWF"):
            find_format(written(tmp_path, text))
    with refused(WorkloadError, "columns of fixed width", "sacct -a -X -D -P"):
        find_format(written(tmp_path, "JobID   JobName\n------- -------\n7       a\n"))
    for text in ("JobID,State,AllocTRES\n7,FAILED,cpu=1,mem=1G\n", " JobID  State\n 7  FAILED\n"):
        with refused(WorkloadError, "without '|' between its columns", "sacct -a -X -D -P"):
            find_format(written(tmp_path, text))
    with refused(WorkloadError, "a zip archive or a spreadsheet"):
        find_format(written(tmp_path, "PK\x03\x04, and more\n"))


def test_pbs(tmp_path):
    """Only E records are jobs; sizes are ncpus, or nodes times ppn."""
    trace = read_log(written(tmp_path, PBS), processors=64)
    assert trace.jobs.submit.tolist() == [0, 5]
    assert trace.jobs.size.tolist() == [4, 20]
    assert trace.runtime.tolist() == [120, 100]
    assert trace.jobs.estimate.tolist() == [600, 600]  # the second has the longest seen
    assert trace.records[:, 2].tolist() == [60, 195]
    assert trace.records[:, 10].tolist() == [1, 0]
    assert (trace.cleaning.other_record, trace.cleaning.never_started) == (3, 1)


@pytest.mark.parametrize("kind", ["sacct", "xdmod", "pbs", "sge", "lsf"])
def test_readers(tmp_path, kind):
    """`load_workload` reads a log of each kind directly, with its options and parts of it."""
    path = written(tmp_path, TEXTS[{"sacct": "sacct-json"}.get(kind, kind)])
    expected = read_log(path, processors=64, timezone="Europe/Berlin")
    loaded = bfenv.load_workload(f"{path}:reader={kind},processors=64,timezone=Europe/Berlin")
    assert loaded.hash == expected.hash and loaded.time_of_day == expected.time_of_day
    part = bfenv.load_workload(path, reader=kind, processors=64, job_count=1)
    assert len(part) == 1
    with pytest.raises(WorkloadError, match="has no option 'procesors'"):
        bfenv.load_workload(path, reader=kind, procesors=64)


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        ("exec_host=n1/5", 1),
        ("exec_host=n1/0+n1/1+n2/0", 3),
        ("exec_host=n1/0-3,7+n2/2", 6),
        ("exec_host=n1/0*8+n2/1*4", 12),
        ("Resource_List.nodes=2 exec_host=n1/0-1+n2/0-1", 4),
        ("Resource_List.nodect=2", 2),
    ],
)
def test_pbs_sizes(tmp_path, fields, size):
    """If the places that a job was given are known, they are its size."""
    times = f"qtime={NOON} start={NOON} end={NOON + 60}"
    path = written(tmp_path, f"01/01/2026 12:03:00;E;7.pbs;user=ann {fields} {times}\n")
    assert read_log(path, processors=64).jobs.size.tolist() == [size]


def test_sge(tmp_path):
    """Slots are processors, h_rt is the limit, and a task that never started is counted."""
    trace = read_log(written(tmp_path, SGE), processors=64)
    assert trace.jobs.submit.tolist() == [0, 5]
    assert trace.jobs.size.tolist() == [16, 1]
    assert trace.runtime.tolist() == [120, 30]
    assert trace.jobs.estimate.tolist() == [600, 600]
    assert trace.cleaning.never_started == 1


@pytest.mark.parametrize("rest", ["NONE:0:0:0", "NONE:0:0:0:NONE:root@n1:0:0:n1:NONE:qsub x:0.0"])
def test_sge_colons(tmp_path, rest):
    """A limit of hours, minutes and seconds has colons; the fields behind it are still found."""
    lines = [
        line.replace("h_rt=600,h_vmem=1G:0:NONE:0:0:0", f"{limit}:0.000000:{rest}")
        for line, limit in (
            (SGE.splitlines()[0], "h_rt=1:00:00"),
            (
                SGE.splitlines()[0].replace(":7:sge", ":9:sge"),
                "cpu=24:00:00,h_rt=2:00:00 -pe mpi 16",
            ),
            (SGE.splitlines()[0].replace(":7:sge", ":8:sge"), "h_rt=3:00:00:0.5:1.n1"),
        )
    ]
    trace = read_log(written(tmp_path, "\n".join(lines)), processors=64)
    assert (trace.jobs.estimate.tolist(), trace.cleaning.steps) == ([3600, 7200], 1)


def test_lsf(tmp_path):
    """Execution hosts are slots, one each or as 8*host; quotes may hold spaces and quotes."""
    trace = read_log(written(tmp_path, LSF), processors=64, longest="1h")
    assert trace.jobs.submit.tolist() == [0, 5]
    assert trace.jobs.size.tolist() == [4, 8]
    assert trace.runtime.tolist() == [120, 100]
    assert trace.jobs.estimate.tolist() == [3600, 3600]
    assert trace.records[:, 10].tolist() == [1, 0]
    assert (trace.cleaning.other_record, trace.cleaning.headers) == (1, 1)
    assert trace.cleaning.never_started == 1


@pytest.mark.parametrize("pairs", [(), ("1", '"one"', "2", '"two"')])
@pytest.mark.parametrize("hosts", [(), ("n1 9 0 5 1 0", 'n2 9 0 5 1 2 1 "pid" 2 "pid"')])
def test_lsf_limits(tmp_path, pairs, hosts):
    """Run limits and array indices are read where a line has them, after any pairs and hosts."""
    more = {"pairs": pairs, "hosts": hosts}
    lines = [lsf_line(3, 600, **more), lsf_line(4, 900, **more), lsf_line(4, 900)]
    ids = tmp_path / "ids"
    path = written(tmp_path, "\n".join([*lines, lsf_line(5, old=True)]))
    trace = read_log(path, processors=64, selection=Selection(ids=ids))
    assert trace.jobs.estimate.tolist() == [600, 900, 900]  # the last has the longest seen
    assert trace.cleaning.duplicates == 1
    assert ids.read_text().splitlines()[1:] == ['0,"7[3]",1', '1,"7[4]",2', '2,"7[5]",3']


def test_xdmod(tmp_path):
    """Columns are known by their names; a resource is a cluster, and the queue the partition."""
    path, ids = written(tmp_path, XDMOD), tmp_path / "ids"
    trace = read_log(path, "xdmod", processors=64, selection=Selection(ids=ids, names=True))
    assert trace.jobs.submit.tolist() == [0, 5]
    assert trace.jobs.size.tolist() == [4, 8]
    assert trace.runtime.tolist() == [120, 30]
    assert trace.jobs.estimate.tolist() == [600, 600]
    assert trace.records[:, 2].tolist() == [60, 60]
    assert trace.cleaning.no_runtime == 1
    assert "Partition: 1 gpu" in trace.header
    assert ids.read_text().splitlines()[1:] == ['0,"7",1', '1,"8[3]",2']
    assert read_log(path, "xdmod", processors=64, resource="nodes").jobs.size.tolist() == [1, 2]
    assert read_log(path, "xdmod", processors=64, eligible=True).jobs.submit.tolist() == [0, 25]
    with refused(WorkloadError, "no line of cluster 'thin' is a job (ran for 0 s"):
        read_log(path, "xdmod", processors=64, selection=Selection(cluster="thin"))


def test_no_xdmod(tmp_path):
    """A table that is no such export is refused with the columns that it lacks."""
    with refused(WorkloadError, "no column 'Submit Time (Timestamp)'"):
        read_log(written(tmp_path, "a,b\n1,2\n"), "xdmod", processors=4)


@pytest.mark.parametrize("resource", ["cores", "nodes"])
@pytest.mark.parametrize("eligible", [False, True])
def test_xdmod_json(tmp_path, resource, eligible):
    """The export as JSON has the same jobs as the export as CSV."""
    traces = [
        read_log(
            written(tmp_path, text),
            "xdmod",
            processors=64,
            resource=resource,
            eligible=eligible,
            selection=Selection(names=True),
        )
        for text in (XDMOD, XDMOD_JSON)
    ]
    assert traces[0].hash == traces[1].hash
    assert traces[0].header == traces[1].header
    assert (traces[0].records == traces[1].records).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (XDMOD_JSON[:-1], "not JSON"),
        (XDMOD_JSON.replace("[\n", "[\n{\n", 1), "not JSON"),
        ('[\n["a", "b"]\n]', "no column 'Submit Time (Timestamp)'"),
        ("[\n]", "no column 'Submit Time (Timestamp)'"),
        (XDMOD_JSON.replace('"7",', "7, 7,"), "log:2: not a list of 19 values"),
        (XDMOD_JSON.replace("\n]", ",\n5\n]"), "log:5: not a list of 19 values"),
        (XDMOD_JSON.replace(str(NOON + 5), "[5]"), "log:3: submit: '[5]' is not a time"),
    ],
)
def test_no_xdmod_json(tmp_path, text, message):
    """What is not such a list is refused, with the line of a malformed record."""
    with refused(WorkloadError, message):
        read_log(written(tmp_path, text), "xdmod", processors=64)


def test_many_columns(tmp_path):
    """Of many columns, or long names, the message shows the first and how many there are."""
    names = [f"column {i} {'x' * 50}" for i in range(100)]
    with refused(WorkloadError, "it has 'column 0 ", "and 70 more") as caught:
        read_log(written(tmp_path, ",".join(names) + "\n"), "xdmod", processors=64)
    assert "'column 29 " in str(caught.value) and "'column 30 " not in str(caught.value)
    assert len(str(caught.value)) < 2_000


def test_json(tmp_path):
    """Wrapped and plain numbers, states and lists of them mean the same."""
    ids = tmp_path / "ids.csv"
    trace = read_log(
        written(tmp_path, JSON), processors=64, selection=Selection(ids=ids, names=True)
    )
    assert trace.jobs.submit.tolist() == [0, 5]
    assert trace.jobs.size.tolist() == [4, 4]
    assert trace.runtime.tolist() == [120, 30]
    assert trace.jobs.estimate.tolist() == [600, 60]
    assert trace.cleaning.pending == 1
    assert ids.read_text().splitlines() == ["job,id,number", '0,"7",1', '1,"8_3",2']
    assert "Partition: 1 gpu" in trace.header


def test_strange_json(tmp_path):
    """What is allocated counts only where it has the expected form."""
    strange = {"allocated": [{"type": {}, "count": 9}, 5, {"type": "cpu", "count": 3}]}
    path = written(tmp_path, json.dumps({"jobs": [slurm_job(tres=strange)]}))
    assert read_log(path, processors=64).jobs.size.tolist() == [3]


@pytest.mark.parametrize(
    ("resource", "size"), [("gpus", 2), ("memory", 8), ("nodes", 1), ("cores", 4)]
)
def test_resources(tmp_path, resource, size):
    """A processor may be a GPU, a GiB of memory or a node."""
    trace = read_log(written(tmp_path, JSON), processors=64, resource=resource)
    assert trace.jobs.size.tolist() == [size, size]


@pytest.mark.parametrize(
    ("capacity", "size"),
    [
        ("cpu=128,mem=64G,gpu=8", 32),  # 2 of 8 GPUs are a quarter of the partition
        ("cpu=128,mem=16G,gpu=8", 64),  # 8 of 16 GiB are half of it
        ("long: cpu=1; gpu: cpu=8,gpu=1000", 4),
        ("cpu=100,gpu=7", 29),  # rounded up
    ],
)
def test_dominant(tmp_path, capacity, size):
    """A job's size is its largest share of any resource, in cores of its partition."""
    trace = read_log(written(tmp_path, JSON), resource="dominant", capacity=capacity)
    assert trace.jobs.size.tolist() == [size, size]


def test_dominant_needs_capacity(tmp_path):
    """There are no shares if the capacities of the jobs' partition are unknown."""
    path = written(tmp_path, JSON)
    with refused(WorkloadError, "needs the capacity"):
        read_log(path, resource="dominant")
    with refused(WorkloadError, "no capacity of 'gpu'"):
        read_log(path, resource="dominant", capacity="long: cpu=4")
    with refused(WorkloadError, "no positive cpu"):
        read_log(path, resource="dominant", capacity="mem=4G")


def test_capacity_of_selection(tmp_path):
    """Partitions that are not taken need no capacity."""
    end = f"{NOON}|{NOON}|{NOON + 9}|COMPLETED|cpu=4|5"
    lines = (f"1|a|{end}", f"2|b|{end}")
    path = tmp_path / "dump.txt"
    columns = "JobID|Partition|Submit|Start|End|State|AllocTRES|Timelimit"
    path.write_text("\n".join([columns, *lines]) + "\n")
    dominant = {"resource": "dominant", "capacity": "a: cpu=8"}
    with refused(WorkloadError, "no capacity of 'b'"):
        read_sacct(path, **dominant)
    trace = read_sacct(path, **dominant, selection=Selection(("a",)))
    assert (len(trace), trace.cleaning.other_partition) == (1, 1)


@pytest.mark.parametrize(
    ("tres", "size"),
    [
        ("cpu=4,gres/gpu=3", 3),
        ("cpu=4,gres/gpu=3,gres/gpu:a100=3", 3),
        ("cpu=4,gres/gpu:a100=2,gres/gpu:v100=1", 3),
    ],
)
def test_typed_gpus(tmp_path, tres, size):
    """GPUs of named types count where their total is not in the log."""
    path = tmp_path / "dump.txt"
    path.write_text(
        "JobID|Submit|Start|End|State|AllocTRES|Timelimit\n"
        f"1|{NOON}|{NOON}|{NOON + 9}|COMPLETED|{tres}|5\n"
    )
    assert read_sacct(path, processors=8, resource="gpus").jobs.size.tolist() == [size]


def sacct(folder, *lines):
    columns = "JobID|Partition|Cluster|Submit|Start|End|State|AllocCPUS|Timelimit"
    return written(folder, "\n".join([columns, *lines]) + "\n")


LINES = [
    f"1|cpu|a|{NOON}|{NOON}|{NOON + 50}|COMPLETED|1|00:01:00",
    f"2|gpu|a|{NOON + 3600}|{NOON + 3600}|{NOON + 3650}|COMPLETED|1|UNLIMITED",
    f"3|gpu|b|{NOON + 7200}|{NOON + 7200}|{NOON + 7250}|COMPLETED|1|00:02:00",
]


@pytest.mark.parametrize(
    ("selection", "jobs", "count"),
    [
        (Selection(partitions=("gpu",)), [2, 3], "other_partition"),
        (Selection(cluster="b"), [3], "other_partition"),
        (Selection(since="2026-01-01T13:00:00"), [2, 3], "other_time"),
        (Selection(until="2026-01-01T13:00:00"), [1], "other_time"),
        (Selection(since="2026-01-02"), [], "other_time"),
    ],
)
def test_selection(tmp_path, selection, jobs, count):
    """Jobs of other partitions, clusters and times are left out and counted."""
    path = sacct(tmp_path, *LINES)
    ids = tmp_path / "ids.csv"
    if not jobs:
        with refused(WorkloadError, "submitted outside the time asked for: 3"):
            read_sacct(path, processors=4, selection=selection)
        return
    trace = read_sacct(path, processors=4, selection=selection._replace(ids=ids))
    assert ids.read_text().splitlines()[1:] == [
        f'{i},"{job}",{i + 1}' for i, job in enumerate(jobs)
    ]
    assert getattr(trace.cleaning, count) == 3 - len(jobs)


@pytest.mark.parametrize("name", ["since", "until"])
def test_no_date(tmp_path, name):
    """A wrong date is refused, and the message names the option and the date."""
    with refused(WorkloadError, f"{name}: '2026-99' is not a date"):
        read_sacct(sacct(tmp_path, *LINES), selection=Selection(**{name: "2026-99"}))


def test_unknown_partition(tmp_path):
    """A partition or cluster without jobs is an error that lists those there are, or why."""
    with refused(WorkloadError, "'fat'", "cpu, gpu"):
        read_sacct(sacct(tmp_path, *LINES), selection=Selection(partitions=("fat",)))
    with refused(WorkloadError, "no jobs in a cluster 'c'; there are a, b"):
        read_sacct(sacct(tmp_path, *LINES), processors=4, selection=Selection(cluster="c"))
    waiting = f"4|fat|a|{NOON}|Unknown|Unknown|PENDING|1|00:01:00"
    with refused(WorkloadError, "no line of partition 'fat' is a job (still waiting: 1)"):
        read_sacct(sacct(tmp_path, *LINES, waiting), selection=Selection(partitions=("fat",)))


def test_dropped_of_others(tmp_path):
    """Lines of other partitions and clusters are counted as such, whatever else they are."""
    waiting = [
        f"{job}|{part}|{cluster}|{NOON}|Unknown|Unknown|PENDING|1|00:01:00"
        for job, part, cluster in ((4, "cpu", "a"), (5, "cpu,gpu", "b"), (6, "gpu", "a"))
    ]
    path = sacct(tmp_path, *LINES, *waiting)

    def dropped(**chosen):
        cleaning = read_sacct(path, processors=4, selection=Selection(**chosen)).cleaning
        return cleaning.pending, cleaning.other_partition

    assert dropped() == (3, 0)
    assert dropped(partitions=("gpu",)) == (2, 2)
    assert dropped(partitions=("cpu",)) == (2, 3)
    assert dropped(cluster="b") == (1, 4)


def test_clusters(tmp_path):
    """Clusters number their own jobs, so lines of equal ids in two clusters are two jobs."""
    path = sacct(tmp_path, LINES[0], LINES[0].replace("|a|", "|b|"), LINES[0])
    trace = read_sacct(path, processors=4)
    assert (len(trace), trace.cleaning.duplicates, trace.cleaning.requeued) == (2, 1, 0)


def test_short_limit(tmp_path):
    """A limit for jobs without one that most of them exceed is probably in another unit."""
    with pytest.warns(UserWarning, match="1 of 1 jobs without a limit ran longer .* 48 s"):
        read_sacct(sacct(tmp_path, *LINES), processors=4, longest="48s")


def test_limits_by_partition(tmp_path):
    """Limits of partitions are for their jobs without one; the others have the longest seen."""
    lines = [*LINES, LINES[0].replace("1|cpu", "4|cpu", 1).replace("00:01:00", "UNLIMITED")]
    path = sacct(tmp_path, *lines)
    trace = read_sacct(path, processors=4, longest="gpu=1-00:00:00")
    assert trace.jobs.estimate.tolist() == [60, 60, 86_400, 120]
    trace = read_sacct(path, processors=4, longest="gpu=2h, cpu=10s")
    assert trace.jobs.estimate.tolist() == [60, 50, 7200, 120]  # no shorter than it ran


@pytest.mark.parametrize(
    ("longest", "message"),
    [
        ("fat=2d", "no jobs in a partition 'fat'; there are cpu, gpu"),
        ("gpu=soon", "'soon'"),
        ("48", "longest: 48 of what? Write 48h, 48min or 48s"),
        ("gpu=1d,gpu=2d", "'gpu=2d' is not one partition's limit"),
        ("gpu=1d,2d", "'2d' is not one partition's limit"),
    ],
)
def test_wrong_limits(tmp_path, longest, message):
    """An error names the limit that cannot be read, or that belongs to no partition."""
    with refused(WorkloadError, message):
        read_sacct(sacct(tmp_path, *LINES), processors=4, longest=longest)


def test_unit(tmp_path):
    """If most jobs exceed their limits, these may be in another unit."""
    lines = [LINES[0].replace("00:01:00", "00:00:10")] * 60
    lines = [f"{i}{line[1:]}" for i, line in enumerate(lines, start=1)]
    with pytest.warns(UserWarning, match="60 of 60 jobs ran longer than their limit"):
        read_sacct(sacct(tmp_path, *lines), processors=64)


def test_without_names(tmp_path):
    """A dump of sacct -n has the columns of the command, or those that are given."""
    values = f"7|ann|chem|cpu|normal|{NOON}|{NOON}|{NOON}|{NOON + 50}|50|5|COMPLETED|4|1"
    assert read_sacct(written(tmp_path, values), processors=4).jobs.size.tolist() == [4]
    fields = "JobID,Partition,Cluster,Submit,Start,End,State,AllocCPUS,Timelimit"
    trace = read_sacct(written(tmp_path, "\n".join(LINES)), processors=4, fields=fields)
    assert len(trace) == 3


def test_zstd(tmp_path):
    """zstd is read with pyarrow."""
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "log.zst"
    with arrow.output_stream(str(path), compression="zstd") as file:
        file.write(PBS.encode())
    assert len(read_log(path, processors=64)) == 2
    path.write_bytes(path.read_bytes()[:-9])
    with refused(WorkloadError, "log.zst"):
        read_log(path, processors=64)


@pytest.mark.parametrize(("pack", "kind"), [(lzma.compress, "xz"), (gzip.compress, "gzip")])
def test_damaged(tmp_path, pack, kind):
    """A compressed file that is damaged, or ends too early, is named as one."""
    path, whole = tmp_path / "log", pack(PBS.encode())
    path.write_bytes(whole[:-9])
    with refused(WorkloadError, "log: the compressed file is cut off; download or copy it again"):
        read_log(path, processors=64)
    path.write_bytes(whole[:20] + bytes(9) + whole[29:])
    with refused(WorkloadError, f"log: corrupted {kind} file"):
        read_log(path, processors=64)


def test_unknown_state(tmp_path):
    """A job of a state that Slurm does not have is one that ran, and is counted."""
    states = ("COMPLETED", "CANCELLED by 7", "OUT_OF_MEMORY", "CONFUSED")
    lines = (f"{i}|{NOON}|{NOON}|{NOON + 9}|{state}|1|5" for i, state in enumerate(states, 1))
    path = tmp_path / "dump.txt"
    path.write_text("\n".join(["JobID|Submit|Start|End|State|AllocCPUS|Timelimit", *lines]) + "\n")
    trace = read_sacct(path, processors=8)
    assert (len(trace), trace.cleaning.unknown_state) == (4, 1)
    assert trace.records[:, STATUS].tolist() == [1, 5, 0, -1]
