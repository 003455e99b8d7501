"""Other ways to say when a job will start, against which forecasts are measured.

All use what the log has recorded up to the moment, and nothing later.
"""

import numpy as np

from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import ESTIMATE, SIZE, SUBMIT, USER, Trace
from bfenv.core.schedule import Schedule

CONFIDENCE = 0.95  # of the bounds of Brevik and Wolski
SIZE_CLASSES = 4, 16, 64  # processors: their classes are up to 4, 16, 64 and more
TRAINED = 2000  # (moment, job) pairs that the regression learns from
RECENT = 20  # jobs whose mean wait it is given
FEWEST = 5  # jobs of a class, without which all jobs count


def bound_waits(
    size: np.ndarray, wait: np.ndarray, own_size: int, waited: int, levels: np.ndarray
) -> np.ndarray:
    """Bound quantiles of a wait from past waits, with CONFIDENCE (Brevik, Nurmi and Wolski 2006).

    The k-th shortest of n waits exceeds the quantile of level q with the chance that fewer than k
    of n such waits lie below it, which is binomial; the least k of enough chance is taken. Only
    jobs of the same class of sizes count that waited longer than this one has.

    Args:
        size, wait: (n,) int64, of the jobs that have started.
        own_size, waited: The job's processors, and its wait so far in seconds.
        levels: (l,) float64.

    Returns:
        (l,) float64 seconds from now.
    """
    classes = np.digitize(size, SIZE_CLASSES, right=True)
    own = classes == np.digitize(own_size, SIZE_CLASSES, right=True)
    past = np.sort(_longer(wait, own, waited))
    if not len(past):
        return np.zeros(len(levels))
    return np.array([past[binomial_rank(len(past), level)] for level in levels]) - waited


def binomial_rank(count: int, level: float) -> int:
    """Return which of `count` ascending values bounds the quantile with CONFIDENCE, from 0.

    The last one, if no one does.
    """
    k = np.arange(1, count + 1)
    odds = np.log(level) - np.log1p(-level)
    log_chance = np.cumsum(np.log((count - k + 1) / k) + odds)
    chances = np.exp(np.append(0.0, log_chance) + count * np.log1p(-level))  # of k successes
    enough = np.cumsum(chances)[:count] >= CONFIDENCE  # at most 0, 1, .. count - 1 successes
    return int(np.argmax(enough)) if enough.any() else count - 1


def class_median(
    size: np.ndarray, limit: np.ndarray, wait: np.ndarray, own: tuple[int, int], waited: int
) -> float:
    """Return the median wait from now of jobs of the same size and limit class.

    Classes are powers of two; jobs that waited less than this one has do not count.
    """
    same = np.rint(np.log2(size)) == np.rint(np.log2(own[0]))
    same &= np.rint(np.log2(limit)) == np.rint(np.log2(own[1]))
    past = _longer(wait, same, waited)
    return float(np.median(past)) - waited if len(past) else 0.0


def _longer(wait: np.ndarray, alike: np.ndarray, waited: int) -> np.ndarray:
    """Return the waits of those jobs that are alike, or else of all, that are no shorter."""
    longer = wait >= waited
    found: np.ndarray = wait[longer & alike]
    return found if len(found) >= FEWEST else wait[longer]


class Regression:
    """Gradient-boosted trees that predict quantiles of a wait from the queue and the user.

    They are trained once, on jobs that started before a job of the log was submitted.
    """

    def __init__(self, schedule: Schedule, before: int, levels: np.ndarray, seed: int) -> None:
        try:
            from sklearn.ensemble import HistGradientBoostingRegressor
            from threadpoolctl import threadpool_limits
        except ImportError as error:
            raise BfenvError(
                'the evaluation compares with scikit-learn: pip install "bfenv[site]"'
            ) from error
        self._trace, self._schedule = schedule.trace, schedule
        submit = schedule.trace.jobs.submit
        last = int(submit[before])
        generator = np.random.default_rng(seed)
        rows, waits = [], []
        for i in range(TRAINED):
            if i % 2:
                job = int(generator.integers(before))
                time = int(submit[job])
            else:
                time = int(generator.integers(submit[0], last))
                job = random_waiting(schedule, time, generator)
            if job < 0 or schedule.start[job] >= last:
                continue
            rows.append(self.features(job, time))
            waits.append(schedule.start[job] - time)
        scale = np.log1p(np.array(waits) / MINUTE)
        with threadpool_limits(1):  # its threads would spin while others work
            self._models = [
                HistGradientBoostingRegressor(
                    loss="quantile", quantile=level, max_iter=200, learning_rate=0.05,
                    min_samples_leaf=10, random_state=seed,
                ).fit(np.array(rows), scale)
                for level in levels
            ]  # fmt: skip
        self._one_thread = threadpool_limits

    def quantiles(self, job: int, time: int) -> np.ndarray:
        """Return quantiles of the wait from now, (l,) seconds, ascending."""
        row = self.features(job, time)[None]
        with self._one_thread(1):
            found = np.sort([float(model.predict(row)[0]) for model in self._models])
        waits: np.ndarray = np.maximum(0, np.expm1(found) * MINUTE)
        return waits

    def features(self, job: int, time: int) -> np.ndarray:
        """Return what is known of a job, its user and the queue at a time, (17,) float64."""
        trace, schedule = self._trace, self._schedule
        count = int(np.searchsorted(trace.jobs.submit, time, side="right"))
        requests, start = trace.requests[:, :count], schedule.start[:count]
        end, size, limit = schedule.end[:count], requests[SIZE], requests[ESTIMATE]
        queued, has_started = np.flatnonzero(start >= time), start < time
        runs = np.flatnonzero(has_started & (end > time))
        ahead = queued[queued < job]
        same = requests[USER] == requests[USER, job]
        ended = np.flatnonzero(same & (end <= time) & has_started)[-30:]
        recent = np.flatnonzero(has_started)[-RECENT:]
        wait = start - requests[SUBMIT]
        seconds = (trace.time_of_day + time) % DAY
        return np.array(
            [
                size[job], limit[job], time - requests[SUBMIT, job], seconds / HOUR,
                time // DAY % 7, len(queued), np.dot(size[queued], limit[queued]), len(ahead),
                size[ahead].sum(), np.dot(size[ahead], limit[ahead]),
                trace.processors - size[runs].sum(), len(runs),
                np.dot(size[runs], np.maximum(0, start[runs] + limit[runs] - time)),
                _mean((end - start)[ended] / limit[ended]), _mean(wait[ended]),
                same[queued].sum(), _mean(wait[recent]),
            ],
            dtype=np.float64,
        )  # fmt: skip


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else -1.0


def random_waiting(schedule: Schedule, time: int, generator: np.random.Generator) -> int:
    """Return a job that waits at a time, drawn at random; -1 if there is none."""
    trace: Trace = schedule.trace
    count = int(np.searchsorted(trace.jobs.submit, time, side="left"))
    queue = np.flatnonzero(schedule.start[:count] > time)
    return int(generator.choice(queue)) if len(queue) else -1
