"""One scheduling pass of EASY over a queue that is sorted by the name of an order.

Order of the queue x order of the backfill x reservations x lookahead x predictor x shadow intervals
x trials. With all of them at their defaults it makes the schedules of `bfenv.baselines.easy`, more
slowly.
"""

import math
from typing import NamedTuple

import numpy as np

import bfenv.core.profile as pr
import bfenv.knowledge.priorities as p
from bfenv.core.cluster import (
    free,
    now,
    shadow,
    start,
    started,
    try_start,
    waiting,
)
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.knowledge.following import new_from
from bfenv.knowledge.predictor import Predictor, new_predictor, predict, predicted_cluster

# A job may pass the head by what it is believed to run until the head has waited this many times as
# long as its first reservation promised
PATIENCE = 4


class Options(NamedTuple):
    """The checked options of `bfenv.baselines.easy_orders.easy`, with numbers for all."""

    order: p.Order
    backfill: p.Order
    reservations: int  # -1 for all jobs
    lookahead: int  # FOREVER for all jobs
    predictor: str | None
    weight: float | None  # 1/s
    shadow_intervals: int  # -1 for no deadlines
    guard: float | None
    guard_scale: str
    backfill_estimate: str | None
    trial: int  # seconds; 0 for no trials
    trial_above: int  # seconds
    trial_runs_on: bool


class Memory(NamedTuple):
    """What the policies of `easy` keep: their options, and what saves work in the next pass."""

    queue: p.Ranking
    backfill: p.Ranking  # the queue's own, unless the backfill has another order
    predictor: Predictor | None  # None if estimates count
    profile: pr.Profile  # for any number of reservations other than one
    two_orders: np.ndarray  # (1,) bool: `backfill` is not `queue`; only its line is used
    lookahead: np.ndarray  # (1,) int64 jobs, the head included
    reservations: np.ndarray  # (1,) int64 jobs
    shadow_intervals: np.ndarray | None  # (1,) int64; None for no deadlines
    last_pass: np.ndarray  # (1,) int64 in which deadlines were given, see `new_from`
    believed: np.ndarray  # (n,) int64 seconds that a backfilled job is believed to run; or (0,)
    trusted_until: np.ndarray  # (n,) int64 second up to which beliefs count while the job is the
    # head; FOREVER if it has not been the head; or (0,)
    trusts: np.ndarray  # (1,) bool: what is believed counts in this pass
    head_overdue: np.ndarray  # (1,) bool: the head is past the age limit and has a reservation,
    # even under a policy without reservations
    trial: np.ndarray | None  # (3,) int64: seconds of a trial; the estimate above which a job gets
    # one, in seconds; and whether it runs on if no waiting job needs its processors. None for no
    # trials


@kernel
def decide(cluster, jobs, memory):
    """Start jobs in the queue's order until one, the head, must wait; then backfill behind it."""
    let_trials_run_on(cluster, jobs, memory.trial)
    if memory.predictor is not None:
        predict(memory.predictor, cluster, jobs)
    if memory.shadow_intervals is not None:
        _set_deadlines(cluster, jobs, memory)
    if not any_fits(cluster, jobs, memory, FOREVER, 0):
        return
    line = waiting(cluster)
    count = len(line)
    if memory.queue.code[0] != p.FCFS or memory.queue.dynamic[0] or len(started(cluster)) > 0:
        count = p.rank(memory.queue, cluster, jobs)
        line = memory.queue.line
    head = 0
    while head < count and jobs.size[line[head]] <= free(cluster):
        start_or_try(cluster, jobs, memory.trial, line[head])
        head += 1
    if head < count:
        age = now(cluster) - jobs.submit[line[head]]
        memory.head_overdue[0] = age > memory.queue.age_limit[0]
    last = min(count, head + memory.lookahead[0])
    if head + 1 < last and free(cluster) > 0:
        _backfill(cluster, jobs, memory, line[head:last])


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


@kernel
def _set_deadlines(cluster, jobs, memory):
    """Give each job its deadline: its arrival plus the given number of shadow intervals.

    The pass in which the policy first sees the job sets its shadow interval.
    """
    deadline, predicted = memory.queue.deadline, cluster
    first = new_from(cluster, deadline, FOREVER, memory.last_pass)
    for job in waiting(cluster)[first:]:
        if deadline[job] == FOREVER:
            if memory.predictor is not None:
                predicted = predicted_cluster(cluster, memory.predictor)
            shadow_time, _ = shadow(predicted, jobs, job)
            shadow_interval = shadow_time - jobs.submit[job]
            deadline[job] = jobs.submit[job] + memory.shadow_intervals[0] * shadow_interval


