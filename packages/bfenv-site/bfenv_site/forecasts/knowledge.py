"""What is known of a machine at moments of a log, and its futures from then on.

The machine stands at a moment as a policy has left it, or as the log records. Of jobs that have not
ended only the requests are known, and for how long they have run; of later jobs nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

import bfenv.knowledge.runtime_sampler as rt
from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import HORIZON, NEXT_JOB, NOW, Cluster
from bfenv.core.dependencies import dependencies_of
from bfenv.core.detour import run_around
from bfenv.core.durations import DAY
from bfenv.core.events import advance, next_event, shown
from bfenv.core.illegal_start import raise_illegal_start
from bfenv.core.jobs import ESTIMATE, FOREVER, Jobs, Outage, Trace
from bfenv.core.outages import first_to_come, new_machine, outages_of, start_outages
from bfenv.core.passes import run_here
from bfenv.core.policy import Policy, new_memory, no_memory
from bfenv.core.schedule import Schedule
from bfenv.knowledge.user_history import UserHistory, learn_jobs, new_user_history
from bfenv_site.defaults import PLANNER
from bfenv_site.futures.arrivals import sample_arrivals
from bfenv_site.futures.futures import KnownMachine, cluster_at, known_machine, run_futures
from bfenv_site.slurm.live import planned_starts

UNLIMITED = 10 * 365 * DAY  # seconds, the limit of a job that never ends by limits
MOST_DAYS = 14  # for which jobs arrive in a future
SPARE = 64  # how many jobs you may ask for that are not in the log


class Knowledge(NamedTuple):
    """What is known at a moment."""

    machine: KnownMachine
    requests: np.ndarray  # (7, m) int64, of the jobs submitted by now, with SPARE columns behind
    start: np.ndarray  # (m,) int64 seconds; -1 for jobs that have not started
    runtime: np.ndarray  # (m,) int64 seconds, of those that have ended; 0 for others
    history: rt.RuntimeHistory
    users: UserHistory
    outages: tuple[Outage, ...]  # announced, and not over

    @property
    def time(self) -> int:
        """Now, in seconds."""
        return int(self.machine.cluster.state[NOW])

    @property
    def queue(self) -> np.ndarray:
        """The waiting jobs, (k,) int64 numbers in the log."""
        jobs: np.ndarray = self.machine.job[self.machine.cluster.start < 0]
        return jobs

    def starts_so_far(self, jobs: np.ndarray) -> np.ndarray:
        """Return when jobs have started, (k,) int64 seconds; now for those that have not.

        * `jobs`: (k,) int64 numbers in the log.
        """
        start = self.start[jobs]
        return np.where((start >= 0) & (start < self.time), start, self.time)


def under_policy(
    trace: Trace, policy: Policy, moments: Iterable[int], seed: int
) -> Iterator[Knowledge]:
    """Simulate a trace, and yield what is known at ascending moments, before the policy's pass."""
    cluster, jobs, truth = new_machine(trace)
    memory = new_memory(policy, jobs, trace.processors, seed)
    outages, dependencies = outages_of(trace), dependencies_of(trace)
    for moment in moments:
        cluster.state[HORIZON] = moment
        try:
            if outages or dependencies is not None:
                run_around(
                    policy,
                    cluster,
                    jobs,
                    truth,
                    memory,
                    outages,
                    dependencies=dependencies,
                    in_thread=False,
                )
            else:
                run_here(policy, cluster, jobs, truth, memory)
        except ValueError as error:
            raise_illegal_start(error, cluster, jobs, policy.name)
        cluster_copy = Cluster(*(column.copy() for column in cluster))
        parts = {name: getattr(truth, name).copy() for name in truth._fields[2:6]}
        now = truth._replace(**parts)
        visible_jobs = shown(now.known)
        cluster_copy.state[HORIZON] = moment + 1
        if next_event(cluster_copy, now) == moment:
            advance(cluster_copy, visible_jobs, now)
            coming = first_to_come(cluster_copy, outages.start, outages.stop)
            start_outages(cluster_copy, visible_jobs, now, coming, outages.stop)
        cluster_copy.state[NOW] = moment
        coming = first_to_come(cluster_copy, outages.start, outages.stop)
        ahead = sorted(trace.outages)[coming - outages.start :]
        yield knowledge_of(cluster_copy, visible_jobs, tuple(ahead))


def as_recorded(logged: Schedule, moments: Iterable[int]) -> Iterator[Knowledge]:
    """Yield what is known at moments if jobs start when a log says."""
    trace = logged.trace
    for moment in moments:
        count = int(np.searchsorted(trace.jobs.submit, moment, side="right"))
        requests = trace.requests[:, :count]
        start, end = logged.start[:count], logged.end[:count]
        start = np.where(start < moment, start, -1)
        end = np.where((end <= moment) & (start >= 0), end, -1)
        cluster = cluster_at(moment, requests, start, end, trace.processors)
        ahead = tuple(outage for outage in trace.outages if outage.begin > moment)
        yield knowledge_of(cluster, Jobs(*requests), ahead)


