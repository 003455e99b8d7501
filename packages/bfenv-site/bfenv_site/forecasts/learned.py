"""What gradient boosting learns from recorded waits, and its mixture with the futures.

Where jobs start when a log says, a site does more than the policy that is assumed. Gradient-boosted
trees (Friedman 2001) learn what followed from the job, its user and the queue. A forecast is then a
mean of quantiles: of the corrected futures, and of the trees (Lichtendahl, Grushka-Cockayne and
Winkler 2013). The weight is the one of WEIGHTS with the least loss on earlier forecasts of the log,
those for jobs just submitted and for jobs that wait each by themselves. The trees that are compared
there were trained on jobs before all of these forecasts, so the comparison is fair.

The mixture is then corrected by the errors of the earlier mixtures (Romano, Patterson and Candès
2019): of those that resemble it most, or of all. The earlier mixtures tell which is better: those
of each block of time are corrected by the others.

Trees are trained at points of a grid, so that moments that follow each other share them.
"""

from typing import NamedTuple

import numpy as np

import bfenv_site.forecasts.past_forecasts as pf
from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import ESTIMATE, SIZE, SUBMIT, USER, Trace
from bfenv.core.schedule import Schedule

SCORED = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])  # levels that are learned and scored
WEIGHTS = 0.0, 0.25, 0.5, 0.75, 1.0  # of the trees
TRAINED = 2000  # (moment, job) pairs that trees learn from
RECENT = 20  # jobs whose mean wait they are given
FEATURES = 17
GRID = 4  # points of the grid for as many jobs as all earlier forecasts span
HELD_OUT = 2  # of these parts are behind the jobs that the compared trees learn from, and the rest
FEWEST_JOBS = 500  # to learn from
BLOCKS = 5  # of time, one after the other


class Request(NamedTuple):
    """What a job asks for."""

    number: int  # in the log; -1 of a job that is not in it, which is submitted now
    size: int  # processors
    limit: int  # seconds
    user: int
    submit: int  # seconds


def is_installed() -> bool:
    """Tell whether scikit-learn is there."""
    try:
        import sklearn.ensemble
        import threadpoolctl  # noqa: F401
    except ImportError:
        return False
    return bool(sklearn.ensemble)


def features_of(schedule: Schedule, job: Request, time: int) -> np.ndarray:
    """Return what is known of a job, its user and the queue at a time, (FEATURES,) float64."""
    trace = schedule.trace
    count = int(np.searchsorted(trace.jobs.submit, time, side="right"))
    requests, start = trace.requests[:, :count], schedule.start[:count]
    end, size, limit = schedule.end[:count], requests[SIZE], requests[ESTIMATE]
    queued, has_started = np.flatnonzero(start >= time), start < time
    is_new = job.number < 0  # it is in the queue, but not in the log
    runs = np.flatnonzero(has_started & (end > time))
    ahead = queued if is_new else queued[queued < job.number]
    same = requests[USER] == job.user
    ended = np.flatnonzero(same & (end <= time) & has_started)[-30:]
    recent = np.flatnonzero(has_started)[-RECENT:]
    wait = start - requests[SUBMIT]
    seconds = (trace.time_of_day + time) % DAY
    return np.array(
        [
            job.size,
            job.limit,
            time - job.submit,
            seconds / HOUR,
            time // DAY % 7,
            len(queued) + is_new,
            np.dot(size[queued], limit[queued]) + is_new * job.size * job.limit,
            len(ahead),
            size[ahead].sum(),
            np.dot(size[ahead], limit[ahead]),
            trace.processors - size[runs].sum(),
            len(runs),
            np.dot(size[runs], np.maximum(0, start[runs] + limit[runs] - time)),
            _mean((end - start)[ended] / limit[ended]),
            _mean(wait[ended]),
            same[queued].sum() + is_new,
            _mean(wait[recent]),
        ],
        dtype=np.float64,
    )


def request_in(trace: Trace, job: int) -> Request:
    """Return what a job of a log asks for."""
    size, limit, user, submit = trace.requests[[SIZE, ESTIMATE, USER, SUBMIT], job].tolist()
    return Request(job, size, limit, user, submit)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else -1.0


