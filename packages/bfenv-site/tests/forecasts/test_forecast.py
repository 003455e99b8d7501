"""Forecasts of starts: distributions known by hand, and nothing that is not known yet."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import bfenv
import bfenv_site
from bfenv.core.jobs import Outage
from bfenv_site.forecasts import knowledge
from bfenv_site.forecasts.advice import advise
from bfenv_site.forecasts.forecast import forecaster_at
from bfenv_site.forecasts.learned import FEATURES
from bfenv_site.forecasts.past_forecasts import (
    LEVELS,
    PastForecasts,
    corrected,
    past_moments,
    quantiles_of,
)
from tests.linked_jobs import partitioned

pytestmark = pytest.mark.compiled  # forecasts simulate many futures
LOG = bfenv.load_workload("lublin:procs=64,jobs=260,load=1.1,seed=3")


def arrays(forecast):
    return forecast.samples, forecast.uncorrected, forecast.plan, forecast.waited


def same(first, second):
    return first.job == second.job and all(map(np.array_equal, arrays(first), arrays(second)))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_three_jobs(size, monkeypatch):
    """A job of `size` processors starts once `size` of three small jobs have ended."""
    trace = bfenv.make_trace([0, 0, 5], [1, 1, 1], [100, 100, 100], 3, estimate=[300] * 3)
    cases = np.array(list(product([100, 200], repeat=3)))

    def all_cases(history, jobs, chosen, ran, generator, futures):
        return np.concatenate([cases, np.full((8, 1), 50)], axis=1)

    monkeypatch.setattr(knowledge.rt, "sample_runtimes", all_cases)
    forecast = bfenv_site.forecast_starts(trace, 5, size=size, limit=60, futures=8, past=0)
    expected = sorted(sorted([a - 5, b - 5, c])[size - 1] for a, b, c in cases.tolist())
    assert forecast.samples.tolist() == [expected] and forecast.job == ("new",)
    assert forecast.plan.tolist() == [[295, 295, 300][size - 1]]
    soon = {1: 7 / 8, 2: 1 / 2, 3: 1 / 8}[size]
    assert forecast.probability(100).tolist() == [soon]
    assert forecast.median.tolist() == [expected[3]]
    assert forecast.interval(0.75).tolist() == [[expected[0], expected[6]]]


def test_first_job_of_all():
    """With no history, runtimes are only known to be below the limits, and a note says so."""
    trace = bfenv.make_trace([0, 50], [4, 4], [100, 60], 4, estimate=[1000, 60])
    forecast = bfenv_site.forecast_starts(trace, jobs=[1])
    assert forecast.time == 50 and forecast.plan.tolist() == [950]
    assert forecast.samples.min() > 0 and forecast.samples.max() <= 950
    assert abs(forecast.median[0] - 475) < 25  # all runtimes from 51 to 1,000 s are equally likely
    assert forecast.past == 0 and "no job has ended" in forecast.notes[0]
    first = bfenv_site.forecast_starts(trace, 0, futures=3)
    assert first.job == ("0",) and first.samples.tolist() == [[0, 0, 0]]


def test_users():
    """The jobs of a user tell about that user's next ones; without a user all jobs count."""
    count = 80
    submit = 2000 * np.arange(count)
    runtime = np.where(np.arange(count) % 2, 10, 1000)
    user = np.arange(count) % 2
    parts = np.append(submit, submit[-1] + 1), np.full(count + 1, 4), np.append(runtime, 900)
    medians = []
    for owner in (0, 1, -1):
        options = {"estimate": np.full(count + 1, 1500), "user": np.append(user, owner)}
        trace = bfenv.make_trace(*parts, 4, **options)
        # The last job but one runs; the last one starts when it ends, and then comes the new one.
        forecast = bfenv_site.forecast_starts(trace, size=4, limit=1500, past=0, policy="fcfs")
        medians.append(forecast.median[0])
    assert medians[0] > 990 and medians[1] < 60 and medians[1] < medians[2] < medians[0] + 20


