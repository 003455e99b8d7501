"""The referee's side of a policy that decides in another process.

`player_policy` makes a Policy whose `decide` sends a player what has become known, and makes the
starts that it answers. So `simulate`, and all that is built on it, runs players as it runs any
policy, on the one engine, which checks each start.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

import bfenv_judge.players.pass_messages as pm
from bfenv.core.cluster import Cluster
from bfenv.core.competitor import PolicyCompetitor
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import Code
from bfenv.core.policy import Policy
from bfenv.leaderboard.limits import DEFAULT_LIMITS, PlayerLimits
from bfenv_judge.players.frames import new_frame
from bfenv_judge.players.player_process import PROTOCOL, PlayerError, PlayerProcess, shown


class Flags(NamedTuple):
    """What a player may declare of its policy, see `Policy`."""

    stochastic: bool = False
    trials: bool = False
    requested_starts: bool = False


class _Machine:
    """What a session does with the machine that it runs on."""

    def __init__(self, cluster: Cluster, jobs: Jobs, trials: bool) -> None:
        self.frame = new_frame(pm.longest_pass(cluster))
        knowledge = pm.nothing_known(cluster)
        self._news = cluster, jobs, knowledge, self.frame.numbers
        self._write = Code(pm.write_pass)
        self._starts = cluster, jobs, knowledge, trials
        self._make = Code(pm.make_starts)

    def write(self) -> int:
        """Write the message of this pass into the frame; return how many integers it has."""
        count: int = self._write.call(*self._news)
        if count < 0:
            raise PlayerError("players follow neither outages nor the event order of pyss")
        return count

    def start(self, answer: np.ndarray) -> None:
        """Make the starts of an answer."""
        job = self._make.call(*self._starts, answer)
        if job >= 0:
            raise PlayerError(f"it starts job {job} for a trial, and has not declared trials")


class Session:
    """One run of a player, and what it knows.

    * `process`: the player, which has been greeted.
    * `begin`: the first message of the run.
    * `trials`: whether it has declared that it starts jobs for trials.
    * `is_last`: whether the player ends with this run, also if that fails.
    """

    def __init__(
        self, process: PlayerProcess, begin: dict[str, Any], trials: bool, is_last: bool = False
    ) -> None:
        self.process = process
        self._machine: _Machine | None = None
        self._trials = trials
        self._is_last = is_last
        self._seconds = process.limits.startup  # for the next decision
        process.ask(begin, process.limits.startup)

    def decide(self, cluster: Cluster, jobs: Jobs) -> None:
        """Make one scheduling pass."""
        process = self.process
        try:
            if self._machine is None:
                self._machine = _Machine(cluster, jobs, self._trials)
            machine = self._machine
            count = machine.write()
            if process.uses_frames:
                answer = process.exchange(machine.frame, count, self._seconds)
            else:
                reply = process.ask(pm.pass_to_json(machine.frame.numbers[:count]), self._seconds)
                answer = pm.answer_from_json(reply)
            self._seconds = process.limits.decision
            machine.start(answer)
        except BaseException:
            if self._is_last:  # a traceback would keep it alive
                process.close()
            raise


@dataclass(frozen=True)
class RemotePolicy(PolicyCompetitor):
    """A policy whose program is started for each run.

    Args:
        policy: The policy, see `program_policy`.
        command: The program and its arguments.
        limits: What the program may use.
    """

    is_compiled = False

    command: tuple[str, ...]
    limits: PlayerLimits


def greet(process: PlayerProcess) -> dict[str, Any]:
    """Exchange greetings with a new player, and return what it declares."""
    greeting = process.ask({"message": "hello", "protocol": PROTOCOL}, process.limits.greeting)
    process.uses_frames = _flag(greeting, "frames")
    return greeting


def player_policy(
    command: Sequence[str], name: str, limits: PlayerLimits = DEFAULT_LIMITS
) -> Policy:
    """Return a policy that is decided by a program; it is started once to greet it.

    * `command`: the program and its arguments.
    * `name`: of the policy.
    * `limits`: what the program may use.

    Raises BfenvError if there is no such program. Raises PlayerError if it does not greet as
    docs/players.md says.
    """
    try:
        with PlayerProcess(command, limits) as process:
            flags = declared_flags(greet(process))
    except PlayerError as error:
        raise type(error)(f"{name}: {error}") from error
    return program_policy(command, name, flags, limits)


def declared_flags(greeting: dict[str, Any]) -> Flags:
    """Return the flags of a policy that a player declares; PlayerError if one is not a bool."""
    return Flags(**{flag: _flag(greeting, flag) for flag in Flags._fields})


def _flag(greeting: dict[str, Any], name: str) -> bool:
    value = greeting.get(name, False)
    if not isinstance(value, bool):
        raise PlayerError(f"its {name} is not true or false: {shown(value)}")
    return value


def program_policy(
    command: Sequence[str], name: str, flags: Flags, limits: PlayerLimits = DEFAULT_LIMITS
) -> Policy:
    """Return the policy of a program whose declared flags are known; each run starts it."""
    memory = _OpenSession(tuple(command), limits, flags.trials)
    return replace(_policy(name, flags, memory), records=_close_session)


def policy_of(process: PlayerProcess, name: str, flags: Flags) -> Policy:
    """Return the policy of a player that has been greeted; the player outlives a run."""

    def begin(jobs: Jobs, processors: int, generator: np.random.Generator) -> Session:
        message = begin_message(jobs, processors, seed_of(generator), flags.trials)
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
            message = begin_message(jobs, processors, seed_of(generator), self.trials)
            return Session(process, message, self.trials, is_last=True)
        except BaseException:
            process.close()
            raise


def begin_message(jobs: Jobs, processors: int, seed: int, trials: bool) -> dict[str, Any]:
    """Return the first message of a run. Numbers of jobs and users are rounded up, as they hint.

    Raises PlayerError if a player that starts jobs for trials would not be told which of them are
    restartable.
    """
    if trials and not jobs.restartable.all():
        raise PlayerError("some jobs are not restartable, which its messages cannot say")
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
