"""Inputs made by grammars, most of which readers take, for each format that a site gives bfenv.

    python -m site_helpers.fuzz.grammars 200000

A second number is that of the first input of each format, 0 by default.

Each input has the layout of its format. A field has a usual value, and rarely an odd
one: a number of many digits, another type, nothing. So a reader gets far into most inputs before
it meets what is odd, and many inputs have nothing odd. The command tells how many inputs of each
format were read, and refused with a clear error. Anything else ends it with the input.
"""

import json
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bfenv.core.errors import BfenvError
from bfenv.workloads.logs.swf import read_swf
from bfenv_site.live.live_queue import forecaster_of_queue
from bfenv_site.live.nodes import on_nodes, read_sinfo
from bfenv_site.live.squeue import read_squeue
from bfenv_site.logs.outage_files import load_outages, windows_of
from bfenv_site.slurm.conf import read_conf
from bfenv_site.slurm.parameters import PARAMETERS, read_parameters
from site_helpers.fuzz import claims

NOON = 1_767_268_800  # 2026-01-01 12:00 UTC
RARE = (20, 200, 2000)  # in an input, one field of so many has an odd value
SLOWEST = 10  # seconds for an input, on a busy machine
NUMBERS = (
    "0", "-1", "007", "1e3", "1.5", "9" * 16, "9" * 20, "9" * 5000, "nan", "inf", "-inf", "4K", "٣",
    "", " ", "N/A", "NOT_SET", "INVALID", "None", "null", "true", "x", "1-9", "1,,5", "1:0",
)  # fmt: skip
TEXTS = (
    "", "a" * 3000, "\x1b[2J", "\0", "a|b", 'a"b', "a,b", "a;b", "=", "n[1-3", "n]1[", "[]",
    "n[9-1]", "9-1", "1,3,5,...", "n[1-99999999]", "\ud7ff", "naïve", "[1-9:0]", "{", "..", "%",
)  # fmt: skip
VALUES = (
    None, True, False, [], {}, [[]], [{}], {"a": 1}, "", "x", "9" * 5000, -1, 0, 10**30, 2**63,
    1e400, -1e400, float("nan"), 1.5, {"set": True}, {"set": True, "number": None},
    {"set": True, "number": 10**30}, {"set": True, "number": float("inf")},
    {"set": True, "infinite": True}, {"set": False, "number": 7},
)  # fmt: skip


