"""Apply a queue order to a live Slurm: read its queue in cycles, and lift jobs by their Nice.

A cycle reads the queue with `squeue` and the nodes with `sinfo`. In each partition, the waiting
jobs are brought into the wanted order, with its guard against starving. The first of them get the
smallest lifts that put them in this order before all others; a lift of 5 is a Nice of -5, which has
an effect at once, under priority/basic as under priority/multifactor. Jobs are only ever lifted,
because Slurm cuts priorities at 1: to push a job down does nothing where priorities are small.

A job whose Nice someone else set is left alone: one with a Nice other than 0 that was not lifted
here, and one that was lifted here and has another Nice since. So is a job of priority 0, which is
held: under priority/basic, a new Nice would release it. bfenv notes each lift in a file before it
tells Slurm. So it can give everything back, however it ended.

What is known of users and of the guard's past are the jobs that ended while this ran. Slurm still
lists them for MinJobAge, 300 s by default. The tasks of an array that wait are lifted together.
"""

import json
import math
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.age_guard import ESTIMATES, LARGEST_WORK, RUNTIMES, update_age_guard
from bfenv.baselines.easy_orders.order_pass import Options
from bfenv.baselines.easy_orders.scored_pass import new_memory
from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import waiting
from bfenv.core.durations import DAY
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.files import read_file, write_atomically
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.policy import Policy
from bfenv.core.text import counted, one_line
from bfenv.knowledge.expression_program import score_jobs
from bfenv.knowledge.priorities import rank
from bfenv.knowledge.runtime_sampler import ended_jobs
from bfenv.knowledge.user_history import ALL_COUNTS, count_jobs, learn_jobs, note_age_limit
from bfenv_site.defaults import NODE_FORMAT, QUEUE_FORMAT
from bfenv_site.futures.futures import cluster_at
from bfenv_site.live.live_queue import DEFAULT_LIMIT
from bfenv_site.live.nodes import nodes_of, without_old_reasons, without_room
from bfenv_site.live.squeue import Entry, Snapshot, number_of, slurms_order, snapshot_of

TIMEOUT = 120  # seconds for an answer of Slurm
REMEMBERED = 20_000  # ended jobs
AT_ONCE = 300  # jobs in a line of scontrol
LARGEST_STATE = 2**26  # bytes of the file of lifted jobs; a million jobs have half of that
DENIED = re.compile("access/permission denied|invalid user id", re.IGNORECASE)
UNREACHABLE = re.compile("unable to contact|connect|timed out", re.IGNORECASE)


class SlurmError(BfenvError):
    """Slurm does not answer."""


class Partition(NamedTuple):
    """What a cycle has read and wants in a partition; jobs have their names in Slurm."""

    partition: str
    slurm: list[str]  # the first waiting jobs in Slurm's order, without the lifts
    wanted: list[str]  # the same in the wanted order
    lift: dict[str, int]  # how far each must be lifted
    left_alone: list[str]  # waiting jobs whose Nice someone else set
    left_out: dict[str, int]  # jobs that wait for something other than processors, by the reason
    age_limit: int | None  # seconds, of the guard


def order_of(policy: str | Policy) -> Options:
    """Return the order of a policy, with its guard, as options of EASY.

    Raises:
        BfenvError: If there is no such policy, or its order cannot be applied to Slurm: it starts
            jobs for trials, draws random numbers, or is no order of EASY.
    """
    policy = find_policy(policy)
    if policy.trials or policy.stochastic:
        fault = "starts jobs for trials" if policy.trials else "draws random numbers"
        raise PolicyError(f"{policy.name} {fault}, which cannot be applied to Slurm")
    options = getattr(policy.memory, "keywords", {}).get("options")
    if not isinstance(options, Options) or options.shadow_intervals >= 0 or options.predictor:
        raise PolicyError(
            f"{policy.name} is no order of EASY: name one such as easy-sjf, "
            "easy(order='size * estimate', guard=2) or agent:formula"
        )
    return options


