"""An order on a live queue, with programs that stand in for Slurm's."""

import json
import os
import signal
import stat
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv
from bfenv_site.live.apply import apply_order, lifts
from bfenv_site.live.squeue import Entry

NOW = int(time.time())
# Reads and changes queue.json in the folder of the programs: a dict of jobs by name.
PROGRAM = """\
#!{python}
import json, pathlib, re, sys
here = pathlib.Path(__file__).parent
name = pathlib.Path(__file__).name
calls = here / "calls.txt"
if (here / "down").exists():
    sys.exit("{name}: error: Unable to contact slurm controller (connect failure)")
jobs = json.loads((here / "queue.json").read_text())
if name == "sinfo":
    print("n1|8|idle|main\\nn2|8|idle|fat\\nn3|8|down*|main")
elif name == "squeue":
    for job, one in jobs.items():
        priority = one["priority"] - one["nice"]
        print(job, one["user"], one["state"], one["size"], one["limit"], one["submit"],
              one["start"], "0:10", priority, one["reason"], one["partition"], one["nodes"],
              one["nice"], sep="|")
else:
    text = sys.stdin.read()
    with calls.open("a") as file:
        file.write(json.dumps(text) + "\\n")
    for line in text.splitlines():
        names, nice = re.fullmatch("update JobId=(\\\\S+) Nice=(-?[0-9]+)", line).groups()
        for job in re.findall(r"[^,\\[]+(?:\\[[^]]*\\])?", names):
            if (here / "deny").exists():
                print("Access/permission denied for job", job, file=sys.stderr)
                continue
            job = next((own for own in jobs if re.sub("%[0-9]+", "", own) == job), None)
            if job is None:
                print("Invalid job id specified for job", job, file=sys.stderr)
            else:
                jobs[job]["nice"] = int(nice)
    (here / "queue.json").write_text(json.dumps(jobs))
"""


