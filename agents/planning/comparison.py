"""The comparison of a rollout's candidates: each is run forward on the same sampled futures."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bfenv.agents.planning.cost import RolloutCost
from bfenv.baselines.futures import (
    KnownMachine,
    new_future,
    recall,
    run_future,
    with_arrivals,
)
from bfenv.core.cluster import NOW, PROCESSORS, Cluster, waiting
from bfenv.core.durations import DAY
from bfenv.core.jobs import Jobs
from bfenv.core.policy import Policy
from bfenv.core.schedule import bounded_slowdown
from bfenv.knowledge.runtime_sampler import RuntimeHistory, known_runtimes, sample_runtimes
from bfenv.knowledge.user_history import UserHistory


class Options(NamedTuple):
    """The checked options of `rollout`."""

    candidates: tuple[Policy, ...]
    futures: int
    horizon: int | None  # seconds
    interval: int  # seconds
    budget: int  # jobs
    arrivals: str | None
    runtimes: str


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


def compare(
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
            own = memory_of(i, each, memory, seeds)
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
    if options.arrivals is None:
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


def memory_of(i: int, machine: KnownMachine, memory: Memory, seeds: np.ndarray) -> Any:
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