def test_luck_of_a_user():
    """The waiting jobs of one user are all short or all long, and add up; those of many are not."""
    submit, runtime = 1000 * np.arange(50), np.tile([10, 900], 25)
    submit[-8:] = submit[-8]
    spreads = []
    for owners in (np.zeros(8, int), np.arange(8)):
        user = np.append(np.zeros(42, int), owners)
        trace = bfenv.make_trace(submit, [1] * 50, runtime, 1, estimate=[900] * 50, user=user)
        forecast = bfenv_site.forecast_starts(trace, size=1, limit=900, past=0, policy="fcfs")
        spreads.append(np.diff(forecast.interval(0.5))[0, 0])
    assert spreads[0] > 2 * spreads[1] > 0


def test_outage_to_come():
    """A job that could run into an announced outage starts after it."""
    trace = bfenv.make_trace([0, 20], [2, 2], [100, 100], 4, estimate=[150, 300])
    trace = replace(trace, outages=(Outage(200, 5000, 4),))
    for recorded in (None, False):
        long = bfenv_site.forecast_starts(trace, size=1, limit=300, past=0, recorded=recorded)
        assert (long.samples == 4980).all() and long.plan.tolist() == [4980]
        short = bfenv_site.forecast_starts(trace, size=1, limit=100, past=0, recorded=recorded)
        assert (short.samples == 0).all()


@pytest.mark.parametrize("policy", ["easy-speculative", "easy++", "conservative-replan"])
def test_threads(policy):
    """Forecasts are equal bytes by any number of threads, also under a policy with trials."""
    options = {"policy": policy, "futures": 60, "past": 2}
    forecast = bfenv_site.forecast_starts(LOG, threads=1, **options)
    assert len(forecast.job) > 5 and forecast.samples[-1].std() > 0
    assert same(forecast, bfenv_site.forecast_starts(LOG, threads=3, **options))
    assert not same(forecast, bfenv_site.forecast_starts(LOG, seed=1, **options))


def test_nothing_later_is_read():
    """Other runtimes of unfinished jobs, and other jobs after the moment, change no byte."""
    at = int(LOG.jobs.submit[200])
    end = bfenv.simulate(LOG, "easy").end
    submitted, unfinished = LOG.jobs.submit <= at, end > at
    runtime = np.where(unfinished, LOG.jobs.estimate, LOG.runtime)
    assert (runtime != LOG.runtime)[submitted].any()
    other = bfenv.make_trace(
        LOG.jobs.submit,
        np.where(submitted, LOG.jobs.size, 64),
        runtime,
        64,
        estimate=np.where(submitted, LOG.jobs.estimate, 10**6),
        user=LOG.jobs.user,
    )
    forecast, forecast_of_other = (
        bfenv_site.forecast_starts(log, at, futures=50, past=20) for log in (LOG, other)
    )
    assert forecast.past > 20 and len(forecast.job) > 5 and same(forecast, forecast_of_other)


def test_later_starts(tmp_path):
    """Where the log records starts, later ones change no byte."""
    schedule = bfenv.simulate(LOG, "fcfs")
    at = int(LOG.jobs.submit[200])
    other = replace(LOG, runtime=np.where(schedule.end > at, LOG.jobs.estimate, LOG.runtime))
    later = bfenv.simulate(other, "fcfs")
    assert np.array_equal(later.start <= at, schedule.start <= at)
    assert not np.array_equal(later.start, schedule.start)
    forecasts = []
    for trace, starts in ((LOG, schedule), (other, later)):
        path = tmp_path / f"{len(forecasts)}" / "log.swf"
        path.parent.mkdir()
        bfenv.write_swf(trace, path, starts)
        forecasts.append(bfenv_site.forecast_starts(str(path), at, futures=50, past=20))
    queue = np.flatnonzero((LOG.jobs.submit <= at) & (schedule.start >= at))
    assert forecasts[0].job == tuple(map(str, queue.tolist())) and same(*forecasts)


