"""How good forecasts of starts are, on the last part of a log and beside other ways."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bfenv.analysis.formatting import percent
from bfenv.baselines.registry import simulate
from bfenv.core.durations import DAY, MINUTE, format_duration
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy
from bfenv.core.schedule import Schedule
from bfenv_site.forecasts.forecast import (
    FUTURES,
    PAST,
    earlier_forecasts,
    join_forecasts,
    log_notes,
    source_of,
)
from bfenv_site.forecasts.forecaster import Forecaster
from bfenv_site.forecasts.learned import (
    SCORED,
    Regression,
    features_of,
    random_waiting,
    request_in,
)
from bfenv_site.forecasts.past_forecasts import PastForecasts, past_moments
from bfenv_site.forecasts.rivals import bound_waits, class_median

PART = 0.6  # of the jobs come before those that are evaluated
MEDIAN = 3  # of SCORED
BINS = 10  # of the reliability diagram
MONTH = 30  # days
FORECAST, FUTURES_ALONE, PLAN = "forecast", "futures alone", "plan by limits"
BOUND, CLASS, REGRESSION = "quantile bound", "median of class", "gradient boosting"
COLUMNS = ("way", "pinball", "median\nerror", "80 %\nwidth", "50 %\nholds", "80 %\nholds")
CAPTION = (
    "80 % holds: the share of the starts within the 80 % interval, with a 95 % interval by weeks. "
    "A start at an end that several levels share counts with the part of these levels that lies in "
    "the interval, for every way alike."
)
WEEK = 7 * DAY
WAYS = FORECAST, FUTURES_ALONE, PLAN, BOUND, CLASS, REGRESSION


class Outcome(NamedTuple):
    """What was forecast for one job at one moment, and what came."""

    job: int
    time: int  # seconds, the moment
    is_new: bool  # the job had just been submitted
    wait: int  # seconds from the moment
    rank: float  # share of the samples below the start, ties by chance
    quantiles: dict[str, np.ndarray]  # by way: (7,) seconds at SCORED; equal ones of a point


class Evaluation(NamedTuple):
    """All outcomes on a log."""

    log: str
    policy: str
    recorded: bool
    outcomes: list[Outcome]
    drawn: str = ""  # how many moments were drawn of those asked for, and why not more
    notes: tuple[str, ...] = ()  # what was dropped or assumed of the log


def evaluate_forecasts(
    trace: Trace,
    policy: str | Policy = "easy",
    *,
    recorded: bool | None = None,
    moments: int = 150,
    futures: int = FUTURES,
    past: int = PAST,
    seed: int = 0,
    threads: int | None = None,
    regression: bool = True,
    done: Callable[[float], None] = lambda share: None,
) -> Evaluation:
    """Forecast starts at random moments of the last 40 % of a log's jobs.

    Half of the forecasts are for jobs as they are submitted, each job as likely as another; half
    are for a job that waits at a random time.

    Args:
        trace, policy, recorded, futures, past, seed, threads: As of `bfenv_site.forecast_starts`.
        moments: How many forecasts of each kind.
        regression: Whether to compare with gradient boosting, which needs scikit-learn.
        done: Called with the share of the moments that is done.
    """
    source = source_of(trace, policy, recorded, seed)
    schedule = source.logged or simulate(trace, source.policy, seed)
    first = int(PART * len(trace))
    cases, drawn = _cases(schedule, first, moments, seed)
    submit = trace.jobs.submit
    grid: set[int] = set()
    for time, _, _ in cases:
        past_jobs = past_moments(int(np.searchsorted(submit, time, side="right")), past)
        grid.update(past_jobs.tolist())
    at: dict[int, list[int]] = {}
    for job in grid:
        at.setdefault(int(submit[job]), []).append(job)
    at |= {time: at.get(time, []) for time, _, _ in cases}
    times, outcomes = sorted(at), []
    earlier: dict[int, PastForecasts] = {}
    model = Regression(schedule, first, seed) if regression else None
    generator = np.random.default_rng((seed, 1))
    for i, (time, knowledge) in enumerate(zip(times, source.knowledge_at(times), strict=True)):
        for job in at[time]:
            moments_before = past_moments(job + 1, past)
            before = moments_before[submit[moments_before] < time].tolist()
            past_forecasts = join_forecasts(
                [earlier[moment] for moment in before if moment in earlier]
            )
            earlier[job] = earlier_forecasts(source, knowledge, job, past_forecasts, threads)
        for _, job, is_new in (case for case in cases if case[0] == time):
            past_jobs = past_moments(len(knowledge.runtime), past)
            past_jobs = past_jobs[submit[past_jobs] < time]
            forecaster = Forecaster(
                trace.name,
                knowledge,
                source.policy,
                join_forecasts([earlier[moment] for moment in past_jobs.tolist()]),
                futures,
                seed,
                threads,
                learner=source.learner,
                moments=past,
            )
            forecast = forecaster.waiting([job])
            wait = int(schedule.start[job]) - time
            below, upto = forecast.probability(wait - 0.5), forecast.probability(wait + 0.5)
            rank = float((below + generator.random() * (upto - below))[0])
            quantiles = {
                FORECAST: forecast.quantile(SCORED)[0],
                FUTURES_ALONE: np.quantile(forecast.uncorrected[0], SCORED, method="inverted_cdf"),
                PLAN: np.full(len(SCORED), forecast.plan[0]),
                **_by_past_waits(schedule, job, time),
            }
            if model is not None:
                row = features_of(schedule, request_in(trace, job), time)
                quantiles[REGRESSION] = model.quantiles(row[None])[0]
            outcomes.append(Outcome(job, time, is_new, wait, rank, quantiles))
        done((i + 1) / len(times))
    return Evaluation(
        trace.name, source.policy.name, source.logged is not None, outcomes, drawn, log_notes(trace)
    )


def _cases(
    schedule: Schedule, first: int, moments: int, seed: int
) -> tuple[list[tuple[int, int, bool]], str]:
    """Draw what is forecast: moments, jobs, and whether the job has just been submitted.

    Also return in words how many were drawn of those asked for.
    """
    generator, submit = np.random.default_rng((seed, 2)), schedule.trace.jobs.submit
    count = len(submit)
    new = generator.choice(np.arange(first, count), min(moments, count - first), replace=False)
    cases = [(int(submit[job]), int(job), True) for job in new]
    idle = 0  # times at which no job waits
    for _ in range(20 * moments):
        if len(cases) == len(new) + moments:
            break
        time = int(generator.integers(submit[first], submit[-1]))
        job = random_waiting(schedule, time, generator)
        if job >= 0:
            cases.append((time, job, False))
        idle += job < 0
    waiting = len(cases) - len(new)
    drawn = f"{len(new):,} of {moments:,} jobs as they are submitted"
    drawn += "" if len(new) == moments else f": the part of the log has {count - first:,} jobs"
    drawn += f"; {waiting:,} of {moments:,} jobs that wait"
    if waiting < moments:
        drawn += f": at {idle:,} of {20 * moments:,} random times no job waited"
    return sorted(cases), drawn


def _by_past_waits(schedule: Schedule, job: int, time: int) -> dict[str, np.ndarray]:
    jobs = schedule.trace.jobs
    started = np.flatnonzero(schedule.start < time)
    started = started[jobs.submit[started] < time]
    size, limit, wait = jobs.size[started], jobs.estimate[started], schedule.wait[started]
    request, waited = (int(jobs.size[job]), int(jobs.estimate[job])), time - int(jobs.submit[job])
    median = class_median(size, limit, wait, request, waited)
    return {
        BOUND: bound_waits(size, wait, int(jobs.size[job]), waited, SCORED),
        CLASS: np.full(len(SCORED), median),
    }


def scores(outcomes: list[Outcome], way: str) -> dict[str, float]:
    """Score one way on some outcomes.

    Returns:
        dict:
            Seconds: `pinball`, the mean loss over jobs and SCORED; `median_error`, the median of
            |wait - median|; `width` of the 80 % interval, its mean. Shares: `within_1min` and
            `within_10min`, of waits that are so close to the median; `holds_50`, `holds_80` and
            `holds_95`, of waits in the central intervals, see `share_inside`; `holds_80_low` and
            `holds_80_high`, the 95 % interval of that share if weeks are independent.
    """
    wait = np.array([outcome.wait for outcome in outcomes], dtype=np.float64)
    quantiles = np.array([outcome.quantiles[way] for outcome in outcomes])
    quantiles = np.where(np.isfinite(quantiles), quantiles, 10.0**9)
    error = wait[:, None] - quantiles
    loss = np.maximum(SCORED * error, (SCORED - 1) * error)
    off = np.abs(error[:, MEDIAN])
    result = {
        "number": float(len(outcomes)),
        "pinball": float(loss.mean()),
        "median_error": float(np.median(off)),
        "within_1min": float((off <= MINUTE).mean()),
        "within_10min": float((off <= 10 * MINUTE).mean()),
        "width": float((quantiles[:, 5] - quantiles[:, 1]).mean()),
    }
    for share in (0.5, 0.8, 0.95):
        inside = np.array(
            [share_inside(row, time, share) for row, time in zip(quantiles, wait, strict=True)]
        )
        result[f"holds_{100 * share:.0f}"] = float(inside.mean())
        if share == 0.8:
            half = 1.96 * _error_by_weeks(inside, np.array([outcome.time for outcome in outcomes]))
            result["holds_80_low"] = max(0.0, float(inside.mean()) - half)
            result["holds_80_high"] = min(1.0, float(inside.mean()) + half)
    return result


def share_inside(quantiles: np.ndarray, wait: float, share: float) -> float:
    """Return how far a wait lies in a central interval: 1 inside, 0 outside.

    Several quantiles may be equal, for example 0 s. The level of a wait that equals them could be
    anywhere between the levels of the next lower and the next higher quantile. The wait counts with
    the share of these levels that lies in the interval, which is the expectation of a randomised
    rank.

    Args:
        quantiles: (7,) at SCORED, ascending.
        wait: What came.
        share: Of the interval, such as 0.8.
    """
    below, upto = int(np.sum(quantiles < wait)), int(np.sum(quantiles <= wait))
    levels = np.concatenate([[0.0], SCORED, [1.0]])
    low, high = levels[below], levels[upto + 1]
    first, last = (1 - share) / 2, (1 + share) / 2
    return float(max(0.0, min(high, last) - max(low, first)) / (high - low))


def _error_by_weeks(inside: np.ndarray, time: np.ndarray) -> float:
    """Return the standard error of a mean whose values of a week share their fate."""
    week = np.unique(time // WEEK, return_inverse=True)[1]
    count = int(week.max()) + 1
    if count < 2:
        return 1.0
    sums = np.bincount(week, weights=inside - inside.mean())
    return float(np.sqrt(count / (count - 1) * (sums**2).sum()) / len(inside))


def reliability(outcomes: list[Outcome]) -> np.ndarray:
    """Return the share of starts that fell into each tenth of their forecast, (BINS,)."""
    rank = np.array([outcome.rank for outcome in outcomes])
    counts = np.histogram(rank, bins=BINS, range=(0, 1))[0]
    return np.asarray(counts / max(1, len(outcomes)))


def tenths(outcomes: list[Outcome]) -> str:
    """Return `reliability` as text, in per cent: ten numbers, 10 each if forecasts are right."""
    return " ".join(f"{100 * share:.0f}" for share in reliability(outcomes))


def groups(evaluation: Evaluation, *, months: bool = False) -> dict[str, list[Outcome]]:
    """Return outcomes by kind of job, or by month of 30 days since the log began."""
    by_name: dict[str, list[Outcome]] = {}
    if months:
        for outcome in evaluation.outcomes:
            by_name.setdefault(f"month {outcome.time // (MONTH * DAY) + 1}", []).append(outcome)
    else:
        by_name["all"] = evaluation.outcomes
        by_name["submitted"] = new = [outcome for outcome in evaluation.outcomes if outcome.is_new]
        by_name["submitted, waits"] = [outcome for outcome in new if outcome.wait > MINUTE]
        by_name["waiting"] = [outcome for outcome in evaluation.outcomes if not outcome.is_new]
    return {name: outcomes for name, outcomes in by_name.items() if outcomes}


def evaluation_rows(evaluation: Evaluation, *, months: bool = False) -> list[dict[str, Any]]:
    """Return the scores of each way on each group of jobs, or on each month.

    `tenths` is the share of the starts that fell into each tenth of their forecast, in per cent.
    """
    return [
        {
            "log": evaluation.log,
            "policy": evaluation.policy,
            "recorded": evaluation.recorded,
            "jobs": name,
            "way": way,
            **scores(outcomes, way),
            "tenths": tenths(outcomes) if way == FORECAST else "",
        }
        for name, outcomes in groups(evaluation, months=months).items()
        for way in WAYS
        if way in outcomes[0].quantiles
    ]


def evaluation_lines(rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return the cells of COLUMNS for each row."""
    return [
        (
            row["way"],
            f"{row['pinball']:,.0f} s",
            format_duration(row["median_error"]),
            format_duration(row["width"]),
            percent(row["holds_50"]),
            f"{100 * row['holds_80']:.1f} %"
            f" ({100 * row['holds_80_low']:.0f} to {100 * row['holds_80_high']:.0f})",
        )
        for row in rows
    ]
