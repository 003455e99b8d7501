"""`bfenv workloads import`: what it prints, writes and refuses."""

import csv
import re
import shlex
from pathlib import Path

import pytest

import bfenv
from bfenv_site.reports.parties import divisions

DUMP = """JobID|User|Submit|Start|End|State|AllocCPUS|Timelimit
1|ann|1767268800|1767268810|1767268910|TIMEOUT|4|00:01:00
1.batch|ann|1767268800|1767268810|1767268910|COMPLETED|4|
2|bob|1767268900|Unknown|Unknown|PENDING|0|1-00:00:00
3|bob|1767269000|1767269010|1767269910|COMPLETED|2|UNLIMITED
"""
PARTS = """JobID|Partition|Submit|Start|End|State|AllocCPUS|Timelimit
1|a|1767268800|1767268810|1767268910|COMPLETED|4|00:05:00
2|b|1767268900|1767268910|1767268950|COMPLETED|2|UNLIMITED
"""
TABLE = """when;cpus;ran
1767268800;4;100
then;4;100
"""


@pytest.fixture
def command(tmp_path, monkeypatch, run):
    """Run the command in a folder with a log of either kind: (status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    Path("dump.txt").write_text(DUMP)
    Path("jobs.csv").write_text(TABLE)
    return lambda text: run("workloads", "import", *shlex.split(text))


def test_import(command):
    """The command writes a workload, prints what was dropped, and what to type next."""
    _, out, err = command("dump.txt --out 'my site.swf.gz' --processors 8 --timezone Europe/Prague")
    assert err == ""
    words = [" ".join(re.findall(r"[\w ]+", row)).split() for row in out.split("\n")]
    for row in (
        "jobs 2",
        "dropped 1 job step",
        "dropped 1 still waiting",
        "of the jobs 1 no estimate",
        "of the jobs 1 runtime cut to the estimate",
    ):
        assert row.split() in words
    assert "dump.txt: 4 lines" in out
    assert "The jobs ask for more than the machine can do" in out
    assert "1 job without a limit; the longest of the partition stands in" in out
    assert "my site.swf.gz: 2 jobs on 8 processors in 3.3 min, offered load 1.27" in out
    assert "Next: bfenv report 'my site.swf.gz' --out report.html" in out
    trace = bfenv.load_workload("my site.swf.gz")
    assert trace.jobs.submit.tolist() == [0, 200]
    assert trace.jobs.estimate.tolist() == [60, 900]
    assert trace.time_of_day == 13 * 3600


def test_options(command):
    """The command has the options of the readers, and passes them on."""
    command("dump.txt -o a.swf --processors 8 --longest 1d --overrun extend --eligible")
    assert bfenv.read_swf("a.swf").jobs.estimate.tolist() == [100, 86_400]
    assert "NNodes" in command("dump.txt -o b.swf --processors 8 --resource nodes")[2]


def test_a_file_for_each(command):
    """A file of jobs, and one of ids, for each partition; limits may be those of one of them."""
    Path("parts.txt").write_text(PARTS)
    options = "--split-partitions --processors a=4,b=4 --longest b=2d --ids ids.csv"
    assert command(f"parts.txt -o c.swf {options}")[2] == ""
    assert bfenv.read_swf("c-a.swf").jobs.estimate.tolist() == [300]
    assert bfenv.read_swf("c-b.swf").jobs.estimate.tolist() == [172_800]
    assert Path("ids-a.csv").read_text() == 'job,id,number\n0,"1",1\n'
    assert Path("ids-b.csv").read_text() == 'job,id,number\n0,"2",1\n'
    assert "no jobs in a partition 'x'" in command("parts.txt -o d.swf --longest x=2d")[2]


def test_table(command):
    """A table needs a map; its malformed lines are skipped with --skip only."""
    options = "--from csv jobs.csv -o a.swf --processors 8 --map submit=when,size=cpus,runtime=ran"
    status, _, err = command(options)
    assert status == 2 and "jobs.csv:3: submit: 'then'" in err
    assert not Path("a.swf").exists()
    _, out, err = command(f"{options} --skip --delimiter ';'")
    assert "malformed line" in out
    assert err.startswith("bfenv: 1 malformed line") and "jobs.csv:3: submit: 'then'" in err
    assert err.count("\n") == 1
    assert len(bfenv.read_swf("a.swf")) == 1


def test_force(command):
    """An existing file is overwritten with --force only."""
    Path("a.swf").write_text("mine")
    assert "--force" in command("dump.txt -o a.swf --processors 8")[2]
    assert Path("a.swf").read_text() == "mine"
    command("dump.txt -o a.swf --processors 8 --force")
    assert len(bfenv.read_swf("a.swf")) == 2


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ("dump.txt -o a.swf", "at least 4"),
        ("dump.txt -o a.txt --processors 8", "a.txt"),
        ("dump.txt -o none/a.swf --processors 8", "none"),
        ("dump.txt -o a.swf --processors 8 --map submit=x", "--map"),
        ("dump.txt -o a.swf --processors 8 --longest soon", "'soon'"),
        ("jobs.csv -o a.swf --from csv", "--map"),
        ("jobs.csv -o a.swf --from csv --eligible", "--eligible"),
        ("jobs.csv -o a.swf --from csv --map submit", "'submit'"),
        ("jobs.csv -o a.swf --from csv --map size=a,size=b", "size"),
        ("jobs.csv -o a.swf --from parquet --map submit=a", "jobs.csv"),
    ],
)
def test_refusals(command, options, value):
    """What cannot be imported is one line that names it, and nothing is written."""
    status, out, err = command(options)
    assert (status, out) == (2, "") and value in err and err.count("\n") == 1
    assert not list(Path().glob("**/a.*"))


PARTITIONS = """JobID|User|Partition|Submit|Start|End|State|AllocCPUS|Timelimit
7|ann|cpu|1767268800|1767268800|1767268900|COMPLETED|4|00:10:00
8|bob|gpu/a|1767268900|1767268950|1767269000|COMPLETED|2|UNLIMITED
9|bob|cpu|1767269000|1767269010|1767269910|COMPLETED|2|01:00:00
"""


def test_clusters(command):
    """Clusters share a machine with a word, or one is chosen."""
    lines = PARTITIONS.splitlines()
    named = [f"{line}|{name}" for line, name in zip(lines, ("Cluster", "a", "b", "a"), strict=True)]
    Path("dump.txt").write_text("\n".join(named) + "\n")
    _, out, _ = command("dump.txt -o a.swf --processors 8")
    assert "Jobs of 2 clusters share one machine here (a, b): see --cluster." in out
    _, out, _ = command("dump.txt -o b.swf --processors 8 --cluster b")
    assert "share one machine" not in out and len(bfenv.read_swf("b.swf")) == 1


def test_partitions(command):
    """Partitions share a machine with a word, or are chosen, or have a file each."""
    Path("dump.txt").write_text(PARTITIONS)
    _, out, _ = command("dump.txt -o a.swf --processors 8 --ids ids.csv")
    assert "2 partitions share one machine here (cpu, gpu/a)" in out
    assert "Local times" not in out  # seconds since 1970 are not
    assert Path("ids.csv").read_text().splitlines()[1:] == ['0,"7",1', '1,"8",2', '2,"9",3']
    _, out, _ = command("dump.txt -o b.swf --processors 8 --partition gpu/a --timezone UTC")
    assert "in another partition or cluster" in out
    assert "share one machine" not in out and "Local times" not in out
    assert len(bfenv.read_swf("b.swf")) == 1
    status, _, _ = command("dump.txt -o c.swf.gz --split-partitions --processors cpu=6,gpu/a=2")
    assert status == 0
    assert bfenv.read_swf("c-cpu.swf.gz").processors == 6
    assert len(bfenv.read_swf("c-gpu-a.swf.gz")) == 1
    status, _, err = command("dump.txt -o d.swf --split-partitions --processors cpu=6,CPU=2")
    assert status == 2 and "no jobs in a partition 'CPU'" in err
    assert not list(Path().glob("d-*"))  # nothing is written before all are read


def test_users(command):
    """A side table that only its owner can read has the names behind the numbers of the log."""
    Path("dump.txt").write_text(PARTITIONS.replace("|ann|", '|an"n, x|'))
    _, out, _ = command("dump.txt -o a.swf --processors 8 --users who.csv")
    assert "who.csv: the names of users and groups; only you can read it" in out
    assert Path("who.csv").stat().st_mode & 0o777 == 0o600
    with open("who.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [
        {"kind": "user", "number": "1", "name": 'an"n, x'},
        {"kind": "user", "number": "2", "name": "bob"},
    ]
    log = Path("a.swf").read_text()
    assert [line.split()[11] for line in log.splitlines() if line[0] != ";"] == ["1", "2", "2"]
    assert "bob" not in log and "ann" not in log
    assert set(divisions(bfenv.read_swf("a.swf"))["user"]) == {"user 1", "user 2"}
    status, _, err = command("dump.txt -o b.swf --processors 8 --users who.csv")
    assert (status, err) == (2, "bfenv: who.csv exists; use --force to overwrite it\n")
    _, _, err = command("dump.txt -o b.swf --processors 8 --users x.csv --ids x.csv")
    assert err == "bfenv: --out, --ids and --users must be different files, got x.csv\n"
    command("dump.txt -o c.swf --processors gpu/a=2,cpu=8 --split-partitions --users part.csv")
    assert Path("part-gpu-a.csv").read_text() == 'kind,number,name\n"user",1,"bob"\n'
    assert Path("part-cpu.csv").stat().st_mode & 0o777 == 0o600


def test_partition_twice(command):
    """A partition whose size is given twice is refused; neither size wins silently."""
    _, _, err = command("dump.txt -o c.swf --split-partitions --processors a=64,b=8,a=16")
    assert err == "bfenv: --processors: 'a=16' comes twice\n"


@pytest.mark.parametrize("options", ["--ids ./dump.txt", "--users link.txt", "--ids down.csv"])
def test_input_kept(command, options):
    """The log and the file of outages are never overwritten, under whatever name."""
    Path("link.txt").symlink_to("dump.txt")
    Path("down.csv").write_text("2026-01-02,2026-01-03\n")
    status, _, err = command(
        f"dump.txt -o a.swf --processors 8 --outages down.csv --force {options}"
    )
    name = options.split()[1].removeprefix("./")
    assert (status, err) == (2, f"bfenv: {name} is read by this import; write to another file\n")
    assert Path("dump.txt").read_text() == DUMP and not Path("a.swf").exists()


def test_unit_of_dates(command):
    """A unit behind the column of a time is refused if the column has dates."""
    Path("jobs.csv").write_text("when,cpus,ran\n2026-01-01T12:00:00,4,100\n")
    _, _, err = command(
        "jobs.csv -o a.swf --processors 8 --map submit=when:min,size=cpus,runtime=ran"
    )
    assert "'2026-01-01T12:00:00' is not a number; leave out the unit of its column" in err


def test_local_times(command):
    """A note says that local times were read as UTC, unless there are none or you give the zone."""
    local = re.sub("17672[0-9]{5}", "2026-01-01T12:00:00", PARTITIONS).replace(
        "12:00:00|C", "12:30|C"
    )
    note = "Local times were read as UTC: see --timezone."
    for text, is_local in (
        (local, True),
        (PARTITIONS, False),
        (local.replace("12:00:00", "12:00:00+01:00").replace("12:30", "12:30:00Z"), False),
    ):
        Path("dump.txt").write_text(text)
        status, out, _ = command("dump.txt -o a.swf --processors 8 --force")
        assert status == 0 and (note in out) == is_local
    Path("dump.txt").write_text(local)
    assert note not in command("dump.txt -o a.swf --processors 8 --force --timezone UTC")[1]


def test_outages(command):
    """Outages from a file are in the workload, and told."""
    Path("down.csv").write_text("begin,end\n1767268850,1767268950\n")
    _, out, _ = command("dump.txt -o a.swf --processors 8 --outages down.csv")
    assert "An outage of 100 s is in the file" in out
    assert "  2026-01-01 12:00 to 2026-01-01 12:02 (UTC)\n" in out
    assert [tuple(outage) for outage in bfenv.read_swf("a.swf").outages] == [(50, 150, 8)]
    _, out, _ = command("dump.txt -o b.swf --processors 8 --outages find")
    assert "outage" not in out


def test_recognized(command):
    """The kind of a log is found; options of another kind are refused."""
    Path("acct").write_text(
        "01/01/2026 12:03:00;E;7.pbs;user=ann queue=q qtime=1767268800 start=1767268860 "
        "Resource_List.ncpus=4 Resource_List.walltime=00:10:00 end=1767268980 Exit_status=0\n"
    )
    status, out, _ = command("acct -o a.swf --processors 8")
    assert status == 0 and "1 job on 8 processors" in out
    for options, message in (
        ("acct -o b.swf --processors 8 --resource gpus", "--resource needs --from sacct"),
        ("acct -o b.swf --processors 8 --fields JobID", "--fields needs --from sacct"),
        ("a.swf -o b.swf --processors 8", "looks like SWF already"),
        (
            "acct -o b.swf --processors some",
            "--processors must be a whole number of 1 or more, got 'some'",
        ),
        ("acct -o b.swf --processors 8 --split-partitions", "NAME=N"),
        ("acct -o b.swf --processors 8 --since soon", "'soon'"),
        (
            "acct -o b.swf --processors 8 --since 2026-02-01 --until 2026-01-01",
            "until '2026-01-01' is not after since '2026-02-01'",
        ),
        (
            "jobs.csv -o b.swf --processors 8",
            "jobs.csv: which column is which? Add --map submit=Submitted,size=CPUs,...; "
            "it has when, cpus, ran",
        ),
    ):
        status, out, err = command(options)
        assert (status, out) == (2, "") and message in err and err.count("\n") == 1
    assert not Path("b.swf").exists()


def test_prose(command):
    """A text with commas that is no log is refused by name, and not taken for a table."""
    Path("notes.md").write_text("# Notes\n\nOne, two, and three.\nNone of it, though, is a job.\n")
    status, out, err = command("notes.md -o a.swf --processors 8")
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("bfenv: notes.md: unknown kind of log: it has neither the columns of ")
    assert "sacct" in err and "CSV" in err and "SWF" in err


def test_without_names(command):
    """A dump of sacct without column names is recognized, and read with those of --fields."""
    names, *lines = PARTITIONS.splitlines()
    Path("dump.txt").write_text("\n".join(lines) + "\n")
    status, _, err = command("dump.txt -o a.swf --processors 8")
    assert status == 2 and "without its line of column names" in err and "--fields" in err
    command(f"dump.txt -o a.swf --processors 8 --fields {names.replace('|', ',')}")
    assert len(bfenv.read_swf("a.swf")) == 3
    Path("dump.txt").write_text(f"{names}\n")
    assert "(there are none)" in command("dump.txt -o b.swf --processors 8")[2]
    Path("dump.txt").write_text(f"{names}\n{lines[0]}\n{lines[1][:20]}")
    assert "expected 9 (cut short?)" in command("dump.txt -o b.swf --processors 8")[2]