def test_correction():
    """If earlier jobs waited twice as long as forecast, the forecast is doubled.

    Of each moment only the forecast counts that is closest.
    """
    generator = np.random.default_rng(0)
    count, spread = 60, np.sort(generator.uniform(1e5, 2e5, 400))
    past = PastForecasts(
        np.arange(count),
        np.arange(count),
        np.zeros(count, int),
        np.ones((count, 2), int),
        *[np.repeat(quantiles_of(spread[None]), count, axis=0)] * 2,
        np.zeros((count, FEATURES)),
    )
    start = (2 * np.quantile(spread, (np.arange(count) + 0.5) / count)).astype(int)
    samples, none, request = spread[None], np.zeros(1, int), np.ones((1, 2), int)
    result = corrected(samples, none, request, past, start, 10**7)
    inner = slice(40, 360)
    assert np.allclose(result[0, inner], 2 * spread[inner], rtol=0.03)
    far = past._replace(request=2 * past.request)
    twice = PastForecasts(*map(np.concatenate, zip(past, far, strict=True)))
    other = np.where(np.arange(count) % 2, 9 * start, start // 9)
    both = corrected(samples, none, request, twice, np.append(start, other), 10**7)
    assert np.array_equal(both, result)
    few = PastForecasts(*(np.repeat(column[:10], 3, axis=0) for column in past))
    again = np.repeat(start[:10], 3)
    assert np.array_equal(corrected(samples, none, request, few, again, 10**7), samples)
    assert np.array_equal(
        corrected(samples, none + 5, request, past, start, 10**7), samples
    )  # has waited
    assert len(LEVELS) == quantiles_of(samples).shape[1]


@pytest.mark.parametrize("by_size", [True, False])
def test_expected_errors(monkeypatch, by_size):
    """Errors that grow with the size narrow a forecast; those by chance leave it as it is."""
    generator = np.random.default_rng(1)
    count, samples = 200, np.sort(generator.uniform(1e4, 2e4, (1, 300)))
    size = 2 ** generator.integers(0, 7, count)
    past = PastForecasts(
        np.arange(count),
        np.arange(count),
        np.zeros(count, int),
        np.column_stack([size, np.full(count, 3600)]),
        *[np.repeat(quantiles_of(samples), count, axis=0)] * 2,
        np.zeros((count, FEATURES)),
    )
    longer = size if by_size else generator.permutation(size)
    start = (generator.choice(samples[0], count) * longer).astype(int)
    arguments = samples, np.zeros(1, int), np.array([[8, 3600]]), past, start, 10**9
    result = corrected(*arguments)
    monkeypatch.setattr("bfenv_site.forecasts.past_forecasts.SMALLER", 0)
    low, high = (corrected(*arguments) / result)[0, [30, 270]]
    assert low < 0.8 and high > 1.2 if by_size else low == high == 1


def test_past_moments():
    """Two moments of one log share most of their earlier moments, at jobs of a fixed spacing."""
    first, second = past_moments(5000, 32), past_moments(5100, 32)
    assert len(first) == len(second) == 32 and len(np.intersect1d(first, second)) >= 30
    assert (first < 5000).all() and not len(past_moments(5000, 0)) and not len(past_moments(99, 8))


def test_advice():
    """Only a limit below the runtimes' is advised with which a job would fit before others."""
    count = 60
    submit = 100 * np.arange(count)
    trace = bfenv.make_trace(
        np.append(submit, [5990, 5995]),
        np.append(np.full(count, 1), [2, 4]),
        np.append(np.full(count, 60), [900, 900]),
        4,
        estimate=np.append(np.full(count, 4000), [1000, 4000]),
        user=np.append(np.zeros(count, int), [1, 1]),
    )
    forecaster = forecaster_at(trace, futures=100, past=0)
    (advice,) = [
        suggestion for suggestion in advise(forecaster, 2, 4000, 0) if suggestion.size == 2
    ][:1]
    assert advice.limit <= 1000 and advice.wait <= 60 < advice.before
    assert "instead of" in str(advice)
    assert not advise(forecaster, 1, 60, 0)
    waiting = advise(forecaster, job=61)
    assert all(suggestion.wait < suggestion.before for suggestion in waiting)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": 10**9}, "the moment 1000000000 is outside of lublin"),
        ({"at": "soon"}, "'soon' is neither a duration, such as 30d, nor a date"),
        ({"at": "2001-05-04 13:00"}, "does not say when it began"),
        ({"size": 65, "limit": 60}, "a job of 65 processors is larger than lublin"),
        ({"size": 1, "limit": 10**9}, "a limit of 11,574.1 d is longer than any in lublin"),
        ({"size": 1}, "a new job needs a limit"),
        (
            {"size": 1, "limit": 60, "user": 10**6},
            "user 1000000 has submitted no job in lublin so far",
        ),
        (
            {"jobs": [0]},
            "job 0 does not wait: it has started by then, .* of lublin",
        ),
        ({"jobs": [1000]}, "job 1000 has not been submitted by then, .*: jobs 0 to [0-9]+ have"),
        ({"recorded": True}, "records no starts"),
        ({"policy": "nonsense"}, "nonsense"),
        ({"futures": 0}, "futures must be"),
    ],
    ids=str,
)
def test_bad_input(options, message):
    """Each mistake is named."""
    with pytest.raises(bfenv.BfenvError, match=message):
        bfenv_site.forecast_starts(LOG, **({"past": 0} | options))


