"""What recorded waits teach: only what was known, and only where it has helped before."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import bfenv
import bfenv_site
from bfenv_site.forecasts.learned import (
    FEATURES,
    SCORED,
    Learner,
    Request,
    features_of,
    mixed,
    request_in,
)
from bfenv_site.forecasts.past_forecasts import LEVELS, PastForecasts, quantiles_of

MOMENTS, NOW = 60, 10**7
TRACE = bfenv.load_workload("lublin:procs=64,jobs=200,load=1.1,seed=3")


class Trees:
    """Trees that give the same quantiles at SCORED for every job."""

    def __init__(self, center):
        self.answer = np.linspace(0.8, 1.2, len(SCORED)) * center
        self.calls = []
        submit = np.arange(1000)
        self.logged = SimpleNamespace(trace=SimpleNamespace(jobs=SimpleNamespace(submit=submit)))

    def trained(self, before):
        self.calls.append(before)
        return SimpleNamespace(quantiles=lambda rows: np.tile(self.answer, (len(rows), 1)))


def past_of(samples, moments=MOMENTS):
    """Earlier forecasts, all alike, for jobs just submitted; one at each second from 600 on."""
    moment = 600 + np.arange(moments)
    quantiles = np.tile(quantiles_of(samples), (moments, 1))
    return PastForecasts(
        moment,
        moment,
        np.zeros(moments, int),
        np.ones((moments, 2), int),
        quantiles,
        quantiles,
        np.zeros((moments, FEATURES)),
    )


def mixture(trees, came, waited=0, past=None, points=(600, 900)):
    """The samples 10,000 to 20,000 s after the mixture, if these waits followed in the past."""
    samples = np.linspace(10_000, 20_000, 200)[None]
    past = past_of(samples) if past is None else past
    start = past.moment + came[: len(past.moment)]
    rows = np.zeros((1, FEATURES))
    return samples, mixed(samples, np.array([waited]), rows, past, start, NOW, trees, points)


def test_right_trees():
    """Trees that were right replace futures that were wrong."""
    came = np.linspace(800, 1200, MOMENTS).astype(int)
    _, result = mixture(Trees(1000), came)
    assert 780 <= result.min() and result.max() <= 1220
    assert np.median(result) == pytest.approx(1000, rel=0.03)


def test_right_futures():
    """Futures that were right are not changed."""
    came = np.linspace(10_000, 20_000, MOMENTS).astype(int)
    samples, result = mixture(Trees(1000), came)
    assert np.array_equal(result, samples)


def test_correction():
    """The trees say a tenth of what came, and are closer to it than futures of 10,000 s."""
    _, result = mixture(Trees(100), np.linspace(800, 1200, MOMENTS).astype(int))
    low, high = np.quantile(result, [0.1, 0.9])
    assert 780 <= low <= 900 and 1100 <= high <= 1220


@pytest.mark.parametrize("changes", [{"waited": 5}, {"points": (499, 900)}, {"few": True}])
def test_no_forecasts(changes):
    """For want of jobs that waited, of jobs to learn from, and of moments."""
    if changes.pop("few", False):
        changes["past"] = past_of(np.linspace(1e4, 2e4, 200)[None], 10)
    samples, result = mixture(Trees(1000), np.full(MOMENTS, 1000), **changes)
    assert np.array_equal(result, samples)


def test_unseen():
    """Scored trees learn from earlier jobs only. The trees of a forecast learn from all jobs."""
    trees = Trees(1000)
    mixture(trees, np.full(MOMENTS, 1000))
    assert trees.calls == [600, 900]
    earlier, latest = Learner(bfenv.simulate(TRACE, "easy"), 0).points(20_000, 256)
    assert (earlier, latest) == (18_432 - 2 * 2048, 18_432)


def test_no_future():
    """Other starts and ends after a moment change no feature at that moment."""
    schedule = bfenv.simulate(TRACE, "easy")
    time = int(TRACE.jobs.submit[150])
    later = replace(
        schedule,
        start=np.where(schedule.start >= time, schedule.start + 999, schedule.start),
        end=np.where(schedule.end > time, schedule.end + 5000, schedule.end),
    )
    for job in (150, *np.flatnonzero((schedule.start > time) & (TRACE.jobs.submit < time))[:3]):
        request = request_in(TRACE, int(job))
        assert np.array_equal(
            features_of(schedule, request, time), features_of(later, request, time)
        )


def test_features_of_new_job():
    """A new job has the features that it would have in the log."""
    schedule = bfenv.simulate(TRACE, "easy")
    time = int(TRACE.jobs.submit[150])
    size, limit, user, _ = (int(TRACE.requests[row, 150]) for row in (1, 2, 3, 0))
    without = replace(
        TRACE,
        jobs=bfenv.core.jobs.Jobs(*(np.delete(column, 150) for column in TRACE.jobs)),
        runtime=np.delete(TRACE.runtime, 150),
    )
    parts = {name: np.delete(getattr(schedule, name), 150) for name in ("start", "end")}
    other = SimpleNamespace(trace=without, **parts)
    features = features_of(other, Request(-1, size, limit, user, time), time)
    assert np.array_equal(features, features_of(schedule, request_in(TRACE, 150), time))


@pytest.mark.compiled
def test_recorded_starts(tmp_path):
    """Each job of this log waits for an hour on an idle machine: no rule of EASY says so."""
    path, count = tmp_path / "hour.swf", 900
    lines = [f"{i + 1} {5000 * i} 3600 60 1 -1 -1 1 600 -1 1 1 1 1 1 1 -1 -1" for i in range(count)]
    path.write_text("; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    forecast = bfenv_site.forecast_starts(str(path), size=1, limit=600, futures=40, past=64)
    assert forecast.interval(0.8)[0] == pytest.approx(3600, rel=0.02)
    assert len(LEVELS) == 40
