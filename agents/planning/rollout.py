"""Rollout: follow the policy that does best on futures whose runtimes are sampled.

At a scheduling pass in which some job can start, each candidate says what it would start now. If
they differ, each is run forward on the same futures, and the starts of the one with the lowest mean
bounded slowdown are made. This is the rollout algorithm with several base policies (Bertsekas,
Tsitsiklis and Wu 1997; "parallel rollout" of Chang, Givan and Chong 2000).

* A future holds the running and the waiting jobs. Their runtimes are sampled by
  `bfenv.baselines.runtime_sampler`; the true ones are not used.
* Jobs to come are unknown. With `arrivals="none"` there are none in a future. With "past", jobs
  arrive as they did from this time of day on, on a past day drawn for each future.
* The objective is the mean bounded slowdown of the jobs that wait now. A job that has not started
  at the horizon counts with its wait until then.
* Candidates enter every future, and every pass that they decide, without a memory of earlier ones
  (`bfenv.baselines.futures`). So a candidate whose promises bind it, such as conservative, plans
  again at each pass.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.futures import (
    KnownMachine,
    Start,
    first_starts,
    known_machine,
    new_future,
    recall,
    run_future,
    with_arrivals,
)
from bfenv.baselines.registry import find_policy
from bfenv.baselines.runtime_sampler import (
    RuntimeHistory,
    ended_jobs,
    history_of_ended,
    known_runtimes,
    learn_runtimes,
    sample_runtimes,
)
from bfenv.baselines.user_history import UserHistory, learn, learn_jobs, new_user_history
from bfenv.core.arguments import check_choice, check_integer
from bfenv.core.cluster import FREE, NOW, PROCESSORS, Cluster, start, try_start, waiting, wake_at
from bfenv.core.durations import DAY, parse_duration
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import FOREVER, Jobs, Trace
from bfenv.core.names import format_name
from bfenv.core.policy import Policy
from bfenv.core.schedule import Schedule, bounded_slowdown
from bfenv.core.simulator import simulate

ARRIVALS = ("none", "past")
RUNTIMES = ("sampled", "estimates")
BUDGET = 50_000  # jobs
ROUNDING = 1e-9  # differences of slowdowns that are due to the order of summation


class Options(NamedTuple):
    """The checked options of `rollout`."""

    candidates: tuple[Policy, ...]
    futures: int
    horizon: int | None  # seconds
    interval: int  # seconds
    budget: int  # jobs
    arrivals: str
    runtimes: str


@dataclass
class RolloutCost:
    """What the planning of a run has cost."""

    decisions: int = 0  # passes in which some job could start
    planned: int = 0  # decisions for which futures were run
    futures: int = 0  # runs of a candidate on a future
    seconds: float = 0.0  # spent in the policy, all passes
    run_seconds: float = 0.0  # of the whole run

    @property
    def decisions_per_second(self) -> float:
        """Decisions per second of time in the policy."""
        return self.decisions / self.seconds if self.seconds else float("inf")

    @property
    def share_of_time(self) -> float:
        """The part of the run's time that was spent in the policy."""
        return self.seconds / self.run_seconds if self.run_seconds else 0.0

    def __str__(self) -> str:
        """Write one line: decisions, futures, and the time that they took."""
        return (
            f"{self.decisions:,} decisions, {self.planned:,} of them by {self.futures:,} futures: "
            f"{self.seconds:.1f} s, {self.decisions_per_second:,.0f} decisions/s, "
            f"{self.share_of_time:.0%} of the run"
        )


@dataclass
class Memory:
    """What a rollout remembers from pass to pass."""

    options: Options
    generator: np.random.Generator
    users: UserHistory
    chosen_for: np.ndarray  # (n,) int64: the candidate that started a job; -1 for none
    runtimes: RuntimeHistory | None = None  # None before the first pass
    chosen: int = 0  # the candidate that is followed
    chosen_until: int = -1  # seconds: when the candidates are compared again
    cost: RolloutCost = field(default_factory=RolloutCost)


