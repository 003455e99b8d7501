"""The referee's side of a policy that decides in another process.

`player_policy` makes a Policy whose `decide` sends a player what has become known, and makes the
starts that it answers. So `simulate`, and all that is built on it, runs players as it runs any
policy, on the one engine, which checks each start.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bfenv.core.cluster import (
    FINISHED,
    NEXT_JOB,
    NOW,
    ONE_EVENT,
    QUEUE_BEGIN,
    QUEUE_END,
    RUNNING,
    Cluster,
    finished,
    start,
    try_start,
    wake_at,
)
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.policy import Policy
from bfenv.referee.limits import DEFAULT, PlayerLimits
from bfenv.referee.player_process import PROTOCOL, PlayerError, PlayerProcess

LATEST = 2**62  # seconds; no number in a reply may reach it


class Flags(NamedTuple):
    """What a player may declare of its policy, see `Policy`."""

    stochastic: bool = False
    trials: bool = False
    requested_starts: bool = False


class Session:
    """One run of a player, and what it knows.

    Parameters
    ----------
    process
        The player, which has been greeted.
    begin
        The first message of the run.
    trials
        Whether it has declared that it starts jobs for trials.
    """

    def __init__(self, process: PlayerProcess, begin: dict[str, Any], trials: bool) -> None:
        self.process = process
        self._submitted = 0  # jobs that it knows
        self._running: set[int] = set()  # jobs that it has started
        self._tried: set[int] = set()  # those of them that it has started for a trial
        self._done = 0  # jobs that have ended
        self._trials = trials
        self._seconds = process.limits.startup  # for the next decision
        process.ask(begin, process.limits.startup)

    def decide(self, cluster: Cluster, jobs: Jobs) -> None:
        """Make one scheduling pass."""
        reply = self.process.ask(self._news(cluster, jobs), self._seconds)
        self._seconds = self.process.limits.decision
        for item in _starts(reply):
            self._start(cluster, jobs, *item)
        if (time := reply.get("wake")) is not None:
            wake_at(cluster, _integer("wake", time))

    def _news(self, cluster: Cluster, jobs: Jobs) -> dict[str, Any]:
        """Return the message of a pass: what has become known since the last one."""
        state = cluster.state.tolist()
        known, running = state[NEXT_JOB], self._running
        message: dict[str, Any] = {"message": "pass", "now": state[NOW]}
        if known > self._submitted:
            columns = [column[self._submitted : known].tolist() for column in jobs]
            numbers = range(self._submitted, known)
            message["submitted"] = list(zip(numbers, *columns, strict=True))
            self._submitted = known
        if state[FINISHED]:
            ended = message["ended"] = finished(cluster).tolist()
            self._done += len(ended)
            running.difference_update(ended)
            self._tried.difference_update(ended)
        if self._tried:
            killed = [job for job in self._tried if cluster.trial_end[job] >= 0]
            if killed:
                message["killed"] = sorted(killed)
            running.difference_update(killed)
            self._tried.difference_update(killed)
        waiting = known - self._done - len(running)
        if (
            state[RUNNING] != len(running)
            or state[QUEUE_END] - state[QUEUE_BEGIN] != waiting
            or state[ONE_EVENT]
        ):
            raise PlayerError("players follow neither outages nor the event order of pyss")
        return message

    def _start(self, cluster: Cluster, jobs: Jobs, job: int, limit: int) -> None:
        if limit == FOREVER:
            start(cluster, jobs, job)
        elif self._trials:
            try_start(cluster, jobs, job, limit)
            if limit < jobs.estimate[job]:
                self._tried.add(job)
        else:
            raise PlayerError(f"it starts job {job} for a trial, and has not declared trials")
        self._running.add(job)


def greet(process: PlayerProcess) -> dict[str, Any]:
    """Exchange greetings with a new player, and return what it declares."""
    return process.ask({"message": "hello", "protocol": PROTOCOL}, process.limits.startup)


def player_policy(command: Sequence[str], name: str, limits: PlayerLimits = DEFAULT) -> Policy:
    """Return a policy that is decided by a program; it is started once to greet it.

    Parameters
    ----------
    command
        The program and its arguments.
    name
        Of the policy.
    limits
        What the program may use.

    Raises
    ------
    BfenvError
        If there is no such program.
    PlayerError
        If it does not greet as docs/referee.md says.
    """
    with PlayerProcess(command, limits) as process:
        flags = declared_flags(greet(process))
    return program_policy(command, name, flags, limits)


def declared_flags(greeting: dict[str, Any]) -> Flags:
    """Return the flags of a policy that a player declares; PlayerError if one is not a bool."""
    flags = {flag: greeting.get(flag, False) for flag in Flags._fields}
    for flag, value in flags.items():
        if not isinstance(value, bool):
            raise PlayerError(f"its {flag} is not true or false: {str(value)[:60]!r}")
    return Flags(**flags)


def program_policy(
    command: Sequence[str], name: str, flags: Flags, limits: PlayerLimits = DEFAULT
) -> Policy:
    """Return the policy of a program whose declared flags are known; each run starts it."""
    memory = _OpenSession(tuple(command), limits, flags.trials)
    return replace(_policy(name, flags, memory), records=_close_session)


def policy_of(process: PlayerProcess, name: str, flags: Flags) -> Policy:
    """Return the policy of a player that has been greeted; the player outlives a run."""

    def begin(jobs: Jobs, processors: int, generator: np.random.Generator) -> Session:
        message = begin_message(jobs, processors, seed_of(generator))
        return Session(process, message, flags.trials)

    return _policy(name, flags, begin)


def _policy(name: str, flags: Flags, memory: Callable[..., Session]) -> Policy:
    return Policy(
        name,
        _decide,
        memory=memory,
        stochastic=flags.stochastic,
        trials=flags.trials,
        requested_starts=flags.requested_starts,
        stateful=True,
        summary="Decided by another process.",
    )


@dataclass(frozen=True)
class _OpenSession:
    """The memory of such a policy: a run of its program."""

    command: tuple[str, ...]
    limits: PlayerLimits
    trials: bool

    def __call__(self, jobs: Jobs, processors: int, generator: np.random.Generator) -> Session:
        process = PlayerProcess(self.command, self.limits)
        try:
            greet(process)
            message = begin_message(jobs, processors, seed_of(generator))
            return Session(process, message, self.trials)
        except BaseException:
            process.close()
            raise


def begin_message(jobs: Jobs, processors: int, seed: int) -> dict[str, Any]:
    """Return the first message of a run. Numbers of jobs and users are rounded up, as they hint."""
    return {
        "message": "begin",
        "processors": processors,
        "seed": seed,
        "jobs": _power_of_two(len(jobs.submit)),
        "users": _power_of_two(1 + int(jobs.user.max())),
        "requested_starts": bool(jobs.requested_start.any()),
    }


def seed_of(generator: np.random.Generator) -> int:
    """Return the seed that a generator was made from."""
    sequence: Any = generator.bit_generator.seed_seq
    return int(sequence.entropy)


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


def _decide(cluster: Cluster, jobs: Jobs, memory: Session) -> None:
    memory.decide(cluster, jobs)


def _close_session(memory: Session) -> dict[str, np.ndarray]:
    memory.process.close()
    return {}


def _starts(reply: dict[str, Any]) -> list[tuple[int, int]]:
    """Return jobs and the limits of their trials; FOREVER for a start without a limit."""
    items = reply.get("start", [])
    if not isinstance(items, list):
        raise PlayerError(f"its start is not a list: {str(items)[:60]!r}")
    pairs = [item if isinstance(item, list) else [item, FOREVER] for item in items]
    if any(len(pair) != 2 for pair in pairs):
        raise PlayerError("its start is not a list of jobs, or of [job, seconds] for trials")
    return [
        (_integer("start", job), limit if limit == FOREVER else _integer("start", limit))
        for job, limit in pairs
    ]


def _integer(name: str, value: Any) -> int:
    if type(value) is not int or not -LATEST < value < LATEST:
        limits = f"between -{LATEST:,} and {LATEST:,}"
        raise PlayerError(f"its {name} must be an integer {limits}, got {str(value)[:60]!r}")
    return value