class Fake:
    """A folder of programs, and what they have been asked."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("squeue", "sinfo", "scontrol"):
            path = folder / name
            path.write_text(PROGRAM.replace("{python}", sys.executable).replace("{name}", name))
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.jobs = {}

    @property
    def jobs(self):
        return json.loads((self.folder / "queue.json").read_text())

    @jobs.setter
    def jobs(self, jobs):
        (self.folder / "queue.json").write_text(json.dumps(jobs))

    def submit(self, name, limit, **more):
        """Add a job, behind the others."""
        job = {
            "user": "ann",
            "state": "PENDING",
            "size": 1,
            "limit": f"{limit}:00",
            "submit": NOW + len(self.jobs),
            "start": "N/A",
            "priority": 1000 - len(self.jobs),
            "reason": "Priority",
            "partition": "main",
            "nodes": "",
            "nice": 0,
        }
        self.jobs = {**self.jobs, name: {**job, **more}}

    def change(self, name, **more):
        jobs = self.jobs
        jobs[name] |= more
        self.jobs = jobs

    @property
    def nice(self):
        return {name: job["nice"] for name, job in self.jobs.items()}

    @property
    def order(self):
        """The waiting jobs in Slurm's order."""
        jobs = [
            (job["nice"] - job["priority"], name)
            for name, job in self.jobs.items()
            if job["state"] == "PENDING"
        ]
        return [name for _, name in sorted(jobs)]

    @property
    def calls(self):
        path = self.folder / "calls.txt"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def fake(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return Fake(folder)


@pytest.fixture
def run(tmp_path):
    """Apply an order for some cycles, between which `then` is called with their number."""
    state = tmp_path / "state.json"

    def run(policy="easy-sjf", then=lambda cycle: None, **options):
        """Return the events of one cycle, or of as many as the options say."""
        events = []

        def log(event):
            events.append(event)
            if event["event"] == "cycle":
                then(len(events))

        options = {"cycles": 1, "every": 0.0, "state": state} | options
        apply_order(policy, log=log, **options)
        return events

    run.state = state
    return run


def entries(priorities):
    return [
        Entry(str(i), "ann", False, 1, 60, 0, -1, priority, "")
        for i, priority in enumerate(priorities)
    ]


@given(st.lists(st.integers(1, 9), max_size=8), st.integers(1, 9), st.randoms())
def test_lifts(priorities, depth, random):
    """The first jobs come in the wanted order before all others, and no smaller lift does it."""
    line = entries(priorities)
    random.shuffle(line)
    priority = {entry: entry.priority for entry in line}
    nice = lifts(line, priority, depth)

    def front(nice):
        return sorted(line, key=lambda job: (nice[job] - priority[job], int(job.name)))[:depth]

    assert front(nice) == line[:depth] and max(nice.values(), default=0) <= 0
    for entry in line:
        assert nice[entry] == 0 or front(nice | {entry: nice[entry] + 1}) != line[:depth]


def test_the_shadow_changes_nothing(fake, run):
    """It says both orders, and which lifts it would set."""
    for name, limit in (("1", 30), ("2", 20), ("3", 10)):
        fake.submit(name, limit)
    (event,) = run()
    assert event["slurm"] == ["1", "2", "3"] and event["wanted"] == ["3", "2", "1"]
    assert event["lift"] == {"3": 4, "2": 2} and event["age_limit"] is None
    assert not fake.calls and not run.state.exists()


def test_one_call_a_cycle(fake, run):
    """One call brings the order, none is made while it holds, and one gives all back."""
    for name, limit in (("1", 30), ("2", 20), ("3", 10)):
        fake.submit(name, limit)
    orders = []

    def then(cycle):
        orders.append(fake.order)
        if len(orders) == 4:
            fake.submit("4", 5)

    run(write=True, cycles=5, then=then)
    assert orders == [["1", "2", "3"], *[["3", "2", "1"]] * 3, ["3", "2", "1", "4"]]
    assert fake.calls[0] == "update JobId=3 Nice=-4\nupdate JobId=2 Nice=-2\n"
    assert len(fake.calls) == 3 and set(fake.nice.values()) == {0} and not run.state.exists()


def test_depth(fake, run):
    """Only the first jobs of the order are lifted, as many as the depth says."""
    for i in range(6):
        fake.submit(str(i + 1), 60 - i)
    (event,) = run(depth=2)
    assert event["lift"] == {"6": 7, "5": 5} and event["wanted"] == ["6", "5"]


def test_nice_of_others(fake, run):
    """A Nice that was there before, and one that changed since, stay; also at the end."""
    fake.submit("1", 30)
    fake.submit("2", 20, nice=-7)
    fake.submit("3", 10)
    fake.submit("4", 5)

    def then(cycle):
        if fake.nice["3"] < 0:
            fake.change("3", nice=0)
            fake.change("4", nice=-1)

    events = run(write=True, cycles=4, then=then)
    cycles = [event for event in events if event["event"] == "cycle"]
    assert [event["left_alone"] for event in cycles] == [["2"], ["2"], *[["2", "3", "4"]] * 2]
    assert fake.nice == {"1": 0, "2": -7, "3": 0, "4": -1}


@pytest.mark.parametrize(
    "text",
    [
        '{"lifted": {"1_": [1e999]}}',
        '{"lifted": {"1_": [NaN]}}',
        '{"lifted": {"1_": [%s]}}' % ("9" * 5000),
        '{"lifted": ' + "[" * 100_000,
        '{"lifted": {"1_": 5}}',
        b"\xff\xfe",
    ],
    ids=("infinite", "nan", "digits", "nested", "number", "bytes"),
)
def test_odd_state(run, text):
    """A file of lifts with anything else in it is one clear error."""
    run.state.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(bfenv.BfenvError, match="not a file of bfenv apply"):
        run(write=True, cycles=0)


def test_large_state(run):
    """A file of lifts that is far too large, or no file, is refused."""
    run.state.touch()
    os.truncate(run.state, 2**40)
    with pytest.raises(bfenv.BfenvError, match="has more than 67,108,864 bytes"):
        run(write=True, cycles=0)
    run.state.unlink()
    os.mkfifo(run.state)
    with pytest.raises(bfenv.BfenvError, match="is not a regular file"):
        run(write=True, cycles=0)


def test_killed_run(fake, run):
    """The run after a killed one gives back what the file says, unless someone changed it."""
    for name in "1234":
        fake.submit(name, 10, nice=-3)
    run.state.write_text('{"lifted": {"1_": [0, -3], "2_": [-3], "3_": [-5]}}')
    with pytest.raises(bfenv.BfenvError, match="an earlier run has left jobs lifted"):
        run()
    assert run(write=True, cycles=0)[0] == {"event": "give back", "jobs": 2}
    assert fake.nice == {"1": 0, "2": 0, "3": -3, "4": -3} and not run.state.exists()
    run.state.write_text("[]")
    with pytest.raises(bfenv.BfenvError, match="not a file of bfenv apply"):
        run()


def test_one_run_writes(fake, run):
    """A second run with the same file is refused; after the first, signals are as they were."""
    fake.submit("1", 10)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    refused = []

    def then(_):
        with pytest.raises(bfenv.BfenvError, match="another run of bfenv apply uses it"):
            run(write=True)
        refused.append(run(write=False))

    run(write=True, then=then)
    assert refused and (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert not [path for path in run.state.parent.iterdir() if path.name.startswith("state")]


def test_slurm_may_be_away(fake, run):
    """A cycle without an answer is an event; the next one goes on."""
    down, events = fake.folder / "down", []
    for name, limit in (("1", 30), ("2", 20)):
        fake.submit(name, limit)

    def log(event):
        if event["event"] == "cycle" and not events:
            down.touch()
        elif event["event"] == "error":
            down.unlink()
        events.append(event)

    apply_order("easy-sjf", log=log, write=True, cycles=3, every=0.0, state=run.state)
    kinds = [event["event"] for event in events]
    assert kinds == ["cycle", "error", "cycle", "write", "cycle", "give back"]
    assert "Unable to contact slurm controller" in events[1]["message"]


def test_away_at_the_end(fake, run):
    """If Slurm is away at the end, the file says what is still lifted, and no run begins."""
    down = fake.folder / "down"
    for name, limit in (("1", 30), ("2", 20)):
        fake.submit(name, limit)
    with pytest.raises(bfenv.BfenvError, match="squeue: .*Unable to contact"):
        run(write=True, cycles=2, then=lambda cycle: down.touch() if fake.calls else None)
    assert json.loads(run.state.read_text())["lifted"] == {"2_": [0, -2]}
    assert fake.nice["2"] == -2
    with pytest.raises(bfenv.BfenvError, match="Unable to contact"):
        run(write=True)
    down.unlink()
    run(write=True, cycles=0)
    assert fake.nice["2"] == 0


def test_rights(fake, run):
    """If Slurm refuses a Nice below 0, the error says who may use --write."""
    fake.submit("1", 30)
    fake.submit("2", 20)
    (fake.folder / "deny").touch()
    with pytest.raises(bfenv.BfenvError, match="refuses a Nice below 0: --write is for root"):
        run(write=True)


def test_the_guard(fake, run):
    """A job past the limit of the guard comes first, whatever the order says."""
    fake.submit("1", 300, submit=NOW - 90_000)
    fake.submit("2", 10)
    (event,) = run("easy(order='estimate', guard=0.5, guard_scale=backlog)")
    assert event["wanted"] == ["1", "2"] and 43_200 < event["age_limit"] < 50_000
    (event,) = run("easy(order='estimate', guard=5)")
    assert event["wanted"] == ["2", "1"] and event["age_limit"] >= 5 * 6 * 3600


def test_users(fake, run):
    """The jobs that ended while it ran tell how long those of a user take."""
    fake.submit("1", 30)
    fake.submit("2", 31, user="eve")
    for name in "34":
        fake.submit(name, 31, user="eve", state="COMPLETED", start=NOW, nodes="n1")
    fake.submit("5", 99, state="CANCELLED", start=NOW)  # before it ran
    (event,) = run("easy(order='prediction')")
    assert event["wanted"] == ["2", "1"]


def test_arrays(fake, run):
    """Tasks that wait are lifted together; those that run are given back."""
    fake.submit("1", 30)
    fake.submit("5_[2-9%3]", 10)
    fake.submit("6_[0-12:4%2]", 20)  # scontrol knows no steps
    cycles = iter(range(9))

    def then(cycle):
        if next(cycles) == 1:
            fake.submit("5_1", 10, state="RUNNING", start=NOW, nice=-2, submit=NOW + 1)

    run(write=True, cycles=3, then=then)
    assert fake.calls[0] == "update JobId=5_[2-9] Nice=-2\nupdate JobId=6_[0,4,8,12] Nice=-3\n"
    assert "update JobId=5_1 Nice=0\n" in "".join(fake.calls) and set(fake.nice.values()) == {0}


def test_partitions_and_held_jobs(fake, run):
    """Each partition has an order of its own; a job that is held or too large is in none."""
    for name, limit, partition in (("1", 9, "main"), ("2", 8, "fat"), ("3", 7, "main,fat")):
        fake.submit(name, limit, partition=partition)
    fake.submit("4", 1, reason="JobHeldUser")
    fake.submit("5", 1, size=9)
    fake.submit("6", 1, state="RUNNING", submit=NOW - 300_000, start=NOW - 300_000)
    fat, main = run()
    assert fat["partition"] == "fat" and fat["wanted"] == ["2"]
    assert main["wanted"] == ["3", "1"] and main["slurm"] == ["1", "3"]
    (fat,) = run(partitions=["fat"])
    assert fat["lift"] == {}
    with pytest.raises(bfenv.BfenvError, match="sinfo lists no partition man"):
        run(partitions=["man"])


def test_outdated_reason(fake, run):
    """Node n1 takes jobs and n3 is down: job 2 waits for processors, and job 3 does not."""
    fake.submit("1", 5)
    fake.submit("2", 3, reason="ReqNodeNotAvail, UnavailableNodes:n1")
    fake.submit("3", 1, reason="ReqNodeNotAvail, UnavailableNodes:n[1,3]")
    cycle = next(event for event in run(cycles=1) if event["event"] == "cycle")
    assert cycle["wanted"] == ["2", "1"] and cycle["left_out"] == {"ReqNodeNotAvail": 1}


def test_held_job(fake, run):
    """A held job keeps its lift, because a new Nice would release it.

    The lift is given back later, even if the job was requeued.
    """
    fake.submit("1", 30)
    fake.submit("2", 20)
    held = {"submit": NOW + 9, "priority": -2, "reason": "launch failed requeued held"}  # -2 + 2
    with pytest.raises(bfenv.BfenvError, match="no held job can\\): 2"):
        run(write=True, cycles=2, then=lambda cycle: cycle == 3 and fake.change("2", **held))
    assert fake.nice["2"] == -2
    fake.change("2", priority=999)
    assert run(write=True, cycles=0) and fake.nice["2"] == 0


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("conservative", "is no order of EASY"),
        ("easy-sjf-shadow1", "is no order of EASY"),
        ("agent:network", "cannot decide pass by pass"),
        ("agent:trial-formula", "starts jobs for trials"),
        ("easy-aged-random", "draws random numbers"),
    ],
)
def test_no_order(policy, message, run):
    """A policy whose order cannot be applied to Slurm is refused, and the message says why."""
    with pytest.raises(bfenv.BfenvError, match=message):
        run(policy)


def test_no_slurm(run, monkeypatch, tmp_path):
    """Without Slurm's commands, one error names the command that is missing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(bfenv.BfenvError, match="squeue of Slurm is not installed here"):
        run()