def rollout(
    policies: str | Sequence[str | Policy] = ("easy", "easy-sjf", "easy-wfp3"),
    futures: int = 8,
    horizon: int | str | None = None,
    interval: int | str = 0,
    budget: int = BUDGET,
    arrivals: str = "none",
    runtimes: str = "sampled",
) -> Policy:
    """Make a policy that follows, at each pass, the candidate that does best on sampled futures.

    On the command line: "rollout(policies=(easy, easy-sjf), futures=8)", or with the candidates in
    one text, "rollout(policies='easy; easy-sjf')".

    Parameters
    ----------
    policies
        The candidates: whatever `find_policy` takes. If several are equally good, the first of
        them is followed.
    futures
        Number of futures on which each candidate is run.
    horizon
        For how long a future runs, in seconds or as a duration such as "2d"; None until all jobs
        have ended.
    interval
        For how long a choice of a candidate lasts, in seconds or as a duration. 0 compares the
        candidates at every pass in which they differ.
    budget
        Most jobs in all runs for one decision. If there are more, fewer futures are run, at least
        one.
    arrivals
        "none", or "past" to let jobs arrive as on a past day, for the horizon or for one day.
    runtimes
        "sampled", or "estimates" for a single future in which every job runs for its estimate.

    Raises
    ------
    PolicyError
        If an option is out of its range, or there is no such candidate.
    """
    names = policies.split(";") if isinstance(policies, str) else policies
    if not isinstance(names, Sequence):
        raise PolicyError(f"policies must be names of policies, got {policies!r}")
    candidates = tuple(find_policy(name) for name in names)
    if not candidates:
        raise PolicyError("rollout needs at least one policy to follow")
    check_choice("arrivals", arrivals, ARRIVALS, error=PolicyError)
    check_choice("runtimes", runtimes, RUNTIMES, error=PolicyError)
    options = Options(
        candidates,
        check_integer("futures", futures, 1, error=PolicyError),
        None if horizon is None else _seconds("horizon", horizon, 1),
        _seconds("interval", interval, 0),
        check_integer("budget", budget, 1, error=PolicyError),
        arrivals,
        runtimes,
    )
    name = _name(options)
    return Policy(
        name=name,
        decide=decide,
        memory=partial(new_memory, options=options),
        records=records,
        summary=f"best on sampled futures of {', '.join(each.name for each in candidates)}",
        source="Bertsekas, Tsitsiklis and Wu 1997",
        stochastic=True,
        stateful=True,
        trials=any(each.trials for each in candidates),
        requested_starts=all(each.requested_starts for each in candidates),
    )


def simulate_with_cost(trace: Trace, policy: Policy, seed: int = 0) -> tuple[Schedule, RolloutCost]:
    """Run a trace under a rollout; return the schedule, and what the planning has cost.

    Parameters
    ----------
    trace
        The jobs and the machine.
    policy
        A policy that `rollout` has made.
    seed
        Random seed.
    """
    memories: list[Memory] = []

    def kept(*arguments: Any) -> Memory:
        memories.append(policy.memory(*arguments))
        return memories[0]

    begin = time.perf_counter()
    schedule = simulate(trace, replace(policy, memory=kept), seed)
    cost = memories[0].cost
    cost.run_seconds = time.perf_counter() - begin
    return schedule, cost


def new_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator, *, options: Options
) -> Memory:
    """Return the memory for these options."""
    return Memory(options, generator, new_user_history(jobs), np.full(len(jobs.submit), -1))


def records(memory: Memory) -> dict[str, np.ndarray]:
    """Return which candidate started each job, by its number."""
    return {"candidate": memory.chosen_for}


def decide(cluster: Cluster, jobs: Jobs, memory: Memory) -> None:
    """Make the starts of the candidate that is followed."""
    begin = time.perf_counter()
    _learn(cluster, jobs, memory)
    queue = waiting(cluster)
    due = jobs.requested_start[queue] <= cluster.state[NOW]
    if (due & (jobs.size[queue] <= cluster.state[FREE])).any():
        starts, wake = _decide(cluster, jobs, memory)
        for job, limit in starts:
            memory.chosen_for[job] = memory.chosen
            if limit < jobs.estimate[job]:
                try_start(cluster, jobs, job, limit)
            else:
                start(cluster, jobs, job)
        if wake < FOREVER:
            wake_at(cluster, wake)
        memory.cost.decisions += 1
    memory.cost.seconds += time.perf_counter() - begin


def _learn(cluster: Cluster, jobs: Jobs, memory: Memory) -> None:
    """Take in the jobs that have ended; in the first pass also those that ended before it."""
    if memory.runtimes is not None:
        learn_runtimes(memory.runtimes, cluster, jobs)
        learn(memory.users, cluster, jobs)
        return
    memory.runtimes = history_of_ended(cluster, jobs)
    learn_jobs(memory.users, cluster, jobs, ended_jobs(cluster))