def apply_order(
    policy: str | Policy,
    *,
    log: Callable[[dict[str, Any]], None],
    write: bool = False,
    every: float = 30.0,
    depth: int = 100,
    partitions: Iterable[str] = (),
    state: Path = Path("bfenv-apply.json"),
    cycles: int | None = None,
) -> None:
    """Apply a queue order to a live Slurm, until SIGTERM or Ctrl-C.

    Args:
        policy: EASY in the wanted order, or an agent that is a formula; see `order_of`.
        log: Is called with what each cycle found, and with what was written.
        write: Whether to lift jobs, or only to say which.
        every: Seconds between two cycles.
        depth: How many jobs of a partition are brought into order, before all others.
        partitions: Names; none for all.
        state: The file that says which jobs are lifted.
        cycles: How many; None for no end, 0 only to give back what an earlier run has left.

    Raises:
        BfenvError: If Slurm does not answer at the beginning or at the end, or does not allow a
            Nice below 0; if without `write` an earlier run has left jobs lifted; or if another run
            writes to the file.
    """
    with _lock(state) if write else nullcontext():
        queue = LiveQueue(order_of(policy), state, depth, tuple(partitions), _read_state(state))
        queue.read_queue()
        if queue.lifted and not write:
            raise BfenvError(
                f"{state}: an earlier run has left jobs lifted; --write gives them back"
            )
        handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            if queue.lifted:
                log({"event": "give back", "jobs": queue.give_back()})
            for i in count() if cycles is None else range(cycles):
                time.sleep(every if i else 0.0)
                try:
                    partitions_now, changes = queue.look()
                    for partition in partitions_now:
                        log({"event": "cycle", "time": int(time.time()), **partition._asdict()})
                    if write and changes:
                        errors = queue.write(changes)
                        log({"event": "write", "jobs": len(changes), "errors": errors})
                except SlurmError as error:  # it may be restarted just now
                    log({"event": "error", "time": int(time.time()), "message": str(error)})
        except KeyboardInterrupt:
            pass
        finally:
            for number in handlers:
                signal.signal(number, signal.SIG_IGN)
            try:
                if write:
                    log({"event": "give back", "jobs": queue.give_back()})
            finally:
                for number, handler in handlers.items():
                    signal.signal(number, handler)


@contextmanager
def _lock(state: Path) -> Iterator[None]:
    """Keep other runs from the same file: they would take this one's lifts back."""
    import fcntl  # not on every system that can read a queue

    path = state.with_name(f"{state.name}.lock")
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BfenvError(f"{state}: another run of bfenv apply uses it") from None
        try:
            yield
        finally:
            path.unlink()


