"""A workload on one page: runtimes, estimates, sizes and arrivals.

Two of the pictures follow papers. Tsafrir (JSSPP 2010), Figure 8, has the distributions of runtimes
and estimates; Zotkin, Keleher and Perkovic (2000), Figure 11, has the popular estimates.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import bfenv.analysis.plots.figure as fg
from bfenv.analysis.formatting import compound_duration
from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv.core.jobs import Trace
from bfenv.workloads.summary import POPULAR, hours, popular_estimates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LAYOUT: list[Any] = [
    ["distributions", "distributions", "accuracy"],
    ["popular", "sizes", "hours"],
    ["popular", "load", "load"],
]


def write_workload(trace: Trace, path: Path) -> None:
    """Write the picture of a trace to a file, completely or not at all.

    Args:
        trace: The jobs to describe.
        path: The file to write: .png, .svg or .pdf.

    Raises:
        BfenvError: If matplotlib is missing, the suffix names no format, or the file cannot be
            written.
    """
    fg.write_figure(path, draw=lambda: draw_workload(trace))


def draw_workload(trace: Trace) -> "Figure":
    """Return a drawing of a trace in six panels.

    Args:
        trace: The jobs to describe.

    Raises:
        BfenvError: If matplotlib is missing.
    """
    fg.check_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    span = int(trace.jobs.submit[-1] - trace.jobs.submit[0])
    load = f"offered load {trace.offered_load:.2f}" if span else "all jobs at once"
    machine = f"{len(trace):,} jobs on {trace.processors:,} processors"
    with rc_context(fg.STYLE):
        layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.12)
        figure = Figure(figsize=(12, 10), layout=layout)
        panels = figure.subplot_mosaic(LAYOUT)
        for name, draw in PANELS.items():
            draw(panels[name], trace)
        heading = f"{trace.name}\n{machine} in {compound_duration(span)}, {load}"
        figure.suptitle(heading, fontsize=13, x=0.02, ha="left")
    return figure


WEEK = 7 * DAY  # seconds
TIMES = {
    "1 s": 1,
    "10 s": 10,
    "1 min": MINUTE,
    "10 min": 10 * MINUTE,
    "1 h": HOUR,
    "4 h": 4 * HOUR,
    "1 d": DAY,
    "4 d": 4 * DAY,
    "30 d": 30 * DAY,
    "1 y": 365 * DAY,
}


def _distributions(axes: "Axes", trace: Trace) -> None:
    _cumulative(axes, trace.runtime, color=fg.BLUE, linewidth=2.4, label="runtime")
    _cumulative(axes, trace.jobs.estimate, color=fg.RED, linewidth=1.4, label="estimate")
    longest = int(trace.jobs.estimate.max())
    ticks = {name: seconds for name, seconds in TIMES.items() if 1 <= seconds <= 1.5 * longest}
    axes.set_xscale("log")
    axes.set_xticks(list(ticks.values()), list(ticks))
    axes.set_xticks([], minor=True)
    axes.set_xlim(1, max(1.2 * longest, 10))
    axes.set(title="Runtimes and estimates", ylabel="share of jobs (%)")
    axes.legend(loc="upper left")


def _accuracy(axes: "Axes", trace: Trace) -> None:
    accuracy = trace.runtime / trace.jobs.estimate
    bins = np.linspace(0, 1, 21).tolist()
    weights = np.full(len(accuracy), 100 / len(accuracy))
    axes.hist(accuracy, bins, weights=weights, color=fg.BLUE, rwidth=0.9)
    median = float(np.median(accuracy))
    axes.axvline(median, color=fg.RED, linewidth=1.5)
    axes.annotate(
        f"median {median:.2f}",
        (median, 0.97),
        (5 if median < 0.6 else -5, 0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        color=fg.RED,
        ha="left" if median < 0.6 else "right",
        va="top",
        bbox={"color": "white", "pad": 1.5},
    )
    axes.set(
        title="How much of the estimate is used",
        xlabel="runtime / estimate",
        ylabel="share of jobs (%)",
        xlim=(0, 1),
    )


def _popular(axes: "Axes", trace: Trace) -> None:
    popular = popular_estimates(trace)
    shares = [value["share"] * 100 for value in popular]
    bars = axes.barh(range(len(popular)), shares, color=fg.RED, height=0.75)
    axes.bar_label(bars, [_number(share) for share in shares], padding=3, color=fg.GREY)
    axes.set_yticks(
        range(len(popular)), [compound_duration(value["estimate"]) for value in popular]
    )
    axes.set_ylim(POPULAR - 0.5, -0.5)  # few bars are no thicker than many
    axes.grid(False, axis="y")
    axes.margins(x=0.15)
    axes.set(
        title=f"Most popular estimates: {_number(sum(shares))}% of jobs", xlabel="share of jobs (%)"
    )


def _sizes(axes: "Axes", trace: Trace) -> None:
    size = trace.jobs.size
    power = (size & (size - 1)) == 0
    exponent = np.ceil(np.log2(size)).astype(int)
    classes = np.arange(exponent.max() + 1)
    shares = [
        np.bincount(exponent[members], minlength=len(classes)) / len(size) * 100
        for members in (power, ~power)
    ]
    axes.bar(classes, shares[0], color=fg.BLUE, label="powers of two")
    axes.bar(classes, shares[1], bottom=shares[0], color=fg.ORANGE, label="others")
    axes.set_xticks(
        classes,
        [f"{min(2**k, trace.processors)}" for k in classes],
        rotation=45 if len(classes) > 9 else 0,
    )
    axes.grid(False, axis="x")
    axes.set(title="Sizes", xlabel="processors, up to", ylabel="share of jobs (%)")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2)


def _load(axes: "Axes", trace: Trace) -> None:
    submit = trace.jobs.submit - trace.jobs.submit[0]
    span = int(submit[-1])
    width = WEEK if span >= 8 * WEEK else DAY
    work = trace.runtime.astype(float) * trace.jobs.size
    complete = span // width  # the last part is incomplete and would look quiet
    title = f"Work submitted per {'week' if width == WEEK else 'day'}"
    axes.set(title=title, xlabel="days since the start", ylabel="share of the machine (%)")
    if complete < 2:
        axes.set_axis_off()
        axes.text(0, 0.5, "too short to tell", transform=axes.transAxes, color=fg.GREY)
        return
    parts = np.bincount(submit // width, work)[:complete] / (trace.processors * width) * 100
    axes.stairs(parts, np.arange(complete + 1) * width / DAY, color=fg.BLUE, fill=True, alpha=0.85)
    axes.axhline(100, color=fg.RED, linewidth=1.2, linestyle="--")
    axes.set(xlim=(0, complete * width / DAY), ylim=(0, None))


def _hours(axes: "Axes", trace: Trace) -> None:
    hour = hours(trace)
    counts = np.bincount(hour, minlength=24)
    axes.bar(np.arange(24) + 0.5, counts / len(hour) * 100, color=fg.GREEN, width=0.85)
    axes.axhline(100 / 24, color=fg.GREY, linewidth=1, linestyle=":")
    axes.set_xticks(range(0, 25, 6), [f"{h}:00" for h in range(0, 25, 6)])
    axes.grid(False, axis="x")
    axes.set(title="Arrivals by hour of the day", ylabel="share of jobs (%)", xlim=(0, 24))


PANELS = {
    "distributions": _distributions,
    "accuracy": _accuracy,
    "popular": _popular,
    "sizes": _sizes,
    "load": _load,
    "hours": _hours,
}


def _cumulative(axes: "Axes", values: np.ndarray, **style: Any) -> None:
    """Draw the share of values up to each distinct value."""
    distinct, counts = np.unique(values, return_counts=True)
    share = np.cumsum(counts) / len(values) * 100
    # Begins at 0 %, at a time that a log axis can show.
    axes.step(np.append(0.1, distinct), np.append(0, share), where="post", **style)
    axes.set_ylim(0, 101)


def _number(percent: float) -> str:
    if percent > 30:
        return f"{percent:.0f}"
    return f"{percent:.1f}" if percent > 0.1 else f"{percent:.1g}"