def _decide(cluster: Cluster, jobs: Jobs, memory: Memory) -> tuple[tuple[Start, ...], int]:
    """Return what starts now, and the next wake-up; compare the candidates if it is time."""
    machine, candidates = known_machine(cluster, jobs), memory.options.candidates
    seeds = memory.generator.integers(2**32, size=len(candidates))  # of stochastic candidates

    def starts_of(i: int) -> tuple[tuple[Start, ...], int]:
        return first_starts(candidates[i], machine, _memory_of(i, machine, memory, seeds))

    if cluster.state[NOW] < memory.chosen_until:
        return starts_of(memory.chosen)
    decisions = [starts_of(i) for i in range(len(candidates))]
    different = {tuple(sorted(starts)) for starts, _ in decisions}
    if len(different) > 1:
        slowdown = _compare(cluster, jobs, machine, memory, seeds)
        memory.chosen = int(np.argmax(slowdown <= slowdown.min() * (1 + ROUNDING)))
        memory.chosen_until = int(cluster.state[NOW]) + memory.options.interval
    return decisions[memory.chosen]


def _compare(
    cluster: Cluster, jobs: Jobs, machine: KnownMachine, memory: Memory, seeds: np.ndarray
) -> np.ndarray:
    """Return the mean bounded slowdown of each candidate over the futures."""
    options, cost = memory.options, memory.cost
    affordable = options.budget // (len(options.candidates) * len(machine.job))
    count = max(1, min(options.futures, affordable))
    cost.planned += 1
    total = np.zeros(len(options.candidates))
    for each, runtime in _futures(cluster, jobs, machine, memory, count):
        future = new_future(each, runtime)
        for i, candidate in enumerate(options.candidates):
            own = _memory_of(i, each, memory, seeds)
            after = run_future(candidate, each, future, own, options.horizon)
            total[i] += _slowdown(machine, after, runtime, options.horizon)
            cost.futures += 1
    return total / count


def _futures(
    cluster: Cluster, jobs: Jobs, machine: KnownMachine, memory: Memory, count: int
) -> list[tuple[KnownMachine, np.ndarray]]:
    """Return machines and the runtimes of their jobs."""
    options, generator, history = memory.options, memory.generator, memory.runtimes
    if options.runtimes == "estimates":
        runtimes = np.broadcast_to(machine.jobs.estimate, (1, len(machine.job)))
    else:
        assert history is not None, "the first pass has made it"
        known = known_runtimes(cluster, jobs, machine.job)
        runtimes = sample_runtimes(history, jobs, machine.job, known, generator, count)
    if options.arrivals == "none":
        return [(machine, runtime) for runtime in runtimes]
    futures = []
    for runtime in runtimes:
        future = with_arrivals(machine, cluster, jobs, generator, options.horizon or DAY)
        model = future.job[len(machine.job) :]
        if options.runtimes == "estimates":
            more = jobs.estimate[model]
        else:
            assert history is not None, "the first pass has made it"
            more = sample_runtimes(history, jobs, model, np.zeros_like(model), generator)[0]
        futures.append((future, np.concatenate([runtime, more])))
    return futures


def _memory_of(i: int, machine: KnownMachine, memory: Memory, seeds: np.ndarray) -> Any:
    """Make a memory of candidate i for the jobs of a machine."""
    candidate = memory.options.candidates[i]
    generator = memory.generator
    if candidate.stochastic:
        generator = np.random.default_rng(seeds[i])
    processors = int(machine.cluster.state[PROCESSORS])
    own = candidate.memory(machine.jobs, processors, generator)
    return recall(own, machine, memory.users) if candidate.stateful else own


def _slowdown(
    machine: KnownMachine, after: Cluster, runtime: np.ndarray, horizon: int | None
) -> float:
    """Return the mean bounded slowdown, in a future, of the jobs that wait now.

    It is infinite if a job never starts although time has no end.
    """
    queue = waiting(machine.cluster)
    begin = after.start[queue]
    if horizon is not None:
        begin = np.where(begin >= 0, begin, machine.cluster.state[NOW] + horizon)
    elif (begin < 0).any():
        return float("inf")
    wait = begin - machine.jobs.submit[queue]
    return float(bounded_slowdown(wait, runtime[queue]).sum() / len(queue))


def _seconds(name: str, value: int | str, least: int) -> int:
    seconds = parse_duration(value, PolicyError) if isinstance(value, str) else value
    return check_integer(name, seconds, least, error=PolicyError)


def _name(options: Options) -> str:
    """Return the text from which `find_policy` makes the same policy."""
    given: dict[str, Any] = {"policies": tuple(each.name for each in options.candidates)}
    defaults = Options((), 8, None, 0, BUDGET, "none", "sampled")
    for option, value in list(options._asdict().items())[1:]:
        if value != getattr(defaults, option):
            given[option] = value
    return format_name("rollout", given)
