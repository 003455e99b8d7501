"""When jobs will start: a distribution, from futures of the machine under the site's own policy."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import bfenv_site.forecasts.past_forecasts as pf
from bfenv.analysis.logged import logged_schedule, without_estimate
from bfenv.baselines.registry import find_policy
from bfenv.core.arguments import check_integer
from bfenv.core.cluster import FREE, PROCESSORS
from bfenv.core.durations import DAY, format_duration, parse_duration
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import ESTIMATE, SIZE, SUBMIT, USER, Jobs, Trace
from bfenv.core.policy import Policy, check_plans_for
from bfenv.core.schedule import Schedule
from bfenv.core.text import counted, listed
from bfenv.workloads.load import load_workload
from bfenv.workloads.logs.cleaning import left_out_text
from bfenv.workloads.logs.header import date_at, read_labels
from bfenv_site.forecasts.known import Known, as_recorded, places, sample_waits, under_policy
from bfenv_site.forecasts.learned import FEATURES, Learner, Request, is_installed, mixed, request_in
from bfenv_site.futures.futures import KnownMachine, with_waiting

FUTURES = 1000
PAST = 256  # moments of earlier forecasts
PAST_FUTURES = 200  # of each
PAST_WAITING = 6  # jobs that wait, of each
MOMENT = 600  # seconds that a scheduler may take to start a job that fits
HELD_LEVEL = 0.9  # share of the futures in which a held job would start at once
FEWEST_HELD = 20  # recorded waits of jobs that have waited as long
UNKNOWN = 0.02  # share of the samples of a held job that are beyond all recorded waits
STARTS = "start", "end", "trial_start", "trial_end"  # fields of a Schedule


@dataclass(frozen=True, eq=False)
class StartForecast:
    """When jobs will start: for each of a jobs, F equally likely waits from now on.

    A wait is infinite where the job never starts, as under a policy that starves it.
    """

    time: int  # now, in seconds since the log began
    policy: str  # its name
    job: tuple[str, ...]  # (a,) names
    size: np.ndarray  # (a,) int64 processors
    limit: np.ndarray  # (a,) int64 seconds
    waited: np.ndarray  # (a,) int64 seconds, up to now
    samples: np.ndarray  # (a, F) float64 seconds from now, ascending
    uncorrected: np.ndarray  # (a, F) float64 the same, as the futures say
    plan: np.ndarray  # (a,) float64 seconds from now, by limits alone: what `squeue --start` says
    past: int  # earlier forecasts behind the correction; 0 for none
    notes: tuple[str, ...] = ()  # what to know about the numbers

    def quantile(self, level: ArrayLike) -> np.ndarray:
        """Return the wait below which this share of the futures lies.

        Args:
            level: From 0 to 1; a number, or (l,) numbers.

        Returns:
            (a,) seconds from now, or (a, l).
        """
        levels = np.asarray(level, dtype=np.float64)
        quantiles: np.ndarray = np.quantile(self.samples, levels, axis=1, method="inverted_cdf")
        return np.moveaxis(quantiles, 0, -1) if levels.ndim else quantiles

    def interval(self, share: float = 0.8) -> np.ndarray:
        """Return the central interval that holds a share of the futures.

        Args:
            share: From 0 to 1.

        Returns:
            (a, 2) seconds from now.
        """
        return self.quantile([(1 - share) / 2, (1 + share) / 2])

    def probability(self, within: float) -> np.ndarray:
        """Return the chance of a start soon.

        Args:
            within: Seconds from now.

        Returns:
            (a,) from 0 to 1.
        """
        chances: np.ndarray = (self.samples <= within).mean(axis=1)
        return chances

    @property
    def median(self) -> np.ndarray:
        """The median wait, (a,) seconds from now."""
        return self.quantile(0.5)


class Source(NamedTuple):
    """Where the machine of a forecast stands: as a policy leaves it, or as the log records."""

    trace: Trace
    policy: Policy
    logged: Schedule | None  # None to simulate the policy
    seed: int
    learner: Learner | None = None  # what recorded waits teach

    def known_at(self, moments: Iterable[int]) -> Iterator[Known]:
        """Yield what is known at ascending moments."""
        if self.logged is not None:
            return as_recorded(self.logged, moments)
        return under_policy(self.trace, self.policy, moments, self.seed)


class Asked(NamedTuple):
    """What a live queue calls a job, and for how long it has waited or run."""

    name: str
    waited: int  # seconds since its submission


@dataclass(frozen=True, eq=False)
class Forecaster:
    """Forecasts at one moment: what is known then, and what earlier forecasts teach."""

    name: str  # of the log
    known: Known
    policy: Policy
    past: pf.PastForecasts  # those of this moment and later ones have no effect
    futures: int
    seed: int
    threads: int | None = None
    live: Mapping[int, Asked] | None = None  # the jobs of a live queue, by number
    planner: Policy | None = None  # see `sample_waits`
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)  # reasons of jobs without a forecast
    learner: Learner | None = None  # what recorded waits teach, if jobs start when a log says
    moments: int = 0  # of earlier forecasts, at most
    partitions: Mapping[str, int] = field(default_factory=dict)  # of a live queue: processors
    partition: str = ""  # the one of new jobs; empty if nothing says which, or there are none

    def largest(self) -> int:
        """Return how many processors a new job may have: all, or those of its partition.

        Raises:
            BfenvError: If nothing says in which of several partitions it is.
        """
        if len(self.partitions) > 1 and not self.partition:
            names = listed(sorted(self.partitions))
            raise BfenvError(
                f"in which partition is the new job? Choose one of {names} with --partition"
            )
        processors = int(self.known.machine.cluster.state[PROCESSORS])
        return min(processors, self.partitions.get(self.partition, processors))

    def new(self, size: int, limit: int | None, user: int = -1) -> StartForecast:
        """Forecast the start of a job that is submitted now.

        Raises:
            BfenvError: If the job is larger than the machine or its partition, or longer than any
                so far; the user is not known; or see `largest`.
        """
        knowledge, live = self.known, self.live is not None
        limits, users = knowledge.requests[[ESTIMATE, USER]]
        several = len(self.partitions) > 1
        size, limit, user = check_request(
            self.name,
            self.largest(),
            limits,
            users,
            size,
            limit,
            user,
            live,
            self.partition if several else "",
        )
        request = np.array([[knowledge.time], [size], [limit], [user], [0], [0], [1]])
        forecast = self.of(with_waiting(knowledge.machine, request), np.array([-1]))
        note = f"the new job is in partition {self.partition}"
        return replace(forecast, notes=(*forecast.notes, note)) if several else forecast

    def waiting(self, jobs: Sequence[int | str] | None = None) -> StartForecast:
        """Forecast the starts of waiting jobs, by number, or by name in a live queue; None for all.

        Raises:
            BfenvError: If a job does not wait.
        """
        queue = self.known.queue
        if jobs is None:
            if not len(queue):
                notes = f" ({'; '.join(self.notes)})" if self.left_out else ""
                state = "no job waits for processors now" if self.left_out else "no job waits now"
                raise BfenvError(f"{state}{notes}: ask for a new one by its size and limit")
            return self.of(self.known.machine, queue)
        return self.of(self.known.machine, np.array([self.number(job) for job in jobs]))

    def number(self, job: int | str) -> int:
        """Return the number of a waiting job.

        Raises:
            BfenvError: If it does not wait.
        """
        if self.live is not None:
            numbers = {asked.name: number for number, asked in self.live.items()}
            number = numbers.get(str(job), -1)
            if number not in self.known.queue:
                reason = self.left_out.get(str(job))
                state = f"has no forecast, because of {reason}" if reason else "does not wait"
                raise BfenvError(f"job {job} {state} in {self.name}")
            return number
        number = int(job) if str(job).isdecimal() else -1
        if number not in self.known.queue:
            is_submitted = 0 <= number < len(self.known.start)
            state = "has started" if is_submitted else "has not been submitted"
            raise BfenvError(f"job {job} {state} by then, {self.known.time} s: it does not wait")
        return number

    def changed(self, job: int, size: int, limit: int) -> StartForecast:
        """Forecast the start of a waiting job if it asked for something else, in its place."""
        machine = self.known.machine
        requests = machine.requests.copy()
        requests[[SIZE, ESTIMATE], np.flatnonzero(machine.job == job)] = size, limit
        requests.flags.writeable = False
        return self.of(machine._replace(requests=requests), np.array([job]))

    def of(self, machine: KnownMachine, asked: np.ndarray) -> StartForecast:
        """Forecast the starts of jobs, (a,) numbers of the machine, from its futures."""
        knowledge, past, time = self.known, self.past, self.known.time
        waits = sample_waits(
            knowledge,
            machine,
            self.policy,
            asked,
            futures=self.futures,
            seed=(self.seed, time),
            threads=self.threads,
            planner=self.planner,
        )
        requests = machine.requests[:, places(machine.job, asked)]
        waited = time - requests[SUBMIT]
        past = pf.PastForecasts(*(column[past.moment < time] for column in past))
        start = knowledge.start[past.job]
        start = np.where((start >= 0) & (start < time), start, time)  # what has happened
        samples = pf.corrected(
            waits.samples, waited, requests[[SIZE, ESTIMATE]].T, past, start, time
        )
        count = len(past.moment) if len(past.moment) >= pf.FEWEST else 0
        notes = [*self.notes]
        held = self._held(waits.samples, waited, requests[SIZE])
        recorded = {
            i: self._recorded_waits(int(waited[i]), samples.shape[1]) for i in np.flatnonzero(held)
        }
        for i, recorded_waits in recorded.items():
            samples[i] = recorded_waits
        if self.learner is not None and len(past.moment):
            if is_installed():
                samples = self._mixed(self.learner, samples, waited, asked, requests, past, start)
            else:
                notes.append(
                    "without scikit-learn, nothing is learned from recorded waits: "
                    'pip install "bfenv[site]"'
                )
        if held.any():
            held_jobs = ", ".join(str(job) for job in asked[held].tolist())
            notes.append(
                f"held by something that the policy does not know, as processors are free: job "
                f"{held_jobs}; the forecast is that of recorded waits as long as this"
            )
            # Samples in which the job never starts stay as they are.
            for i, recorded_waits in recorded.items():
                samples[i] = np.where(
                    recorded_waits == recorded_waits[-1],
                    recorded_waits,
                    np.minimum(samples[i], recorded_waits[-1]),
                )
        if not knowledge.runtime.any():
            notes.append("no job has ended yet: runtimes are only known to be below the limits")
        if not count and self.live is None:
            notes.append("there are too few earlier forecasts to correct this one by")
        names = tuple("new" if job < 0 else str(job) for job in asked.tolist())
        if self.live is not None:
            asked_jobs = [self.live.get(job, Asked("new", 0)) for job in asked.tolist()]
            names = tuple(job.name for job in asked_jobs)
            waited = np.array([job.waited for job in asked_jobs])
        return StartForecast(
            time,
            self.policy.name,
            names,
            requests[SIZE],
            requests[ESTIMATE],
            waited,
            samples,
            waits.samples,
            waits.plan,
            count,
            tuple(notes),
        )

    def _mixed(
        self,
        learner: Learner,
        samples: np.ndarray,
        waited: np.ndarray,
        asked: np.ndarray,
        requests: np.ndarray,
        past: pf.PastForecasts,
        start: np.ndarray,
    ) -> np.ndarray:
        """Mix samples with what is learned from recorded waits; shapes as in `mixed`."""
        rows = [
            learner.features(Request(job, *request), self.known.time)
            for job, request in zip(
                asked.tolist(), requests[[SIZE, ESTIMATE, USER, SUBMIT]].T.tolist(), strict=True
            )
        ]
        points = learner.points(len(self.known.start), self.moments)
        return mixed(samples, waited, np.array(rows), past, start, self.known.time, learner, points)

    def _held(self, samples: np.ndarray, waited: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Tell which jobs wait although the policy would have started them, (a,) bool.

        Such a job fits beside what runs, the policy starts it at once in nearly all futures, and it
        has waited for longer than a scheduler takes.
        """
        free = int(self.known.machine.cluster.state[FREE])
        at_once = np.quantile(samples, HELD_LEVEL, axis=1) < 1
        held: np.ndarray = (waited > MOMENT) & (size <= free) & at_once
        return held if self.learner is not None else np.zeros_like(held)

    def _recorded_waits(self, waited: int, count: int) -> np.ndarray:
        """Return how much longer jobs have waited that waited as long, (count,) ascending.

        The last samples are a day more than twice the longest of these waits, because a held job
        may never start. If fewer than FEWEST_HELD jobs have waited as long, multiples of the wait
        so far are added.
        """
        start = self.known.start
        wait = (start - self.known.requests[SUBMIT, : len(start)])[start >= 0]
        longer = np.sort(wait[wait > waited] - waited)
        if len(longer) < FEWEST_HELD:
            longer = np.sort(np.append(longer, np.array([0.5, 1, 2, 4, 8]) * waited))
        level = (np.arange(count) + 0.5) / count
        quantiles = np.quantile(longer, np.minimum(1, level * (1 + UNKNOWN)), method="inverted_cdf")
        never = 2.0 * longer[-1] + DAY
        waits: np.ndarray = np.where(level > 1 - UNKNOWN, never, quantiles.astype(np.float64))
        return waits


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
        new=None if size is None else (size, limit, user),
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
    new: tuple[int, int | None, int] | None = None,
    done: Callable[[float], None] = lambda share: None,
) -> Forecaster:
    """Prepare forecasts at one moment; see `forecast_starts`.

    A `new` job's size, limit and user are checked first. `done` is called with the share of the
    earlier forecasts that has been made.
    """
    trace = log if isinstance(log, Trace) else load_workload(log)
    futures, seed = check_integer("futures", futures, 1), check_integer("seed", seed, 0)
    moment = int(trace.jobs.submit[-1]) if at is None else moment_of(trace, at)
    source = source_of(trace, policy, recorded, seed, moment)
    submit = source.trace.jobs.submit
    if new is not None:
        jobs = source.trace.jobs
        check_request(trace.name, trace.processors, jobs.estimate, jobs.user, *new)
    chosen = pf.past_moments(len(submit), check_integer("past", past, 0))
    chosen = chosen[submit[chosen] < moment].tolist()
    earlier: list[pf.PastForecasts] = []
    for knowledge, job in zip(
        source.known_at([*submit[chosen].tolist(), moment]), [*chosen, -1], strict=True
    ):
        if job >= 0:
            earlier.append(earlier_forecasts(source, knowledge, job, joined(earlier), threads))
            done(len(earlier) / len(chosen))
    return Forecaster(
        trace.name,
        knowledge,
        source.policy,
        joined(earlier),
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


def check_request(
    name: str,
    processors: int,
    limits: np.ndarray,
    users: np.ndarray,
    size: int,
    limit: int | None,
    user: int,
    live: bool = False,
    partition: str = "",
) -> tuple[int, int, int]:
    """Check what a new job asks for against the jobs of a log so far, and return it.

    * `processors`: of the machine, or of the partition if one is given.

    Raises:
        BfenvError: As `Forecaster.new`.
    """
    size, user = check_integer("size", size, 1), check_integer("user", user, -1)
    if size > processors:
        place = f"partition {partition} of {name}" if partition else name
        raise BfenvError(
            f"a job of {counted(size, 'processor')} is larger than {place}, which has "
            f"{processors:,}"
        )
    if limit is None:
        raise BfenvError("a new job needs a limit beside its size")
    limit, longest = check_integer("limit", limit, 1), int(limits.max())
    if limit > longest and not live:
        raise BfenvError(
            f"a limit of {format_duration(limit)} is longer than any in {name} so far, "
            f"{format_duration(longest)}"
        )
    if user > users.max(initial=-1):
        raise BfenvError(f"user {user} has submitted no job in {name} so far")
    return size, limit, user


def earlier_forecasts(
    source: Source,
    known: Known,
    job: int,
    before: pf.PastForecasts,
    threads: int | None = None,
) -> pf.PastForecasts:
    """Forecast the start of a job as it is submitted, and of some that wait then.

    * `before`: the forecasts before these, which they are corrected by.
    """
    generator, time = np.random.default_rng((source.seed, job)), known.time
    queue = known.queue
    waiting_jobs = queue[known.requests[SUBMIT, queue] < time]
    chosen = generator.choice(
        waiting_jobs, size=min(len(waiting_jobs), PAST_WAITING), replace=False
    )
    asked = np.append(np.sort(chosen), job)
    waits = sample_waits(
        known,
        known.machine,
        source.policy,
        asked,
        futures=PAST_FUTURES,
        seed=(source.seed, time),
        threads=threads,
    )
    waited = time - known.requests[SUBMIT, asked]
    request = known.requests[[SIZE, ESTIMATE]][:, asked].T
    moment, quantiles = np.full(len(asked), time), pf.quantiles_of(waits.samples)
    corrected, rows = np.full_like(quantiles, np.nan), np.full((len(asked), FEATURES), np.nan)
    if source.learner is not None:
        start = known.start[before.job]
        start = np.where((start >= 0) & (start < time), start, time)
        corrected = pf.corrected(quantiles, waited, request, before, start, time)
        for i, number in enumerate(asked.tolist()):
            rows[i] = source.learner.features(request_in(source.trace, number), time)
    return pf.PastForecasts(asked, moment, waited, request, quantiles, corrected, rows)


def joined(parts: Sequence[pf.PastForecasts]) -> pf.PastForecasts:
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
    policy = find_policy(policy)
    check_plans_for(policy, trace)
    logged = None if recorded is False else logged_schedule(trace)
    if recorded and logged is None:
        raise BfenvError(f"{trace.name} records no starts")
    if moment is not None:
        count = int(np.searchsorted(trace.jobs.submit, moment, side="right"))
        trace = replace(
            trace,
            jobs=Jobs(*(column[:count] for column in trace.jobs)),
            runtime=trace.runtime[:count],
            records=None if trace.records is None else trace.records[:count],
        )
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
