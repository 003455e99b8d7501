"""Preparation of forecasts of starts at a moment of a log: what is known then, and the past."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np

import bfenv_site.forecasts.past_forecasts as pf
from bfenv.analysis.logged import logged_schedule, without_estimate
from bfenv.baselines.registry import find_competitor
from bfenv.core.arguments import check_integer
from bfenv.core.competitor import PolicyCompetitor
from bfenv.core.durations import parse_duration
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import ESTIMATE, SIZE, SUBMIT, Trace
from bfenv.core.partitions import is_partitioned
from bfenv.core.policy import Policy, check_plans_for
from bfenv.core.schedule import Schedule
from bfenv.core.text import counted
from bfenv.workloads.load import load_workload
from bfenv.workloads.logs.cleaning import left_out_text
from bfenv.workloads.logs.header import date_at, read_labels
from bfenv_site.forecasts.forecaster import Forecaster, NewJob, check_request
from bfenv_site.forecasts.knowledge import Knowledge, as_recorded, sample_waits, under_policy
from bfenv_site.forecasts.learned import FEATURES, Learner, request_in
from bfenv_site.forecasts.start_forecast import StartForecast

FUTURES = 1000
PAST = 256  # moments of earlier forecasts
PAST_FUTURES = 200  # of each
PAST_WAITING = 6  # jobs that wait, of each
STARTS = "start", "end", "trial_start", "trial_end"  # fields of a Schedule


class Source(NamedTuple):
    """Where the machine of a forecast stands: as a policy leaves it, or as the log records."""

    trace: Trace
    policy: Policy
    logged: Schedule | None  # None to simulate the policy
    seed: int
    learner: Learner | None = None  # what recorded waits teach

    def knowledge_at(self, moments: Iterable[int]) -> Iterator[Knowledge]:
        """Yield what is known at ascending moments."""
        if self.logged is not None:
            return as_recorded(self.logged, moments)
        return under_policy(self.trace, self.policy, moments, self.seed)


def forecast_starts(
    log: str | Trace,
    at: int | str | None = None,
    *,
    size: int | None = None,
    limit: int | None = None,
    user: int = -1,
    jobs: Sequence[int | str] | None = None,
    policy: str | Policy = "easy",
    recorded: bool | None = None,
    futures: int = FUTURES,
    past: int = PAST,
    seed: int = 0,
    threads: int | None = None,
) -> StartForecast:
    """Forecast when jobs will start.

    The machine as it stands is run forward many times under the policy. Runtimes are sampled from
    what is known of the users' earlier jobs, arrivals from the log's own earlier days. The
    distribution is then corrected by how earlier forecasts of this kind did. Nothing of the log
    after the moment is used.

    Args:
        log: A workload, or its name.
        at: The moment: seconds since the log began, or a date and time such as "2001-05-04 13:00"
            in the log's time zone. None for the last submission.
        size, limit, user: A job that is submitted now: processors, seconds, and the number of its
            user, or -1. Without a size, the forecast is for jobs that wait.
        jobs: The numbers of waiting jobs in the log; None for all of them.
        policy: What the site runs.
        recorded: Whether jobs have started when the log says, or when the policy would have started
            them. None for the former, if the log has starts.
        futures: How many futures.
        past: At how many earlier moments forecasts are made for the correction; 0 for none.
        seed: Equal seeds give equal forecasts, whatever the number of threads.
        threads: How many; None for one for each core.

    Returns:
        The waits in all futures, their quantiles, chances of a start, and the plan by limits.

    Raises:
        BfenvError: If the moment is outside of the log, a job is larger than the machine or does
            not wait, or an option is out of range.
        PolicyError: If the policy acts in the environment, or does not plan for requested start
            times of the log.

    Examples:
        >>> import bfenv_site
        >>> forecast = bfenv_site.forecast_starts("lublin:jobs=300", size=200, limit=3600, past=0)
        >>> forecast.job, forecast.samples.shape
        (('new',), (1, 1000))
    """
    forecaster = forecaster_at(
        log,
        at,
        policy=policy,
        recorded=recorded,
        futures=futures,
        past=past,
        seed=seed,
        threads=threads,
        new=None if size is None else NewJob(size, limit, user),
    )
    if size is not None:
        return forecaster.new(size, limit, user)
    return forecaster.waiting(jobs)


def forecaster_at(
    log: str | Trace,
    at: int | str | None = None,
    *,
    policy: str | Policy = "easy",
    recorded: bool | None = None,
    futures: int = FUTURES,
    past: int = PAST,
    seed: int = 0,
    threads: int | None = None,
    new: NewJob | None = None,
    done: Callable[[float], None] = lambda share: None,
) -> Forecaster:
    """Prepare forecasts at one moment; see `forecast_starts`.

    What a `new` job asks for is checked first. `done` is called with the share of the
    earlier forecasts that has been made.
    """
    trace = log if isinstance(log, Trace) else load_workload(log)
    futures, seed = check_integer("futures", futures, 1), check_integer("seed", seed, 0)
    moment = int(trace.jobs.submit[-1]) if at is None else moment_of(trace, at)
    source = source_of(trace, policy, recorded, seed, moment)
    submit = source.trace.jobs.submit
    if new is not None:
        check_request(new, trace.name, trace.processors, source.trace.requests)
    past_jobs = pf.past_moments(len(submit), check_integer("past", past, 0))
    past_jobs = past_jobs[submit[past_jobs] < moment].tolist()
    earlier: list[pf.PastForecasts] = []
    for knowledge, job in zip(
        source.knowledge_at([*submit[past_jobs].tolist(), moment]), [*past_jobs, -1], strict=True
    ):
        if job >= 0:
            earlier.append(
                earlier_forecasts(source, knowledge, job, join_forecasts(earlier), threads)
            )
            done(len(earlier) / len(past_jobs))
    return Forecaster(
        trace.name,
        knowledge,
        source.policy,
        join_forecasts(earlier),
        futures,
        seed,
        threads,
        notes=log_notes(trace),
        learner=source.learner,
        moments=past,
    )


def log_notes(trace: Trace) -> tuple[str, ...]:
    """Say what was dropped or assumed of a log: jobs, runtimes and limits."""
    cleaning, notes = trace.cleaning, []
    if text := left_out_text(cleaning):
        notes.append(text)
    if cleaning.clipped:
        clipped = counted(cleaning.clipped, "job ran", "jobs ran")
        notes.append(f"{clipped} longer than the limit, and counts up to it")
    return (*notes, *without_estimate(trace))


def earlier_forecasts(
    source: Source,
    knowledge: Knowledge,
    job: int,
    before: pf.PastForecasts,
    threads: int | None = None,
) -> pf.PastForecasts:
    """Forecast the start of a job as it is submitted, and of some that wait then.

    * `before`: the forecasts before these, which they are corrected by.
    """
    generator, time = np.random.default_rng((source.seed, job)), knowledge.time
    queue = knowledge.queue
    waiting_jobs = queue[knowledge.requests[SUBMIT, queue] < time]
    sample = generator.choice(
        waiting_jobs, size=min(len(waiting_jobs), PAST_WAITING), replace=False
    )
    jobs = np.append(np.sort(sample), job)
    waits = sample_waits(
        knowledge,
        knowledge.machine,
        source.policy,
        jobs,
        futures=PAST_FUTURES,
        seed=(source.seed, time),
        threads=threads,
    )
    waited = time - knowledge.requests[SUBMIT, jobs]
    request = knowledge.requests[[SIZE, ESTIMATE]][:, jobs].T
    moment, quantiles = np.full(len(jobs), time), pf.quantiles_of(waits.samples)
    corrected, rows = np.full_like(quantiles, np.nan), np.full((len(jobs), FEATURES), np.nan)
    if source.learner is not None:
        start = knowledge.starts_so_far(before.job)
        corrected = pf.corrected(quantiles, waited, request, before, start, time)
        for i, number in enumerate(jobs.tolist()):
            rows[i] = source.learner.features(request_in(source.trace, number), time)
    return pf.PastForecasts(jobs, moment, waited, request, quantiles, corrected, rows)


def join_forecasts(parts: Sequence[pf.PastForecasts]) -> pf.PastForecasts:
    """Put earlier forecasts together."""
    none = np.zeros(0, dtype=np.int64)
    request = np.zeros((0, 2), dtype=np.int64)
    levels = np.zeros((0, len(pf.LEVELS)))
    empty = pf.PastForecasts(none, none, none, request, levels, levels, np.zeros((0, FEATURES)))
    return pf.PastForecasts(*map(np.concatenate, zip(empty, *parts, strict=True)))


def source_of(
    trace: Trace, policy: str | Policy, recorded: bool | None, seed: int, moment: int | None = None
) -> Source:
    """Return where the machine stands; of a log only up to a moment, if one is given.

    Raises:
        BfenvError: If the starts of the log are asked for, and it has none.
    """
    if is_partitioned(trace):
        raise BfenvError(
            f"{trace.name} has partitions, and a forecast is for one of them: add partition=NAME "
            "to the name of the log"
        )
    if not isinstance(competitor := find_competitor(policy), PolicyCompetitor):
        raise BfenvError(
            f"{competitor.name} forecasts starts in a live queue only; for a log, choose a policy "
            "such as easy or slurm"
        )
    policy = competitor.policy
    check_plans_for(policy, trace)
    logged = None if recorded is False else logged_schedule(trace)
    if recorded and logged is None:
        raise BfenvError(f"{trace.name} records no starts")
    if moment is not None:
        count = int(np.searchsorted(trace.jobs.submit, moment, side="right"))
        trace = trace.select(slice(count))
        if logged is not None:
            parts = (getattr(logged, name)[:count] for name in STARTS)
            logged = Schedule(trace, logged.policy, 0, *parts)
    return Source(trace, policy, logged, seed, None if logged is None else Learner(logged, seed))


def moment_of(trace: Trace, at: int | str) -> int:
    """Return a moment of a log in seconds since it began.

    Raises:
        BfenvError: If it is neither a duration nor a date, is outside of the log, or is a date and
            the log does not say on which date or in which time zone it began.
    """
    if isinstance(at, str):
        try:
            moment = parse_duration(at)
        except BfenvError:
            moment = _from_date(trace, at)
    else:
        moment = check_integer("at", at)
    first, last = int(trace.jobs.submit[0]), int(trace.jobs.submit[-1])
    if not first <= moment <= last:
        begin, end = date_at(trace, first), date_at(trace, last)
        dates = f", {begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}" if begin and end else ""
        raise BfenvError(
            f"the moment {at} is outside of {trace.name}, whose jobs come from {first:,} s to "
            f"{last:,} s{dates}"
        )
    return moment


def _from_date(trace: Trace, text: str) -> int:
    try:
        date = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BfenvError(
            f"the moment {text!r} is neither a duration, such as 30d, nor a date, such as "
            "2001-05-04 13:00"
        ) from None
    begin = date_at(trace, 0)
    if begin is None:
        raise BfenvError(f"{trace.name} does not say when it began: give the moment as a duration")
    if date.tzinfo is None:
        if "TimeZoneString" not in read_labels(trace.header):
            raise BfenvError(
                f"{trace.name} names no time zone: give the moment with an offset, such as "
                f"{date.isoformat()}+01:00, or as a duration"
            )
        date = date.replace(tzinfo=begin.tzinfo)
    return round((date - begin).total_seconds())