def random_waiting(schedule: Schedule, time: int, generator: np.random.Generator) -> int:
    """Return a job that waits at a time, drawn at random; -1 if there is none."""
    count = int(np.searchsorted(schedule.trace.jobs.submit, time, side="left"))
    queue = np.flatnonzero(schedule.start[:count] > time)
    return int(generator.choice(queue)) if len(queue) else -1


class Regression:
    """Gradient-boosted trees that predict quantiles of a wait from FEATURES.

    They are trained on jobs that started before a job of the log was submitted.
    """

    def __init__(self, schedule: Schedule, before: int, seed: int) -> None:
        try:
            from sklearn.ensemble import HistGradientBoostingRegressor
            from threadpoolctl import threadpool_limits
        except ImportError as error:
            raise BfenvError(
                'gradient boosting needs scikit-learn: pip install "bfenv[site]"'
            ) from error
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
            rows.append(features_of(schedule, request_in(schedule.trace, job), time))
            waits.append(schedule.start[job] - time)
        scale = pf.log_scale(np.array(waits))
        with threadpool_limits(1):  # its threads would spin while others work
            self._models = [
                HistGradientBoostingRegressor(
                    loss="quantile",
                    quantile=level,
                    max_iter=200,
                    learning_rate=0.05,
                    min_samples_leaf=10,
                    random_state=seed,
                ).fit(np.array(rows), scale)
                for level in SCORED
            ]
        self._one_thread = threadpool_limits

    def quantiles(self, rows: np.ndarray) -> np.ndarray:
        """Return quantiles of waits from now at SCORED, (n, 7) seconds, ascending.

        Args:
            rows: (n, FEATURES) of the jobs.
        """
        with self._one_thread(1):
            predictions = np.sort([model.predict(rows) for model in self._models], axis=0).T
        waits: np.ndarray = np.maximum(0, np.expm1(predictions) * MINUTE)
        return waits