class Grammar:
    """Draws the parts of an input; equal inputs for equal seeds."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.rare = self.random.choice(RARE)

    def odd(self) -> bool:
        """Whether the next field has an odd value."""
        return self.random.randrange(self.rare) == 0

    def one_of(self, values: Any) -> Any:
        return self.random.choice(values)

    def number(self, least: int, most: int) -> str:
        """A number as text, or what stands in its place."""
        return self.one_of(NUMBERS) if self.odd() else str(self.random.randint(least, most))

    def text(self, *usual: str) -> str:
        return self.one_of(TEXTS + NUMBERS) if self.odd() else self.one_of(usual)

    def value(self, usual: Any) -> Any:
        """A value of JSON."""
        return self.one_of(VALUES) if self.odd() else usual

    def integer(self, least: int, most: int) -> Any:
        return self.value(self.random.randint(least, most))

    def wrapped(self, least: int, most: int) -> Any:
        """A number as newer versions of Slurm wrap it."""
        number = self.integer(least, most)
        if self.random.randrange(3) == 0:
            return number
        return self.value({"set": True, "infinite": False, "number": number})

    def clock(self) -> str:
        hours, minutes = self.random.randrange(48), self.random.randrange(60)
        return self.text(f"{hours}:{minutes:02}:00", f"{minutes}:00", f"1-{hours % 24:02}:00:00")

    def when(self) -> int:
        return NOON + self.random.randrange(-(10**6), 10**5)

    def nodes(self) -> str:
        first = self.random.randrange(1, 8)
        return self.text(f"n{first}", f"n[{first}-{first + 2}]", f"n[1,{first}]", f"n{first},n8")

    def tasks(self) -> str:
        first = self.random.randrange(5)
        return self.text(
            f"{first}-{first + 9}", f"{first},7,9", f"{first}-20:5%2", f"{first}", "0-9%3"
        )

    def lines(self, line: Callable[[], str], most: int = 12) -> str:
        """Some lines, of which a rare one is cut, doubled or blank."""
        lines = []
        for _ in range(self.random.randint(1, most)):
            text = line()
            if self.odd():
                text = self.one_of((text[: len(text) // 2], f"{text}{text}", "", " "))
            lines.append(text)
        return "\n".join(lines) + "\n"


def squeue(g: Grammar) -> str:
    """What the command SQUEUE prints."""

    def line() -> str:
        """Return the line of a job."""
        name, state = str(g.random.randrange(1, 9999)), "PENDING"
        runs = g.random.randrange(2) == 0
        if runs:
            state = g.text("RUNNING", "RUNNING", "COMPLETING", "COMPLETED")
        elif g.random.randrange(3) == 0:
            name += f"_[{g.tasks()}]"
        start = g.number(NOON - 9999, NOON) if runs else g.text("N/A")
        fields = [
            g.text(name),
            g.text("ann", "bob"),
            state,
            g.number(1, 8),
            g.clock(),
            g.number(NOON - 99999, NOON),
            start,
            g.clock(),
            g.number(1, 4000),
            g.text("Priority", "Resources", "None", "Dependency", "(ReqNodeNotAvail, n[1-2])"),
            g.text("main", "fat", "main,fat"),
            g.nodes() if runs else "",
            g.number(-100, 100),
        ]
        return "|".join(fields)

    return g.lines(line)


def squeue_json(g: Grammar) -> str:
    """What `squeue --json` prints."""

    def job() -> dict[str, Any]:
        """Return the object of a job."""
        runs = g.random.randrange(2) == 0
        state = g.one_of(("RUNNING", "COMPLETING", "SUSPENDED") if runs else ("PENDING",))
        states = g.one_of((state, [state], [state, "POWER_UP_NODE"]))
        is_array = g.random.randrange(3) == 0
        fields = {
            "job_id": g.integer(1, 9999),
            "job_state": g.value(states),
            "cpus": g.wrapped(1, 8),
            "user_name": g.value("ann"),
            "time_limit": g.wrapped(1, 9999),
            "submit_time": g.wrapped(NOON - 99999, NOON),
            "start_time": g.wrapped(NOON - 9999, NOON),
            "priority": g.wrapped(1, 4000),
            "state_reason": g.value("Priority"),
            "partition": g.value("main"),
            "nodes": g.value(g.nodes() if runs else ""),
            "nice": g.integer(-9, 9),
            "hold": g.value(False),
            "array_job_id": g.wrapped(1, 99) if is_array else g.value({"set": True, "number": 0}),
            "array_task_id": g.value({"set": False, "number": 0}),
            "array_task_string": g.value(g.tasks()) if is_array and not runs else g.value(""),
            "array_max_tasks": g.wrapped(0, 5),
        }
        for name in list(fields):
            if g.odd():
                del fields[name]
        return fields

    jobs: Any = g.value([job() for _ in range(g.random.randint(1, 8))])
    return json.dumps({"jobs": jobs, "last_update": g.wrapped(NOON, NOON + 60)})


def sinfo(g: Grammar) -> str:
    """What the command SINFO prints."""
    states = ("idle", "mixed", "allocated", "down*", "drained", "draining", "idle~", "mixed$")

    def line() -> str:
        """Return the line of a node."""
        fields = [
            g.text(f"n{g.random.randint(1, 9)}"),
            g.number(1, 64),
            g.text(*states),
            g.text("main", "fat", "main*"),
        ]
        return "|".join(fields)

    return g.lines(line)


def slurm_conf(g: Grammar) -> str:
    """A slurm.conf."""
    lines = [
        f"ClusterName={g.text('site')}",
        f"SchedulerType={g.text('sched/backfill', 'sched/builtin')}",
        f"SelectType={g.text('select/cons_tres', 'select/linear')}",
        f"SchedulerParameters={parameters(g)}",
        "PriorityType=priority/multifactor",
        *(f"PriorityWeight{name}={g.number(0, 99999)}" for name in ("Age", "FairShare", "JobSize")),
        f"PriorityMaxAge={g.clock()}",
        f"PriorityDecayHalfLife={g.text('7-0', '14-00:00:00', '0')}",
        f"PriorityFlags={g.text('ACCRUE_ALWAYS', 'NO_FAIR_TREE,ACCRUE_ALWAYS', '')}",
        f"NodeName=n[1-{g.number(9, 40)}] CPUs={g.number(1, 128)} State={g.text('UNKNOWN')}",
        f"NodeName=DEFAULT Sockets={g.number(1, 2)} CoresPerSocket={g.number(1, 64)} "
        f"ThreadsPerCore={g.number(1, 2)} Feature={g.text('ib', 'ib,fat')}",
        f"NodeName={g.text('f[01-08]', 'f1,f2')}",
        f"NodeSet=set Feature={g.text('fat')} Nodes={g.text('n1')}",
        f"DownNodes={g.text('n2', 'n[3-4]')} State={g.text('DOWN', 'DRAIN')}",
        f"PartitionName=main Nodes={g.text('ALL', 'n[1-9]', 'set')} Default={g.text('YES')} "
        f"PriorityTier={g.number(1, 9)} PriorityJobFactor={g.number(1, 9)}",
        f"PartitionName=fat Nodes={g.text('ALL', 'n[2-5]')} OverSubscribe={g.text('EXCLUSIVE')}",
    ]
    if g.odd():
        g.random.shuffle(lines)
    if g.odd():
        lines[g.random.randrange(len(lines))] = g.one_of(TEXTS)
    return "\n".join(line if not g.odd() else f"{line} \\\n  # {line}" for line in lines)


def parameters(g: Grammar) -> str:
    """SchedulerParameters."""
    names = g.random.sample([*PARAMETERS], 3)
    items = [f"{n}={g.number(PARAMETERS[n].least, PARAMETERS[n].most)}" for n in names]
    return g.one_of(TEXTS) if g.odd() else ",".join([*items, g.text("bf_continue", "defer")])


def table(g: Grammar) -> str:
    """A table of jobs, most of which end within their limits: others look like another unit."""

    def line() -> str:
        """Return the line of a job."""
        submit = g.when()
        start = submit + g.random.randrange(9999)
        times = [str(submit), f"{submit}.5", f"2026-01-{g.random.randint(1, 28):02} 12:00:00"]
        return ",".join(
            [
                g.text(*times),
                g.number(1, 8),
                g.number(1, 3600),
                g.text(str(start)),
                g.text(str(start + 60)),
                g.text("3600", "1:00:00"),
                g.text("ann", '"b, c"'),
            ]
        )

    return "sub,n,ran,on,off,lim,who\n" + g.lines(line)


def sacct_json(g: Grammar) -> str:
    """What `sacct --json` prints."""

    def job() -> dict[str, Any]:
        """Return the object of a job."""
        submit = g.when()
        start = submit + g.random.randrange(9999)
        end = start + g.random.randrange(9999)
        tres = [
            {"type": g.value("cpu"), "count": g.integer(1, 8), "name": g.value("")},
            {"type": g.value("node"), "count": g.integer(1, 2)},
        ]
        return {
            "job_id": g.integer(1, 9999),
            "user": g.value("ann"),
            "group": g.value("g"),
            "partition": g.value("main"),
            "qos": g.value("normal"),
            "cluster": g.value("c"),
            "state": g.value({"current": g.value(g.one_of(("COMPLETED", ["TIMEOUT"])))}),
            "time": g.value(
                {
                    "submission": g.value(submit),
                    "eligible": g.value(submit),
                    "start": g.value(start),
                    "end": g.value(end),
                    "elapsed": g.value(end - start),
                    "limit": g.wrapped(1, 9999),
                }
            ),
            "tres": g.value({"allocated": g.value(tres), "requested": g.value(tres)}),
            "nodes": g.value(g.nodes()),
            "array": g.value({"job_id": g.integer(0, 3)}),
        }

    return json.dumps({"jobs": g.value([job() for _ in range(g.random.randint(1, 8))])})


XDMOD = (
    "Local Job Id",
    "Resource",
    "User ID",
    "Principal Investigator ID",
    "Quality of Service",
    "Submit Time (Timestamp)",
    "Start Time (Timestamp)",
    "End Time (Timestamp)",
    "Eligible Time (Timestamp)",
    "Nodes",
    "Cores",
    "GPUs",
    "Wall Time",
    "Requested Wall Time",
    "Queue",
)


def _xdmod_row(g: Grammar) -> list[str]:
    submit = g.when()
    start = submit + g.random.randrange(9999)
    ran = g.random.randrange(1, 9999)
    return [
        g.text("7", "8[3]"),
        g.text("fat"),
        g.number(1, 99),
        g.number(1, 9),
        g.text("normal"),
        g.text(str(submit)),
        g.text(str(start)),
        g.text(str(start + ran)),
        g.text(str(submit)),
        g.number(1, 4),
        g.number(1, 8),
        g.number(0, 2),
        g.text(str(ran)),
        g.number(60, 9999),
        g.text("gpu", "cpu"),
    ]


def xdmod(g: Grammar) -> str:
    """An export of Open XDMoD as CSV."""
    heading = ",".join(f'"{name}"' for name in XDMOD)
    return f"{heading}\n" + g.lines(lambda: ",".join(_xdmod_row(g)))


def xdmod_json(g: Grammar) -> str:
    """An export of Open XDMoD as JSON."""
    rows: list[Any] = [list(XDMOD)]
    for _ in range(g.random.randint(1, 8)):
        rows.append(g.value([g.value(cell) for cell in _xdmod_row(g)]))
    return json.dumps(rows)


def outages(g: Grammar) -> str:
    """Outages, or maintenance windows."""

    def line() -> str:
        """Return the line of an outage."""
        begin = g.when()
        end = str(begin + g.random.randrange(1, 10**5))
        first = str(begin)
        if g.random.randrange(2):
            first, end = f"2026-01-0{g.random.randint(1, 9)}T08:00:00+01:00", "2026-01-10T00:00:00Z"
        size = f",{g.number(1, 8)}" if g.random.randrange(2) else ""
        return f"{g.text(first)},{g.text(end)}{size}"

    return g.lines(line, 4)


def events(g: Grammar) -> str:
    """What `sacctmgr show event` prints."""

    def line() -> str:
        """Return the line of an event."""
        begin = g.when()
        fields = [
            g.text("Node"),
            g.text("n1", "n2"),
            g.text(str(begin)),
            g.text(str(begin + 999), "0"),
            g.text("DOWN"),
            g.text("cpu=4,mem=1G"),
            g.text("broken", "a|b"),
        ]
        return "|".join(fields)

    return "Event|NodeName|TimeStart|TimeEnd|State|TRES|Reason\n" + g.lines(line, 5)


def _read_queue(path: Path) -> object:
    snapshot = read_squeue(path)
    path.with_name("nodes").write_text("n1|8|idle|main\nn2|8|mixed|fat\nn3|4|drained|main\n")
    on_nodes(snapshot.entries, read_sinfo(path.with_name("nodes")), 16)
    if len(path.read_bytes()) % 20 == 0:  # a forecast takes a hundred times as long
        sinfo, most = path.with_name("nodes"), 50_000
        assert len(snapshot.entries) < most
        return forecaster_of_queue(path, sinfo=sinfo, policy="easy", futures=1)
    return snapshot


LOG = f"""; UnixStartTime: {NOON - 10**6}
; TimeZoneString: UTC
; MaxProcs: 8
1 0 0 1000000 8 -1 -1 8 1000000 -1 1 1 1 1 1 1 -1 -1
2 1000000 0 100000 1 -1 -1 1 100000 -1 1 1 1 1 1 1 -1 -1
"""


def _read_outages(path: Path) -> object:
    log = path.with_name("log.swf")
    log.write_text(LOG)
    return load_outages(path, read_swf(log))


def _claim(claim: Callable[[bytes], bool]) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        if not claim(b"\1" + path.read_bytes()):
            raise BfenvError("no jobs")
        return True

    return read


class Format(NamedTuple):
    """A grammar, and the reader of its inputs."""

    write: Callable[[Grammar], str]
    read: Callable[[Path], object]


FORMATS = {
    "squeue": Format(squeue, _read_queue),
    "squeue-json": Format(squeue_json, _read_queue),
    "sinfo": Format(sinfo, read_sinfo),
    "slurm.conf": Format(slurm_conf, read_conf),
    "parameters": Format(parameters, lambda path: read_parameters(path.read_text())),
    "csv": Format(table, _claim(claims.columns)),
    "sacct-json": Format(sacct_json, _claim(claims.sacct_json)),
    "xdmod": Format(xdmod, _claim(claims.xdmod)),
    "xdmod-json": Format(xdmod_json, _claim(claims.xdmod)),
    "outages": Format(outages, _read_outages),
    "windows": Format(outages, windows_of),
    "events": Format(events, _read_outages),
}


def attack(name: str, count: int, first: int = 0) -> int:
    """Try inputs of a format; return how many were read.

    AssertionError if an input is refused in more than one line, lets anything else out, or takes
    longer than SLOWEST.
    """
    taken = 0
    with tempfile.TemporaryDirectory(prefix="bfenv-fuzz-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "input")
        for number in range(first, first + count):
            text = FORMATS[name].write(Grammar(f"{name} {number}"))
            path.write_bytes(text.encode(errors="replace"))
            begin = time.monotonic()
            try:
                FORMATS[name].read(path)
                taken += 1
            except BfenvError as error:
                assert "\n" not in str(error) and len(str(error)) < 2000, (name, number, error)
            except Exception as error:
                raise AssertionError(f"{name}, input {number}: {error!r}\n{text[:3000]}") from error
            passed = time.monotonic() - begin
            assert passed < SLOWEST, f"{name}, input {number} took {passed:.0f} s\n{text[:3000]}"
    return taken


def main() -> None:
    """Share inputs among the formats."""
    total, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    count, all_taken = -(-total // len(FORMATS)), 0
    for name in FORMATS:
        taken = attack(name, count, first)
        all_taken += taken
        print(f"{name}: {count:,} inputs, {taken / count:.0%} read", flush=True)
    count *= len(FORMATS)
    print(f"{count:,} inputs, {all_taken / count:.0%} read, no other end")


if __name__ == "__main__":
    main()