@kernel
def _backfill(cluster, jobs, memory, queue):
    """Backfill from the part of the queue in sight, behind its first job, the head."""
    predicted, shadow_time, extra_nodes = cluster, FOREVER, 0
    if memory.predictor is not None:
        predicted = predicted_cluster(cluster, memory.predictor)
    if memory.reservations[0] != 0 or memory.head_overdue[0]:
        shadow_time, extra_nodes = shadow(predicted, jobs, queue[0])
    note_trust(cluster, memory, queue[0], shadow_time)
    planned = memory.reservations[0] > 1 or memory.reservations[0] < 0
    if planned:
        if not any_fits(cluster, jobs, memory, shadow_time, extra_nodes):
            return
        pr.rebuild(memory.profile, predicted, jobs)
        _make_reservations(cluster, jobs, memory, queue)
    if not memory.two_orders[0]:
        for job in queue:
            if may_backfill(cluster, jobs, memory, job, shadow_time, extra_nodes):
                extra_nodes -= try_backfill(cluster, jobs, memory, job, planned, shadow_time)
        return
    line = memory.backfill.line
    count = _choose(cluster, jobs, memory, queue, shadow_time, extra_nodes)
    while count > 0:
        extra_nodes -= try_backfill(cluster, jobs, memory, line[count - 1], planned, shadow_time)
        count = _choose(cluster, jobs, memory, line[: count - 1], shadow_time, extra_nodes)


@kernel
def may_backfill(cluster, jobs, memory, job, shadow_time, extra_nodes):
    """Return whether a waiting job could start without delaying the head, as in EASY."""
    return (
        jobs.size[job] <= free(cluster)
        and cluster.start[job] < 0
        and (
            now(cluster) + _believed_duration(cluster, jobs, memory, job) <= shadow_time
            or jobs.size[job] <= extra_nodes
        )
    )


@kernel
def _duration(cluster, jobs, memory, job):
    """Return how long (s) a job that starts now may run: a trial is short."""
    duration = p.durations(memory.queue, jobs)[job]
    if memory.trial is not None:
        if takes_trial(cluster, jobs, memory.trial, job):
            duration = min(duration, memory.trial[0])
    return duration


@kernel
def _believed_duration(cluster, jobs, memory, job):
    """Return how long (s) a job that starts in the backfill is believed to run."""
    duration = _duration(cluster, jobs, memory, job)
    if memory.trusts[0]:
        duration = min(duration, memory.believed[job])
    return duration


@kernel
def note_trust(cluster, memory, head, shadow_time):
    """Note whether jobs may pass the head by what they are believed to run.

    They may while the head is not past the age limit, and has not waited for much longer than it
    was promised when it first was the head. Runtimes are predicted from the jobs that have ended,
    which are the short ones of those that a user has submitted; so predictions can be far too short
    for many jobs in a row, each of which would delay the head.
    """
    if len(memory.believed) == 0:
        return
    latest = memory.trusted_until
    if latest[head] == FOREVER and shadow_time < FOREVER:
        latest[head] = now(cluster) + PATIENCE * (shadow_time - now(cluster))
    memory.trusts[0] = not memory.head_overdue[0] and now(cluster) <= latest[head]


@kernel
def takes_trial(cluster, jobs, trial, job):
    """Return whether a waiting job is to have a trial before it runs."""
    is_long = jobs.estimate[job] > trial[1] and jobs.restartable[job] == 1
    return is_long and cluster.trial_start[job] < 0


@kernel
def let_trials_run_on(cluster, jobs, trial):
    """Make runs of the trials that end now if there is room for every waiting job beside them."""
    if trial is None or trial[2] == 0:
        return
    size, ends = 0, False
    for job in waiting(cluster):
        size += jobs.size[job]
        ends |= cluster.trial_end[job] == now(cluster)
    if ends and size <= free(cluster):
        for job in waiting(cluster):
            if cluster.trial_end[job] == now(cluster):
                try_start(cluster, jobs, job, jobs.estimate[job])


@kernel
def start_or_try(cluster, jobs, trial, job):
    """Start a job, or its trial if it is to have one."""
    if trial is not None:
        if takes_trial(cluster, jobs, trial, job):
            try_start(cluster, jobs, job, trial[0])
            return
    start(cluster, jobs, job)


