"""Forecasts at one moment, of jobs that wait then or are submitted then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

import bfenv_site.forecasts.past_forecasts as pf
from bfenv.analysis.formatting import duration
from bfenv.core.arguments import check_integer
from bfenv.core.cluster import FREE, PROCESSORS
from bfenv.core.durations import DAY, format_duration
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import ESTIMATE, SIZE, SUBMIT, USER
from bfenv.core.policy import Policy
from bfenv.core.text import counted, listed
from bfenv_site.forecasts.knowledge import Knowledge, places, sample_waits
from bfenv_site.forecasts.learned import Learner, Request, is_installed, mixed
from bfenv_site.forecasts.start_forecast import StartForecast
from bfenv_site.futures.futures import KnownMachine, with_waiting

MOMENT = 600  # seconds that a scheduler may take to start a job that fits
HELD_LEVEL = 0.9  # share of the futures in which a held job would start at once
FEWEST_HELD = 20  # recorded waits of jobs that have waited as long
UNKNOWN = 0.02  # share of the samples of a held job that are beyond all recorded waits


class NewJob(NamedTuple):
    """What a job asks for that is submitted now."""

    size: int  # processors
    limit: int | None  # seconds; a forecast needs one
    user: int = -1  # number of its user; -1 if that is not known


class QueuedJob(NamedTuple):
    """What a live queue calls a job, and for how long it has waited or run."""

    name: str
    waited: int  # seconds since its submission


@dataclass(frozen=True, eq=False)
class Forecaster:
    """Forecasts at one moment: what is known then, and what earlier forecasts teach."""

    name: str  # of the log
    knowledge: Knowledge
    policy: Policy
    past: pf.PastForecasts  # those of this moment and later ones have no effect
    futures: int
    seed: int
    threads: int | None = None
    live: Mapping[int, QueuedJob] | None = None  # the jobs of a live queue, by number
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
        processors = int(self.knowledge.machine.cluster.state[PROCESSORS])
        return min(processors, self.partitions.get(self.partition, processors))

    def new(self, size: int, limit: int | None, user: int = -1) -> StartForecast:
        """Forecast the start of a job that is submitted now.

        Raises:
            BfenvError: If the job is larger than the machine or its partition, or longer than any
                so far; the user is not known; or see `largest`.
        """
        knowledge = self.knowledge
        several = len(self.partitions) > 1
        size, limit, user = check_request(
            NewJob(size, limit, user),
            self.name,
            self.largest(),
            knowledge.requests,
            is_live=self.live is not None,
            partition=self.partition if several else "",
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
        queue = self.knowledge.queue
        if jobs is None:
            if not len(queue):
                notes = f" ({'; '.join(self.notes)})" if self.left_out else ""
                state = "no job waits for processors now" if self.left_out else "no job waits now"
                raise BfenvError(f"{state}{notes}: ask for a new one by its size and limit")
            return self.of(self.knowledge.machine, queue)
        return self.of(self.knowledge.machine, np.array([self.number(job) for job in jobs]))

    def number(self, job: int | str) -> int:
        """Return the number of a waiting job.

        Raises:
            BfenvError: If it does not wait.
        """
        if self.live is not None:
            numbers: dict[str, int] = {}
            for number, queued in self.live.items():
                numbers.setdefault(queued.name, number)  # of an array, its first task
            number = numbers.get(str(job), -1)
            if number not in self.knowledge.queue:
                reason = self.left_out.get(str(job))
                state = f"has no forecast, because of {reason}" if reason else "does not wait"
                array = str(job).partition("_")[0] + "_["
                tasks = next((name for name in numbers if name.startswith(array)), "")
                hint = f"; its array waits as {tasks}" if tasks else ""
                raise BfenvError(f"job {job} {state} in {self.name}{hint}")
            return number
        number = int(job) if str(job).isdecimal() else -1
        if number not in self.knowledge.queue:
            count = len(self.knowledge.start)
            moment = f"{duration(self.knowledge.time)} after the beginning of {self.name}"
            if 0 <= number < count:
                raise BfenvError(f"job {job} does not wait: it has started by then, {moment}")
            raise BfenvError(
                f"job {job} has not been submitted by then, {moment}: jobs 0 to {count - 1} have"
            )
        return number

    def changed(self, job: int, size: int, limit: int) -> StartForecast:
        """Forecast the start of a waiting job if it asked for something else, in its place."""
        machine = self.knowledge.machine
        requests = machine.requests.copy()
        requests[[SIZE, ESTIMATE], np.flatnonzero(machine.job == job)] = size, limit
        requests.flags.writeable = False
        return self.of(machine._replace(requests=requests), np.array([job]))

    def of(self, machine: KnownMachine, jobs: np.ndarray) -> StartForecast:
        """Forecast the starts of jobs, (a,) numbers of the machine, from its futures."""
        knowledge, past, time = self.knowledge, self.past, self.knowledge.time
        waits = sample_waits(
            knowledge,
            machine,
            self.policy,
            jobs,
            futures=self.futures,
            seed=(self.seed, time),
            threads=self.threads,
            planner=self.planner,
        )
        requests = machine.requests[:, places(machine.job, jobs)]
        waited = time - requests[SUBMIT]
        past = pf.PastForecasts(*(column[past.moment < time] for column in past))
        start = knowledge.starts_so_far(past.job)
        samples = pf.corrected(
            waits.samples, waited, requests[[SIZE, ESTIMATE]].T, past, start, time
        )
        count = len(past.moment) if len(past.moment) >= pf.FEWEST else 0
        notes = [*self.notes]
        held_waits = self._waits_of_held(waits.samples, waited, requests[SIZE])
        for i, recorded_waits in held_waits.items():
            samples[i] = recorded_waits
        if self.learner is not None and len(past.moment):
            if is_installed():
                samples = self._mixed(self.learner, samples, waited, jobs, requests, past, start)
                for i, recorded_waits in held_waits.items():
                    longest = recorded_waits[-1]  # that of samples in which the job never starts
                    samples[i] = np.where(
                        recorded_waits == longest, longest, np.minimum(samples[i], longest)
                    )
            else:
                notes.append(
                    "without scikit-learn, nothing is learned from recorded waits: "
                    'pip install "bfenv[site]"'
                )
        if held_waits:
            held_jobs = ", ".join(str(job) for job in jobs[[*held_waits]].tolist())
            notes.append(
                f"held by something that the policy does not know, as processors are free: job "
                f"{held_jobs}; the forecast is that of recorded waits as long as this"
            )
        if not knowledge.runtime.any():
            notes.append("no job has ended yet: runtimes are only known to be below the limits")
        if not count and self.live is None:
            notes.append("there are too few earlier forecasts to correct this one by")
        names = tuple("new" if job < 0 else str(job) for job in jobs.tolist())
        if self.live is not None:
            queued_jobs = [self.live.get(job, QueuedJob("new", 0)) for job in jobs.tolist()]
            names = tuple(job.name for job in queued_jobs)
            waited = np.array([job.waited for job in queued_jobs])
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
        jobs: np.ndarray,
        requests: np.ndarray,
        past: pf.PastForecasts,
        start: np.ndarray,
    ) -> np.ndarray:
        """Mix samples with what is learned from recorded waits; shapes as in `mixed`."""
        rows = [
            learner.features(Request(job, *request), self.knowledge.time)
            for job, request in zip(
                jobs.tolist(), requests[[SIZE, ESTIMATE, USER, SUBMIT]].T.tolist(), strict=True
            )
        ]
        points = learner.points(len(self.knowledge.start), self.moments)
        return mixed(
            samples, waited, np.array(rows), past, start, self.knowledge.time, learner, points
        )

    def _waits_of_held(
        self, samples: np.ndarray, waited: np.ndarray, size: np.ndarray
    ) -> dict[int, np.ndarray]:
        """Return the recorded waits, (F,), for each job that waits although the policy starts it.

        Such a job fits beside what runs, the policy starts it at once in nearly all futures, and it
        has waited for longer than a scheduler takes. Jobs go by their place in the arrays.
        """
        if self.learner is None:
            return {}
        free = int(self.knowledge.machine.cluster.state[FREE])
        at_once = np.quantile(samples, HELD_LEVEL, axis=1) < 1
        held_jobs = np.flatnonzero((waited > MOMENT) & (size <= free) & at_once)
        return {
            i: self._recorded_waits(int(waited[i]), samples.shape[1]) for i in held_jobs.tolist()
        }

    def _recorded_waits(self, waited: int, count: int) -> np.ndarray:
        """Return how much longer jobs have waited that waited as long, (count,) ascending.

        The last samples are a day more than twice the longest of these waits, because a held job
        may never start. If fewer than FEWEST_HELD jobs have waited as long, multiples of the wait
        so far are added.
        """
        start = self.knowledge.start
        wait = (start - self.knowledge.requests[SUBMIT, : len(start)])[start >= 0]
        longer = np.sort(wait[wait > waited] - waited)
        if len(longer) < FEWEST_HELD:
            longer = np.sort(np.append(longer, np.array([0.5, 1, 2, 4, 8]) * waited))
        level = (np.arange(count) + 0.5) / count
        quantiles = np.quantile(longer, np.minimum(1, level * (1 + UNKNOWN)), method="inverted_cdf")
        never = 2.0 * longer[-1] + DAY
        waits: np.ndarray = np.where(level > 1 - UNKNOWN, never, quantiles.astype(np.float64))
        return waits


def check_request(
    job: NewJob,
    name: str,
    processors: int,
    requests: np.ndarray,
    *,
    is_live: bool = False,
    partition: str = "",
) -> tuple[int, int, int]:
    """Check what a new job asks for against the jobs of a log so far.

    Args:
        job: The new job.
        name: Of the log.
        processors: Of the machine, or of the partition if one is given.
        requests: (7, m) int64, of the jobs so far, see `Trace.requests`.
        is_live: The log is a live queue, where a limit may be longer than any so far.
        partition: That of the new job, for messages.

    Returns:
        Its size, limit and user.

    Raises:
        BfenvError: As `Forecaster.new`.
    """
    size, user = check_integer("size", job.size, 1), check_integer("user", job.user, -1)
    if size > processors:
        place = f"partition {partition} of {name}" if partition else name
        raise BfenvError(
            f"a job of {counted(size, 'processor')} is larger than {place}, which has "
            f"{processors:,}"
        )
    if job.limit is None:
        raise BfenvError("a new job needs a limit beside its size")
    limit, longest = check_integer("limit", job.limit, 1), int(requests[ESTIMATE].max())
    if limit > longest and not is_live:
        raise BfenvError(
            f"a limit of {format_duration(limit)} is longer than any in {name} so far, "
            f"{format_duration(longest)}"
        )
    if user > requests[USER].max(initial=-1):
        raise BfenvError(f"user {user} has submitted no job in {name} so far")
    return size, limit, user