@dataclass
class LiveQueue:
    """An order, what is lifted for it, and what has been seen of the queue."""

    options: Options
    state: Path
    depth: int
    only: tuple[str, ...]
    lifted: dict[str, list[int]]  # what the Nice of a job can be, by `_keys`; none: hands off
    users: dict[str, int] = field(default_factory=dict)  # numbers by name
    ended: dict[tuple[str, int], Entry] = field(default_factory=dict)  # by name and start
    most_work: dict[str, int] = field(default_factory=dict)  # processor-seconds, by partition
    origin: int = 0  # seconds since 1970: time 0 of orders

    def read_queue(self) -> Snapshot:
        """Read the queue; note the jobs that ended, are gone, or have another Nice by now."""
        text = _ask("squeue", "-a", "-h", "-t", "all", "-o", QUEUE_FORMAT).stdout
        snapshot = snapshot_of("squeue", text.splitlines())
        wait = {entry.name for entry in snapshot.entries}  # tasks of an array are lifted together
        apart = [entry for entry in snapshot.apart if entry.name not in wait]
        snapshot = snapshot._replace(apart=apart)
        self.ended |= {(entry.name, entry.start): entry for entry in snapshot.ended}
        for job in list(self.ended)[:-REMEMBERED]:
            del self.ended[job]
        entries = [*snapshot.entries, *snapshot.apart]
        all_entries = (*entries, *snapshot.ended)
        # They are of all partitions: none of their starts is before.
        self.origin = self.origin or min((entry.submit for entry in all_entries), default=DAY) - DAY
        names = {key for entry in entries for key in _keys(entry)}
        self.lifted = {key: values for key, values in self.lifted.items() if key in names}
        for entry in entries:
            key = _keys(entry)[0]
            if key in self.lifted and not entry.runs:
                self.lifted[key] = [entry.nice] if entry.nice in self.lifted[key] else []
        return snapshot._replace(time=max(snapshot.time, int(time.time())))

    def is_ours(self, entry: Entry) -> bool:
        """Return whether a job has the Nice that was set here, or 0 if none was."""
        values = [self.lifted[key] for key in _keys(entry) if key in self.lifted]
        return entry.nice in (values[0] if values else [0])

    def lifted_in(self, snapshot: Snapshot) -> list[Entry]:
        """Return the jobs that are lifted, those that run or are held among them."""
        entries = dict.fromkeys((*snapshot.entries, *snapshot.apart))
        return [entry for entry in entries if entry.nice and self.is_ours(entry)]

    def look(self) -> tuple[list[Partition], dict[Entry, int]]:
        """Make a cycle; return the partitions, and the new Nice of each job that needs another."""
        snapshot, sizes = self.read_queue(), Counter[str]()
        text = _ask("sinfo", "--noconvert", "-a", "-h", "-N", "-o", NODE_FORMAT).stdout
        nodes = nodes_of("sinfo", text.splitlines())
        snapshot = without_room(without_old_reasons(snapshot, nodes), nodes)
        for node in nodes:
            sizes.update(dict.fromkeys(node.partitions, node.size * (not node.is_lost)))
        if absent := set(self.only).difference(sizes):
            raise BfenvError(f"sinfo lists no partition {min(absent)}")
        partitions = []
        nice = {job: 0 for job in self.lifted_in(snapshot) if job.priority or job.runs}
        all_entries = (*snapshot.entries, *snapshot.apart)
        for name in self.only or sorted({_partition(entry) for entry in all_entries}):
            entries = [entry for entry in snapshot.entries if _partition(entry) == name]
            waiting_jobs = dict.fromkeys(entry for entry in entries if not entry.runs)
            in_order, limit = self.in_order(name, entries, snapshot.time, sizes[name])
            own_jobs = [job for job in in_order if self.is_ours(job)]
            now = sorted(own_jobs, key=slurms_order)
            # Priorities without the lifts
            priority = {job: job.priority + job.nice * self.is_ours(job) for job in waiting_jobs}
            if now[: self.depth] == own_jobs[: self.depth]:
                wanted = {job: job.nice for job in own_jobs}
            else:
                wanted = lifts(own_jobs, priority, self.depth)
            nice |= wanted
            before = sorted(priority, key=lambda job: (-priority[job], number_of(job)))
            reasons = Counter(job.reason for job in snapshot.apart if _partition(job) == name)
            partitions.append(
                Partition(
                    name,
                    slurm=[job.name for job in before[: self.depth]],
                    wanted=[job.name for job in in_order[: self.depth]],
                    lift={job.name: -value for job, value in wanted.items() if value},
                    left_alone=[job.name for job in waiting_jobs if job not in wanted],
                    left_out=dict(reasons),
                    age_limit=limit,
                )
            )
        return partitions, {job: value for job, value in nice.items() if value != job.nice}

    def in_order(
        self, name: str, entries: list[Entry], now: int, processors: int
    ) -> tuple[list[Entry], int | None]:
        """Return the waiting jobs in the wanted order, and the guard's limit in seconds."""
        if all(entry.runs for entry in entries):
            return [], None
        past = [entry for entry in self.ended.values() if _partition(entry) == name]
        submitted = sorted((*past, *entries), key=lambda entry: (entry.submit, number_of(entry)))
        longest = max(entry.limit for entry in submitted) or DEFAULT_LIMIT
        requests = np.array(
            [
                [max(min(entry.submit, now) - self.origin, 0) for entry in submitted],
                [min(entry.size, processors) for entry in submitted],
                [entry.limit or longest for entry in submitted],
                [self.users.setdefault(entry.user, len(self.users)) for entry in submitted],
                [entry.priority for entry in submitted],
                [0] * len(submitted),
                [1] * len(submitted),
            ]
        )
        start = np.array([min(entry.start, now) for entry in submitted])
        end = np.array(
            [max(entry.end, entry.start + 1) if entry.end >= 0 else -1 for entry in submitted]
        )
        start, end = (np.where(time < 0, -1, time - self.origin) for time in (start, end))
        cluster = cluster_at(now - self.origin, requests, start, end, processors)
        jobs, ended = Jobs(*requests), ended_jobs(cluster)
        memory = new_memory(jobs, processors, np.random.default_rng(0), options=self.options)
        history, guard, ranking = memory.history, memory.guard, memory.easy.queue
        learn_jobs(history, cluster, jobs, ended)
        limit = math.inf
        if guard is not None:
            guard.state[RUNTIMES] = (cluster.end[ended] - cluster.start[ended]).sum()
            guard.state[ESTIMATES] = jobs.estimate[ended].sum()
            guard.state[LARGEST_WORK] = self.most_work.get(name, 0)
            limit = update_age_guard(guard, history, cluster, jobs)
            self.most_work[name] = int(guard.state[LARGEST_WORK])
        ranking.age_limit[0] = limit
        note_age_limit(history, limit)
        count_jobs(history, cluster, jobs, ALL_COUNTS)
        if memory.uses_expression[0]:
            program, columns = memory.queue.program, memory.queue.columns
            line = waiting(cluster)
            score_jobs(program, columns, history, cluster, jobs, line, ranking.number)
        line = ranking.line[: rank(ranking, cluster, jobs)]
        # Tasks of an array are equal
        in_order = list(dict.fromkeys(submitted[job] for job in line))
        return in_order, int(limit) if limit < FOREVER else None

    def write(self, changes: Mapping[Entry, int]) -> list[str]:
        """Set the Nice of jobs, in one call of scontrol; return what it could not do.

        Before the call, the file notes the old and the new Nice of each job.

        Raises SlurmError if Slurm does not answer, and BfenvError if it does not allow it.
        """
        names: dict[int, list[str]] = {}
        for entry, nice in changes.items():
            name = re.sub("%[0-9]+", "", entry.name)
            for steps in re.finditer("([0-9]+)-([0-9]+):([0-9]+)", name):  # scontrol knows none
                first, last, step = map(int, steps.groups())
                name = name.replace(steps[0], ",".join(map(str, range(first, last + 1, step))))
            names.setdefault(nice, []).append(name)
            self.lifted[_keys(entry)[0]] = [entry.nice, nice]
        content = {"format": "bfenv apply 1", "lifted": self.lifted}
        write_atomically(self.state, json.dumps(content).encode())
        lines = [
            f"update JobId={','.join(jobs[i : i + AT_ONCE])} Nice={nice}\n"
            for nice, jobs in names.items()
            for i in range(0, len(jobs), AT_ONCE)
        ]
        errors = _ask("scontrol", text="".join(lines)).stderr.split("\n")
        if any(map(DENIED.search, errors)):
            raise BfenvError(
                "scontrol refuses a Nice below 0: --write is for root, SlurmUser, and operators of "
                "Slurm"
            )
        return [error for error in errors if error.strip()]

    def give_back(self) -> int:
        """Take all lifts back, and remove the file; return how many there were.

        Raises SlurmError if waiting jobs are still lifted.
        """
        lifted = self.lifted_in(self.read_queue())
        if lifted:
            self.write({job: 0 for job in lifted if job.priority or job.runs})
            left = [job.name for job in self.lifted_in(self.read_queue()) if not job.runs]
            if left:
                raise SlurmError(
                    f"{counted(len(left), 'job')} of {self.state} could not be given back (no held "
                    f"job can): {', '.join(left)}"
                )
        self.lifted = {}
        self.state.unlink(missing_ok=True)
        return len(lifted)