def test_partitions():
    """A log with partitions is forecast one partition at a time."""
    trace = bfenv.make_trace([0, 1, 2], [1, 2, 2], [9, 9, 9], 4)
    log = partitioned(trace, [1, 2, 2], "cpu=2,gpu=2", 4)
    with pytest.raises(bfenv.BfenvError, match="site has partitions, .* add partition=NAME"):
        bfenv_site.forecast_starts(log, past=0)
    mixed = partitioned(trace, [1, 2, 2], "", 4)
    assert bfenv_site.forecast_starts(mixed, past=0, futures=9).waited.tolist() == [0]


def test_whole_schedules(tmp_path):
    """A scheduler that cannot decide pass by pass forecasts no log; others are named."""
    conf = tmp_path / "slurm.conf"
    conf.write_text("NodeName=n[1-64] CPUs=1\nPartitionName=main Nodes=ALL Default=YES\n")
    with pytest.raises(bfenv.BfenvError, match="a live queue only; .* such as easy or slurm"):
        bfenv_site.forecast_starts(LOG, policy=f"slurm(conf={conf})", past=0)


def test_dates(site, tmp_path):
    """A moment may be a date; a log that names no time zone needs an offset with it."""
    without = tmp_path / "without.swf"
    lines = site.read_text().splitlines(keepends=True)
    without.write_text("".join(line for line in lines if "TimeZoneString" not in line))
    dated = tmp_path / "dated.swf"
    dated.write_text("; TimeZoneString: Europe/Berlin\n" + without.read_text())
    options = {"size": 1, "limit": 60, "futures": 5, "past": 0}
    berlin = bfenv_site.forecast_starts(str(dated), "2026-01-03 01:00", **options)
    offset = bfenv_site.forecast_starts(str(without), "2026-01-03 00:00+00:00", **options)
    duration = bfenv_site.forecast_starts(str(without), "2d", **options)
    assert duration.time == berlin.time == offset.time == 2 * 86400
    with pytest.raises(bfenv.BfenvError, match="names no time zone: give the moment with an off"):
        bfenv_site.forecast_starts(str(without), "2026-01-03 01:00", **options)


def test_held_job(tmp_path):
    """The log's job 30 waits alone on an idle machine for 90 minutes and more: it is held.

    The forecast is that of recorded waits as long as this, and is never sure.
    """
    lines = ["; MaxProcs: 8", "; UnixStartTime: 1767225600"]
    for job in range(30):
        lines.append(
            f"{job + 1} {job * 100} {7000 + 50 * job} 60 1 -1 -1 1 900 -1 1 1 1 1 1 1 -1 -1"
        )
    lines.append("31 20000 9000 60 1 -1 -1 1 900 -1 1 1 1 1 1 1 -1 -1")
    lines.append("32 25400 0 60 1 -1 -1 1 900 -1 1 1 1 1 1 1 -1 -1")
    path = tmp_path / "held.swf"
    path.write_text("\n".join(lines) + "\n")
    forecast = bfenv_site.forecast_starts(str(path), 25400, jobs=[30], past=0, futures=200)
    assert "held by something that the policy does not know" in " ".join(forecast.notes)
    assert 1600 <= forecast.median[0] <= 3600  # 7,000 to 8,450 s less the 5,400 s so far
    assert forecast.probability(86400)[0] < 1