class Learner:
    """Trees of a log whose starts are recorded, trained as they are asked for."""

    def __init__(self, logged: Schedule, seed: int) -> None:
        self.logged = logged
        self._seed = seed
        self._trained: dict[int, Regression] = {}

    def trained(self, before: int) -> Regression:
        """Return the trees that were trained on the jobs before one."""
        if before not in self._trained:
            self._trained[before] = Regression(self.logged, before, self._seed)
        return self._trained[before]

    def features(self, job: Request, time: int) -> np.ndarray:
        """Return what is known of a job at a time, (FEATURES,) float64."""
        return features_of(self.logged, job, time)

    def points(self, jobs: int, moments: int) -> tuple[int, int]:
        """Return before which jobs the compared trees are trained, and those of a forecast.

        Args:
            jobs: How many have been submitted.
            moments: Of earlier forecasts, at most.

        Returns:
            Two numbers of jobs; the first is below FEWEST_JOBS if there are too few.
        """
        part = max(1, moments // GRID) * pf.stride_of(jobs, max(1, moments))
        latest = max(0, jobs - 1) // part * part
        return latest - HELD_OUT * part, latest


def mixed(
    samples: np.ndarray,
    waited: np.ndarray,
    rows: np.ndarray,
    past: pf.PastForecasts,
    start: np.ndarray,
    time: int,
    learner: Learner,
    points: tuple[int, int],
) -> np.ndarray:
    """Return the samples after the mixture with what trees say, (a, F) seconds, ascending.

    Args:
        samples: The result of `past_forecasts.corrected`.
        waited: As there.
        rows: (a, FEATURES) of the jobs.
        past: Earlier forecasts, with what was known at each.
        start: (n,) int64 seconds, when their jobs have started, or any later time.
        time: Now, in seconds.
        learner: The trees.
        points: As `Learner.points` returns them.
    """
    earlier, latest = points
    result, count = samples.copy(), samples.shape[1]
    if earlier < FEWEST_JOBS:
        return result
    since = int(learner.logged.trace.jobs.submit[earlier])
    is_known = (
        (past.moment >= since) & (past.moment < time) & np.isfinite(past.corrected).all(axis=1)
    )
    for is_new in (True, False):
        jobs = np.flatnonzero(((waited == 0) == is_new) & np.isfinite(samples).all(axis=1))
        alike = np.flatnonzero(is_known & ((past.waited == 0) == is_new))
        moment = past.moment[alike]
        if not len(jobs) or len(np.unique(moment)) < pf.FEWEST:
            continue
        came = np.minimum(start, time)[alike] - moment
        past_quantiles = pf.log_scale(past.corrected[alike])
        trees = _at_levels(learner.trained(earlier).quantiles(past.features[alike]))
        weight = min(
            WEIGHTS, key=lambda share: _loss((1 - share) * past_quantiles + share * trees, came)
        )
        if not weight:
            continue
        past_quantiles = (1 - weight) * past_quantiles + weight * trees
        new_quantiles = (1 - weight) * pf.log_scale(pf.quantiles_of(samples[jobs]))
        new_quantiles += weight * _at_levels(learner.trained(latest).quantiles(rows[jobs]))
        neighbours = _neighbours(past_quantiles, came, moment)
        for job, quantiles in zip(jobs, new_quantiles, strict=True):
            moved = _moved(quantiles, past_quantiles, pf.log_scale(came), neighbours)
            values = np.maximum(0, np.expm1(moved) * MINUTE)
            result[job] = np.interp((np.arange(count) + 0.5) / count, pf.LEVELS, values)
    return result


def _neighbours(past_quantiles: np.ndarray, came: np.ndarray, moment: np.ndarray) -> int:
    """Return how many earlier forecasts correct one another best: a few, or all.

    * `past_quantiles`: (n, LEVELS) of them, on the scale of `log_scale`.
    * `came`, `moment`: (n,) seconds.
    """
    place = np.unique(moment, return_inverse=True)[1]
    block = place * BLOCKS // (int(place.max()) + 1)
    losses = {}
    for neighbours in (pf.NEIGHBOURS, len(past_quantiles)):
        corrected = np.empty_like(past_quantiles)
        for fold in range(BLOCKS):
            is_outside = block != fold
            for i in np.flatnonzero(~is_outside):
                corrected[i] = _moved(
                    past_quantiles[i],
                    past_quantiles[is_outside],
                    pf.log_scale(came[is_outside]),
                    neighbours,
                )
        losses[neighbours] = _loss(corrected, came)
    return min(losses, key=lambda neighbours: losses[neighbours])


def _moved(
    quantiles: np.ndarray, past_quantiles: np.ndarray, came: np.ndarray, neighbours: int
) -> np.ndarray:
    """Move each quantile of a forecast as the closest earlier ones would have had to be moved.

    * `quantiles`: (LEVELS,) of the forecast.
    * `past_quantiles`, `came`: (n, LEVELS) and (n,), of earlier ones.

    All are on the scale of `log_scale`.
    """
    levels = [pf.MIDDLE, pf.UPPER]
    distance = np.abs(past_quantiles[:, levels] - quantiles[levels]).sum(axis=1)
    nearest = np.argsort(distance, kind="stable")[:neighbours]
    errors = np.sort(came[nearest, None] - past_quantiles[nearest], axis=0)
    rank = np.clip(np.rint(pf.LEVELS * (len(errors) + 1)).astype(int) - 1, 0, len(errors) - 1)
    moved = np.sort(quantiles + errors[rank, np.arange(len(quantiles))])
    return moved.clip(max=max(came[nearest].max(), quantiles.max()))


def _at_levels(quantiles: np.ndarray) -> np.ndarray:
    """Return quantiles of the trees at `past_forecasts.LEVELS`, on its scale, (n, LEVELS)."""
    return np.array([np.interp(pf.LEVELS, SCORED, row) for row in pf.log_scale(quantiles)])


def _loss(quantiles: np.ndarray, came: np.ndarray) -> float:
    """Return the mean pinball loss of forecasts at LEVELS, in seconds.

    * `quantiles`: (n, LEVELS) on the scale of `log_scale`.
    * `came`: (n,) seconds.
    """
    error = came[:, None] - np.maximum(0, np.expm1(quantiles) * MINUTE)
    return float(np.maximum(pf.LEVELS * error, (pf.LEVELS - 1) * error).mean())