def lifts(line: list[Entry], priority: Mapping[Entry, int], depth: int) -> dict[Entry, int]:
    """Return the Nice of each job of a line: 0, or below 0 for some of the first `depth`.

    These are the smallest lifts by which the first jobs come in this order, before all others. Of
    jobs with the same priority, Slurm takes the one with the lower number.
    """
    nice = dict.fromkeys(line, 0)
    behind = [(priority[entry], number_of(entry)) for entry in line[depth:]]
    # A job comes before the next one by a higher priority, or by the same and a lower number.
    least, next_number = min(behind, key=lambda job: (-job[0], job[1]), default=(0, ()))
    for entry in reversed(line[:depth]):
        number = number_of(entry)
        least = max(priority[entry], least + (number > next_number))
        nice[entry] = priority[entry] - least
        next_number = number
    return nice


def _keys(entry: Entry) -> tuple[str, str]:
    """Return what a job is called in `lifted`, and what its array would be, if it is of one."""
    job, _, task = entry.name.partition("_")
    return f"{job}_{task.partition('[')[0]}", f"{job}_"


def _partition(entry: Entry) -> str:
    return entry.partition.partition(",")[0]


def _read_state(path: Path) -> dict[str, list[int]]:
    """Return what an earlier run has left; BfenvError if the file is anything else."""
    if not path.exists():
        return {}
    try:
        data = read_file(path, LARGEST_STATE)
    except OSError as error:
        raise BfenvError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        lifted = json.loads(data)["lifted"]
        return {str(key): [int(value) for value in values] for key, values in lifted.items()}
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
        raise BfenvError(f"{path}: not a file of bfenv apply") from None


def _ask(*command: str, text: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a command of Slurm, which Ctrl-C does not reach; SlurmError if it does not answer."""
    settings = ("SQUEUE_", "SINFO_")  # of these commands, which would hide jobs and nodes
    env = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
    env |= {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}
    try:
        done = subprocess.run(
            command,
            input=text,
            env=env,
            text=True,
            errors="replace",
            capture_output=True,
            timeout=TIMEOUT,
            start_new_session=True,
            check=False,
        )
    except FileNotFoundError:
        raise SlurmError(f"{command[0]} of Slurm is not installed here") from None
    except subprocess.TimeoutExpired:
        raise SlurmError(f"{command[0]} has not answered in {TIMEOUT} s") from None
    if done.returncode != 0 and (not text or UNREACHABLE.search(done.stderr)):
        last = (done.stderr.strip() or f"{command[0]} failed").splitlines()[-1]
        raise SlurmError(f"Slurm does not answer: {one_line(last)}")
    return done