def knowledge_of(cluster: Cluster, jobs: Jobs, outages: tuple[Outage, ...]) -> Knowledge:
    """Return what is known of a machine and its outages, before the starts of a pass."""
    count = int(cluster.state[NEXT_JOB])
    submitted = np.stack(jobs)[:, :count]
    any_job = np.array([[0], [1], [DAY], [-1], [0], [0], [1]])
    last = submitted[:, -1:] if count else any_job
    requests = np.concatenate([submitted, np.repeat(last, SPARE, axis=1)], axis=1)
    ended = rt.ended_jobs(cluster)
    runtime = np.zeros(count, dtype=np.int64)
    runtime[ended] = cluster.end[ended] - cluster.start[ended]
    history, users = rt.new_runtime_history(Jobs(*requests)), new_user_history(Jobs(*requests))
    rt.learn_runtimes_of(history, cluster, jobs, ended)
    learn_jobs(users, cluster, jobs, ended)
    start, machine = cluster.start[:count].copy(), known_machine(cluster, jobs)
    return Knowledge(machine, requests, start, runtime, history, users, outages)


class Waits(NamedTuple):
    """How long jobs will wait from now on, in seconds; inf for a job that never starts."""

    samples: np.ndarray  # (a, F) float64, ascending
    plan: np.ndarray  # (a,) float64, by limits alone


def sample_waits(
    knowledge: Knowledge,
    machine: KnownMachine,
    policy: Policy,
    numbers: np.ndarray,
    *,
    futures: int,
    seed: tuple[int, ...],
    threads: int | None = None,
    planner: Policy | None = None,
) -> Waits:
    """Run futures of a machine, and return how long jobs wait in them.

    Args:
        knowledge: What is known now.
        machine: Its machine, or that with other or more waiting jobs.
        policy: The scheduler.
        numbers: (a,) int64 numbers of waiting jobs, as in `machine.job`.
        futures: How many futures.
        seed: Of all random numbers.
        threads: See `run_futures`.
        planner: The policy `slurm` on a live queue, whose map is the plan by limits. A job without
            a reservation in it, and each job with outages to come, has the start in a run of it in
            which all jobs run up to their limits. None for a run of PLANNER.
    """
    time, jobs, generator = knowledge.time, Jobs(*machine.requests), np.random.default_rng(seed)
    all_jobs = np.arange(len(machine.job))
    ran = rt.known_runtimes(machine.cluster, jobs, all_jobs)
    likely = jobs._replace(estimate=_likely_limits(jobs.estimate, ran))
    runtime = rt.sample_runtimes(knowledge.history, likely, all_jobs, ran, generator, futures)
    for user in np.unique(jobs.user[jobs.user >= 0]):  # its jobs are all short or all long
        indices = np.flatnonzero(jobs.user == user)
        runtime[:, indices] = np.sort(runtime[:, indices], axis=0)[generator.permutation(futures)]
    is_outage = machine.job >= len(knowledge.runtime)
    estimate = machine.requests[ESTIMATE]
    runtime[:, is_outage] = estimate[is_outage]
    place = places(machine.job, numbers)
    options: dict[str, Any] = {"outages": knowledge.outages, "threads": threads}
    scheduler = planner if planner is not None else find_policy(PLANNER)
    has_map = planner is not None and not knowledge.outages
    plan = planned_starts(scheduler, machine)[place] if has_map else np.full(len(place), FOREVER)
    if (missing := plan == FOREVER).any():
        run = run_futures(scheduler, machine, estimate[None], place, **options)[0]
        plan = np.where(missing, run, plan)
    plan = np.where(plan < time + UNLIMITED // 2, plan, FOREVER)
    longest = int((np.where(plan < FOREVER, plan, time) - time).max(initial=0))
    index_of_job = np.full(len(knowledge.runtime), -1)
    indices = np.flatnonzero((machine.job >= 0) & ~is_outage)
    index_of_job[machine.job[indices]] = indices
    arrivals = sample_arrivals(
        knowledge.requests[:, : len(knowledge.runtime)],
        knowledge.runtime,
        index_of_job,
        time,
        min(MOST_DAYS, 1 + 2 * longest // DAY),
        generator,
        futures,
    )
    users = None if policy.memory is no_memory else knowledge.users
    starts = run_futures(
        policy, machine, runtime, place, arrivals=arrivals, users=users, seed=seed[0], **options
    )
    return Waits(np.sort(_waits(starts.T, time), axis=1), _waits(plan, time))


def _likely_limits(limit: np.ndarray, ran: np.ndarray) -> np.ndarray:
    """Return limits from which runtimes are sampled, (k,) int64 seconds.

    A job without a limit counts with the longest limit of the others, or with twice the time that
    it has run if that is more.
    """
    is_endless = limit >= UNLIMITED
    longest = max(int(limit[~is_endless].max(initial=0)), DAY if is_endless.any() else 0)
    likely: np.ndarray = np.where(is_endless, np.maximum(longest, 2 * ran), limit)
    return likely


def places(job: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return where numbers stand in a list of numbers, in any order."""
    order = np.argsort(job, kind="stable")
    places: np.ndarray = order[np.searchsorted(job, numbers, sorter=order)]
    return places


def _waits(starts: np.ndarray, time: int) -> np.ndarray:
    return np.where(starts < FOREVER, (starts - time).astype(np.float64), np.inf)
