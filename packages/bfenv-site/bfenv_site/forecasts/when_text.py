"""Forecasts of starts as rows, lines of a table, metrics of Prometheus, and a picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bfenv.analysis.formatting import percent
from bfenv.analysis.plots.figure import BLUE, ORANGE, write_figure
from bfenv.core.durations import DAY, HOUR, MINUTE, format_duration
from bfenv.core.jobs import ESTIMATE
from bfenv.core.text import one_line
from bfenv_site.forecasts.forecaster import Forecaster
from bfenv_site.forecasts.knowledge import UNLIMITED
from bfenv_site.forecasts.past_forecasts import log_scale
from bfenv_site.forecasts.start_forecast import StartForecast

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975  # of the quantiles in rows
WITHIN = {"10 min": 10 * MINUTE, "1 h": HOUR, "1 d": DAY}
COLUMNS = (
    "job",
    "size",
    "limit",
    "waited",
    "median",
    "80 % interval",
    "by\nlimits",
    *(f"within\n{span}" for span in WITHIN),
)
NEVER = "never"
SIZE_CLASSES, LIMIT_CLASSES = 4, (HOUR, 4 * HOUR, DAY)  # of the metrics
TICKS = {
    0: "now",
    MINUTE: "1 min",
    10 * MINUTE: "10 min",
    HOUR: "1 h",
    6 * HOUR: "6 h",
    DAY: "1 d",
    3 * DAY: "3 d",
    7 * DAY: "1 w",
    28 * DAY: "4 w",
}
MOST_DRAWN = 60  # jobs in a picture
LONGEST_NAME = 30  # characters of a job's name in a picture; arrays can have many more
# Of the figure's width for each character of the longest label. Programs that show an .svg have
# other fonts, in which labels may be a sixth wider than where the layout was made.
MARGIN = 0.0012


def forecast_rows(forecast: StartForecast) -> list[dict[str, Any]]:
    """Return what is known of each job as a row of raw values, in seconds and shares."""
    quantiles = forecast.quantile(LEVELS)
    chances = {name: forecast.probability(span) for name, span in WITHIN.items()}
    return [
        {
            "job": job,
            "time": forecast.time,
            "policy": forecast.policy,
            "processors": int(forecast.size[i]),
            "limit": int(forecast.limit[i]) if forecast.limit[i] < UNLIMITED else None,
            "waited": int(forecast.waited[i]),
            "plan": float(forecast.plan[i]),
            **{f"q{level:g}": float(quantiles[i, k]) for k, level in enumerate(LEVELS)},
            **{f"within {name}": float(chances[name][i]) for name in WITHIN},
            "past_forecasts": forecast.past,
        }
        for i, job in enumerate(forecast.job)
    ]


def forecast_lines(forecast: StartForecast) -> list[tuple[str, ...]]:
    """Return the cells of COLUMNS for each job; times count from now."""
    low, median, high = forecast.quantile([0.1, 0.5, 0.9]).T
    return [
        (
            job,
            f"{forecast.size[i]:,}",
            format_duration(forecast.limit[i]) if forecast.limit[i] < UNLIMITED else "none",
            format_duration(forecast.waited[i]),
            _wait(median[i]),
            f"{_wait(low[i])} to {_wait(high[i])}",
            _wait(forecast.plan[i]),
            *(percent(float(forecast.probability(span)[i])) for span in WITHIN.values()),
        )
        for i, job in enumerate(forecast.job)
    ]


def _wait(seconds: float) -> str:
    return format_duration(seconds) if np.isfinite(seconds) else NEVER


def prometheus_text(forecaster: Forecaster) -> str:
    """Return expected waits of new jobs, by classes of size and limit, in the text exposition.

    Sizes are all processors of the machine, or of the partition, and a quarter of them, again and
    again. Limits are LIMIT_CLASSES. If no job of the log has so long a limit, its longest one is
    taken instead. Notes are comments at the end.

    Raises:
        BfenvError: If nothing says in which of several partitions a new job is.
    """
    knowledge, processors = forecaster.knowledge, forecaster.largest()
    limits = knowledge.requests[ESTIMATE]
    bounded = limits[limits < UNLIMITED]
    longest = int(bounded.max()) if len(bounded) else DAY
    sizes = sorted({max(1, processors >> (2 * i)) for i in range(SIZE_CLASSES)})
    name = "bfenv_expected_wait_seconds"
    notes: dict[str, None] = {}
    partition = forecaster.partition.replace("\\", r"\\").replace('"', r"\"")
    place = f',partition="{partition}"' if len(forecaster.partitions) > 1 else ""
    lines = [
        "# HELP bfenv_waiting_jobs Jobs that wait for a start.",
        "# TYPE bfenv_waiting_jobs gauge",
        f"bfenv_waiting_jobs {len(knowledge.queue)}",
        f"# HELP {name} Wait of a job submitted now, by its processors and limit.",
        f"# TYPE {name} gauge",
    ]
    for size in sizes:
        for limit in sorted({min(limit, longest) for limit in LIMIT_CLASSES}):
            forecast = forecaster.new(size, limit)
            notes |= dict.fromkeys(forecast.notes)
            for level, wait in zip(LEVELS, forecast.quantile(LEVELS)[0], strict=True):
                value = f"{wait:g}" if np.isfinite(wait) else "+Inf"
                labels = f'policy="{forecast.policy}"{place},processors="{size}",limit="{limit}"'
                lines.append(f'{name}{{{labels},quantile="{level:g}"}} {value}')
    return "\n".join([*lines, *(f"# {one_line(note)}" for note in notes)]) + "\n"


def write_strips(forecast: StartForecast, path: Path) -> None:
    """Draw a strip for each job, at most MOST_DRAWN: its 95 %, 80 % and 50 % intervals.

    A median or a plan without a start is no mark, but the word for it at the right.

    Raises:
        BfenvError: If matplotlib is missing, the suffix is not .svg, .png or .pdf, or the file
            cannot be written.
    """
    write_figure(path, draw=lambda: _draw(forecast))


def _draw(forecast: StartForecast) -> "Figure":
    from matplotlib.figure import Figure

    count = min(len(forecast.job), MOST_DRAWN)
    quantiles = forecast.quantile(LEVELS)[:count]
    plan = forecast.plan[:count]
    finite = np.concatenate([quantiles[np.isfinite(quantiles)], plan[np.isfinite(plan)], [HOUR]])
    farthest = float(finite.max()) * 1.3
    figure = Figure(figsize=(9, 1.3 + 0.28 * count))
    axes = figure.add_subplot()
    y, shown = np.arange(count), log_scale(np.minimum(quantiles, farthest))
    for low, high, height, alpha in ((0, 6, 0.3, 0.25), (1, 5, 0.6, 0.4), (2, 4, 0.6, 0.6)):
        left, width = shown[:, low], shown[:, high] - shown[:, low]
        label = {0: "95 %", 1: "80 %", 2: "50 %"}[low]
        axes.barh(y, width, height, left, color=BLUE, alpha=alpha, linewidth=0, label=label)
    starts, is_planned = np.isfinite(quantiles[:, 3]), np.isfinite(plan)
    axes.plot(shown[starts, 3], y[starts], "|", color="black", markersize=11, label="median")
    axes.plot(
        log_scale(plan[is_planned]),
        y[is_planned],
        "D",
        color=ORANGE,
        markersize=4,
        label="plan by limits",
    )
    words = ("", "") if (starts & is_planned).all() else (f"plan: {NEVER}", f"median: {NEVER}")
    for i in np.flatnonzero(~(starts & is_planned)).tolist():
        word = words[0] if starts[i] else words[1] if is_planned[i] else NEVER
        axes.text(1.01, i, word, transform=axes.get_yaxis_transform(), va="center")
    names = [
        f"{job if len(job) <= LONGEST_NAME else f'{job[: LONGEST_NAME - 1]}…'} · {size:,} × "
        f"{format_duration(limit) if limit < UNLIMITED else 'no limit'}"
        for job, size, limit in zip(forecast.job, forecast.size, forecast.limit, strict=True)
    ][:count]
    axes.set_yticks(y, names)
    margin, margin_right = (MARGIN * max(map(len, labels)) for labels in (names, words))
    figure.set_layout_engine("constrained", rect=(margin, 0, 1 - margin - margin_right, 1))
    ticks = [seconds for seconds in TICKS if seconds <= farthest]
    axes.set_xticks(log_scale(ticks), [TICKS[seconds] for seconds in ticks])
    axes.set_xlim(-0.05, log_scale([farthest])[0])
    axes.set_ylim(count - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    more = f" (the first {count} of {len(forecast.job):,} jobs)" * (count < len(forecast.job))
    axes.set_xlabel(f"from now on{more}")
    figure.legend(loc="outside upper left", ncols=5)
    return figure