@kernel
def any_fits(cluster, jobs, memory, shadow_time, extra_nodes):
    """Return whether any job could; if none, no order matters."""
    if free(cluster) > 0:
        for job in waiting(cluster):
            if may_backfill(cluster, jobs, memory, job, shadow_time, extra_nodes):
                return True
    return False


@kernel
def _choose(cluster, jobs, memory, candidates, shadow_time, extra_nodes):
    """Put the jobs that could start into the line of the backfill; return their number.

    The one to be tried next stands last. A job that is left out need not be considered again in
    this pass, as there is ever less room.
    """
    if free(cluster) == 0:
        return 0
    line, time = memory.backfill.line, now(cluster)
    count, best, best_score = 0, -1, math.inf
    for job in candidates:
        if may_backfill(cluster, jobs, memory, job, shadow_time, extra_nodes):
            value = p.score(memory.backfill, jobs, job, time)
            if best < 0 or value < best_score or (value == best_score and job < line[best]):
                best, best_score = count, value
            line[count] = job
            count += 1
    if count > 0:
        line[best], line[count - 1] = line[count - 1], line[best]
    return count


@kernel
def try_backfill(cluster, jobs, memory, job, planned, shadow_time):
    """Start a job if the profile permits; return how many of the extra nodes it takes."""
    size, time = jobs.size[job], now(cluster)
    duration = _believed_duration(cluster, jobs, memory, job)
    if planned:
        if not pr.fits(memory.profile, size, duration, time):
            return 0
        pr.reserve(memory.profile, size, time, time + duration)
    start_or_try(cluster, jobs, memory.trial, job)
    return 0 if time + duration <= shadow_time else size


@kernel
def _make_reservations(cluster, jobs, memory, queue):
    """In the queue's order, start each job that can start; reserve anchor points for the others."""
    profile = memory.profile
    left = memory.reservations[0]
    for job in queue:
        if left == 0 or free(cluster) == 0:
            break
        duration = _duration(cluster, jobs, memory, job)
        anchor = pr.place(profile, jobs.size[job], duration, now(cluster))
        if anchor == now(cluster):
            start_or_try(cluster, jobs, memory.trial, job)
        else:
            left -= 1


def new_memory(
    jobs: Jobs, processors: int, generator: np.random.Generator, *, options: Options
) -> Memory:
    """Return the memory for these options."""
    count = len(jobs.submit)
    order, backfill = options.order, options.backfill
    predictor = new_predictor(jobs, processors) if options.predictor else None
    has_deadlines = options.shadow_intervals >= 0
    queue = p.new_ranking(order, jobs, generator, options.weight)
    if predictor is not None:
        queue = queue._replace(duration=predictor.duration)
    in_backfill = queue
    two_orders = backfill != order or has_deadlines
    if two_orders:
        in_backfill = p.new_ranking(backfill, jobs, generator, options.weight)
        in_backfill = in_backfill._replace(duration=queue.duration)
        by_name = p.EXPRESSION not in (order.code, backfill.code)
        if by_name and order.stochastic and backfill.stochastic:
            in_backfill = in_backfill._replace(number=queue.number)  # one number for each job
    if has_deadlines:
        queue = queue._replace(deadline=np.full(count, FOREVER), dynamic=np.array([True]))
    elif options.guard is not None and order.code != p.FCFS:
        queue = queue._replace(dynamic=np.array([True]))  # FCFS starts the oldest first anyway
    trial = options.trial, options.trial_above, options.trial_runs_on
    planned = count if options.reservations < 0 else min(count, options.reservations)
    return Memory(
        queue,
        in_backfill,
        predictor,
        pr.new_profile(min(count, processors), planned),
        two_orders=np.array([two_orders]),
        lookahead=np.array([min(count, options.lookahead)]),
        reservations=np.array([options.reservations]),
        shadow_intervals=np.array([options.shadow_intervals]) if has_deadlines else None,
        last_pass=np.zeros(1, dtype=np.int64),
        believed=np.zeros(count if options.backfill_estimate else 0, dtype=np.int64),
        trusted_until=np.full(count if options.backfill_estimate else 0, FOREVER),
        trusts=np.zeros(1, dtype=np.bool_),
        head_overdue=np.zeros(1, dtype=np.bool_),
        trial=np.array(trial) if options.trial > 0 else None,
    )
