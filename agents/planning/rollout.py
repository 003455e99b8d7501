"""Rollout: follow the policy that does best on futures whose runtimes are sampled.

At a scheduling pass in which some job can start, each candidate says what it would start now. If
they differ, each is run forward on the same futures, and the starts of the one with the lowest mean
bounded slowdown are made. This is the rollout algorithm with several base policies (Bertsekas,
Tsitsiklis and Wu 1997; "parallel rollout" of Chang, Givan and Chong 2000).

* A future holds the running and the waiting jobs. Their runtimes are sampled by
  `bfenv.knowledge.runtime_sampler`; the true ones are not used.
* Jobs to come are unknown. In a future, jobs arrive as they did from this time of day on, on a past
  day drawn for each future. With `arrivals=None` there are none: then postponing long jobs looks
  cheaper than it is.
* The objective is the mean bounded slowdown of the jobs that wait now. A job that has not started
  at the horizon counts with its wait until then.
* Candidates enter every future, and every pass that they decide, without a memory of earlier ones
  (`bfenv.baselines.futures`). So a candidate whose promises bind it, such as conservative, plans
  again at each pass.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from bfenv.agents.planning.comparison import Memory, Options, compare, memory_of
from bfenv.baselines.futures import Start, first_starts, known_machine
from bfenv.baselines.registry import find_policy
from bfenv.core.arguments import check_choice, check_integer
from bfenv.core.cluster import FREE, NOW, Cluster, start, try_start, waiting, wake_at
from bfenv.core.durations import DAY, in_seconds
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.names import format_name
from bfenv.core.policy import Policy
from bfenv.knowledge.runtime_sampler import ended_jobs, history_of_ended, learn_runtimes
from bfenv.knowledge.user_history import learn, learn_jobs, new_user_history

ARRIVALS = ("past", None)
RUNTIMES = ("sampled", "estimates")
BUDGET = 50_000  # jobs
ROUNDING = 1e-9  # differences of slowdowns that are due to the order of summation


def rollout(
    policies: str | Sequence[str | Policy] = ("easy", "easy-sjf", "easy-wfp3"),
    futures: int = 8,
    horizon: int | str | None = DAY,
    interval: int | str = 0,
    budget: int = BUDGET,
    arrivals: str | None = "past",
    runtimes: str = "sampled",
) -> Policy:
    """Make a policy that follows, at each pass, the candidate that does best on sampled futures.

    On the command line: "rollout(policies=(easy, easy-sjf), futures=8)", or with the candidates in
    one text, "rollout(policies='easy; easy-sjf')".

    Parameters
    ----------
    policies
        The candidates: whatever `find_policy` takes. If several are equally good, the first of them
        is followed.
    futures
        Number of futures on which each candidate is run.
    horizon
        For how long a future runs, in seconds or as a duration such as "2d"; None until all jobs
        have ended.
    interval
        For how long a choice of a candidate lasts, in seconds or as a duration. 0 compares the
        candidates at every pass in which they differ.
    budget
        Most jobs in all runs for one decision, not counting arrivals. If there are more, fewer
        futures are run, at least one.
    arrivals
        "past" to let jobs arrive as on a past day, for the horizon or for one day; None for none.
    runtimes
        "sampled", or "estimates" for a single future in which every job runs for its estimate.

    Returns
    -------
    Policy
        For `simulate`.

    Raises
    ------
    PolicyError
        If an option is out of its range, or there is no such candidate.

    Examples
    --------
    >>> import bfenv
    >>> from bfenv.agents.planning import rollout
    >>> trace = bfenv.load_workload("lublin:jobs=60,load=0.9")
    >>> schedule = bfenv.simulate(trace, rollout(("easy", "easy-sjf"), futures=2))
    >>> bool((schedule.start >= trace.jobs.submit).all())
    True
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
        return first_starts(candidates[i], machine, memory_of(i, machine, memory, seeds))

    if cluster.state[NOW] < memory.chosen_until:
        return starts_of(memory.chosen)
    decisions = [starts_of(i) for i in range(len(candidates))]
    different = {tuple(sorted(starts)) for starts, _ in decisions}
    if len(different) > 1:
        slowdown = compare(cluster, jobs, machine, memory, seeds)
        memory.chosen = int(np.argmax(slowdown <= slowdown.min() * (1 + ROUNDING)))
        memory.chosen_until = int(cluster.state[NOW]) + memory.options.interval
    return decisions[memory.chosen]


def _seconds(name: str, value: int | str, least: int) -> int:
    return check_integer(name, in_seconds(name, value, PolicyError), least, error=PolicyError)


def _name(options: Options) -> str:
    """Return the text from which `find_policy` makes the same policy."""
    given: dict[str, Any] = {"policies": tuple(each.name for each in options.candidates)}
    defaults = Options((), 8, DAY, 0, BUDGET, "past", "sampled")
    for option, value in list(options._asdict().items())[1:]:
        if value != getattr(defaults, option):
            given[option] = value
    return format_name("rollout", given)
