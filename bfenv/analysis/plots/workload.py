"""A workload on one page: runtimes, estimates, sizes and arrivals.

The pictures are those by which the literature looks at workloads: the distributions of runtimes
and estimates of Tsafrir (JSSPP 2010), Figure 8, and of Zotkin, Keleher and Perkovic (2000) the
jobs by length, Figures 1 and 2, the popular estimates, Figure 11, and the runtimes of the jobs
that share one, Figures 13 to 15. Colours are Okabe and Ito's, told apart by all.
"""

import io
from itertools import pairwise
from pathlib import Path

import numpy as np

from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.jobs import Trace
from bfenv.workloads.summary import POPULAR, WEEKDAYS, hours, popular_estimates, weekdays

KINDS = (".png", ".svg", ".pdf")
DAY, WEEK = 86_400, 7 * 86_400  # seconds
BLUE, RED, GREEN, ORANGE, GREY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#6B6B6B"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": "#333333",
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "legend.frameon": False,
    "svg.hashsalt": "bfenv",  # equal pictures, equal files
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
PANELS = (
    ("distributions", "distributions", "accuracy"),
    ("lengths", "lengths", "within"),
    ("popular", "sizes", "hours"),
    ("popular", "load", "days"),
)
TIMES = {
    "1 s": 1, "10 s": 10, "1 min": 60, "10 min": 600, "1 h": 3_600, "4 h": 14_400,
    "1 d": DAY, "4 d": 4 * DAY, "30 d": 30 * DAY, "1 y": 365 * DAY,
}  # fmt: skip


def check_target(path: Path) -> None:
    """Raise BfenvError where no picture can be written, before any work is done for it."""
    if path.suffix.lower() not in KINDS:
        raise BfenvError(f"{path}: a picture is {', '.join(KINDS)}, not {path.suffix or 'that'}")
    if not path.absolute().parent.is_dir():
        raise BfenvError(f"no such folder: {path.parent}")
    _matplotlib()


def write_plot(trace: Trace, path: Path) -> None:
    """Write the picture of a trace, its kind by the file's name, in one step or not at all.

    Raises BfenvError when matplotlib is missing, for another kind, or when it cannot be written.
    """
    check_target(path)
    kind = path.suffix.lower().removeprefix(".")
    data = io.BytesIO()
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with _matplotlib().rc_context(STYLE):
        plot(trace).savefig(data, format=kind, dpi=150, metadata=undated[kind])
    write_atomically(path, data.getvalue())


def plot(trace: Trace):
    """The picture of a trace, a matplotlib Figure of nine panels.

    Raises BfenvError when matplotlib is missing.
    """
    with _matplotlib().rc_context(STYLE):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(12, 13), layout="constrained")
        panels = figure.subplot_mosaic(PANELS)
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.12)
        for panel, draw in DRAWINGS.items():
            draw(panels[panel], trace)
        figure.suptitle(_heading(trace), fontsize=13, x=0.02, ha="left")
    return figure


def duration(seconds: float) -> str:
    """A time of few words, such as 45 s, 15 min, 3 h 20 min, 36 h, 333 d."""
    units = [("d", DAY), ("h", 3600), ("min", 60), ("s", 1)]
    for (unit, length), (smaller, part) in pairwise(units):
        whole, rest = divmod(round(seconds / part), length // part)
        if whole >= 30:
            return f"{seconds / length:,.0f} {unit}"
        if whole > (unit == "d"):  # 36 h, but 2 d
            return f"{whole} {unit} {rest} {smaller}" if rest else f"{whole} {unit}"
    return f"{seconds:.0f} s"


def _matplotlib():
    try:
        import matplotlib
    except ImportError as error:
        raise BfenvError("pictures need matplotlib: pip install 'bfenv[plot]'") from error
    return matplotlib


def _heading(trace: Trace) -> str:
    span = int(trace.jobs.submit[-1] - trace.jobs.submit[0])
    load = f"offered load {trace.offered_load:.2f}" if span else "all jobs at once"
    return (
        f"{trace.name}\n{len(trace):,} jobs on {trace.processors:,} processors "
        f"in {duration(span)}, {load}"
    )


def _distributions(axes, trace: Trace) -> None:
    _cumulative(axes, trace.runtime, color=BLUE, linewidth=2.4, label="runtime")
    _cumulative(axes, trace.jobs.estimate, color=RED, linewidth=1.4, label="estimate")
    _time_axis(axes, 1, int(trace.jobs.estimate.max()))
    axes.set(title="Runtimes and estimates", ylabel="share of jobs (%)")
    axes.legend(loc="upper left")


def _accuracy(axes, trace: Trace) -> None:
    accuracy = trace.runtime / trace.jobs.estimate
    axes.hist(accuracy, np.linspace(0, 1, 21), weights=_percent(accuracy), color=BLUE, rwidth=0.9)
    median = float(np.median(accuracy))
    axes.axvline(median, color=RED, linewidth=1.5)
    axes.annotate(
        f"median {median:.2f}", (median, 0.97), (5 if median < 0.6 else -5, 0),
        xycoords=("data", "axes fraction"), textcoords="offset points", color=RED,
        ha="left" if median < 0.6 else "right", va="top",
        bbox={"color": "white", "pad": 1.5},
    )  # fmt: skip
    axes.set(
        title="How much of the estimate is used", xlabel="runtime / estimate",
        ylabel="share of jobs (%)", xlim=(0, 1),
    )  # fmt: skip


def _lengths(axes, trace: Trace) -> None:
    longest = float(np.percentile(trace.runtime, 99.5))
    width = next((w for w in (60, 300, 600, 1800, 3600) if longest / w <= 300), DAY)
    edges = np.arange(0, longest + 2 * width, width)
    axes.hist(trace.runtime / 3600, edges / 3600, color=BLUE)
    beyond = int(np.count_nonzero(trace.runtime > edges[-1]))
    axes.set(
        title=f"Jobs by length, in steps of {duration(width)}", xlabel="runtime (h)",
        ylabel="jobs", yscale="log", xlim=(0, edges[-1] / 3600),
    )  # fmt: skip
    axes.set_ylim(0.8, max(10, axes.get_ylim()[1]))
    axes.yaxis.set_major_formatter(lambda value, place: f"{value:,.0f}" if value >= 1 else "")
    axes.minorticks_off()
    if beyond:
        text = f"{beyond:,} longer, up to {duration(int(trace.runtime.max()))}"
        axes.text(1, 1, text, transform=axes.transAxes, ha="right", va="top", color=GREY)


def _within(axes, trace: Trace) -> None:
    styles = ((BLUE, "-"), (RED, "--"), (GREEN, "-."))
    for one, (colour, line) in zip(popular_estimates(trace, 3), styles, strict=False):
        runtime = np.sort(trace.runtime[trace.jobs.estimate == one["estimate"]])
        share = np.arange(len(runtime) + 1) / len(runtime) * 100
        runtime = np.append(0, runtime)
        name = f"{duration(one['estimate'])}, {_number(one['share'] * 100)}% of jobs"
        axes.step(
            runtime / one["estimate"], share, color=colour, linestyle=line, where="post", label=name
        )
    axes.set(
        title="Runtimes under the top three estimates", xlabel="runtime / estimate",
        ylabel="share of these jobs (%)", xlim=(0, 1), ylim=(0, 100),
    )  # fmt: skip
    axes.legend(loc="lower right")


def _popular(axes, trace: Trace) -> None:
    popular = popular_estimates(trace)
    shares = [one["share"] * 100 for one in popular]
    bars = axes.barh(range(len(popular)), shares, color=RED, height=0.75)
    axes.bar_label(bars, [_number(share) for share in shares], padding=3, color=GREY)
    axes.set_yticks(range(len(popular)), [duration(one["estimate"]) for one in popular])
    axes.set_ylim(POPULAR - 0.5, -0.5)  # few bars are no thicker than many
    axes.grid(False, axis="y")
    axes.margins(x=0.15)
    axes.set(
        title=f"Most popular estimates: {_number(sum(shares))}% of jobs", xlabel="share of jobs (%)"
    )


def _sizes(axes, trace: Trace) -> None:
    size = trace.jobs.size
    power = (size & (size - 1)) == 0
    place = np.ceil(np.log2(size)).astype(int)
    classes = np.arange(place.max() + 1)
    shares = [
        np.bincount(place[chosen], minlength=len(classes)) / len(size) * 100
        for chosen in (power, ~power)
    ]
    axes.bar(classes, shares[0], color=BLUE, label="powers of two")
    axes.bar(classes, shares[1], bottom=shares[0], color=ORANGE, label="others")
    axes.set_xticks(
        classes,
        [f"{min(2**k, trace.processors)}" for k in classes],
        rotation=45 if len(classes) > 9 else 0,
    )
    axes.grid(False, axis="x")
    axes.set(title="Sizes", xlabel="processors, up to", ylabel="share of jobs (%)")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2)


def _load(axes, trace: Trace) -> None:
    submit = trace.jobs.submit - trace.jobs.submit[0]
    span = int(submit[-1])
    width = WEEK if span >= 8 * WEEK else DAY
    work = trace.runtime.astype(float) * trace.jobs.size
    whole = span // width  # the last part is not over and would look like a calm one
    title = f"Work submitted per {'week' if width == WEEK else 'day'}"
    axes.set(title=title, xlabel="days since the start", ylabel="share of the machine (%)")
    if whole < 2:
        _say(axes, "too short to tell")
        return
    parts = np.bincount(submit // width, work)[:whole] / (trace.processors * width) * 100
    axes.stairs(parts, np.arange(whole + 1) * width / DAY, color=BLUE, fill=True, alpha=0.85)
    axes.axhline(100, color=RED, linewidth=1.2, linestyle="--")
    axes.set(xlim=(0, whole * width / DAY), ylim=(0, None))


def _hours(axes, trace: Trace) -> None:
    hour = hours(trace)
    counts = np.bincount(hour, minlength=24)
    axes.bar(np.arange(24) + 0.5, counts / len(hour) * 100, color=GREEN, width=0.85)
    axes.axhline(100 / 24, color=GREY, linewidth=1, linestyle=":")
    axes.set_xticks(range(0, 25, 6), [f"{h}:00" for h in range(0, 25, 6)])
    axes.grid(False, axis="x")
    axes.set(title="Arrivals by hour of the day", ylabel="share of jobs (%)", xlim=(0, 24))


def _days(axes, trace: Trace) -> None:
    day = weekdays(trace)
    axes.set(title="Arrivals by day of the week", ylabel="share of jobs (%)")
    axes.grid(False, axis="x")
    if day is None:
        _say(axes, "no weekdays are known:\na generated workload, or\na log without its date")
        return
    counts = np.bincount(day, minlength=7) / len(day) * 100
    axes.bar(range(7), counts, color=[GREEN] * 5 + [ORANGE] * 2, width=0.8)
    axes.axhline(100 / 7, color=GREY, linewidth=1, linestyle=":")
    axes.set_xticks(range(7), [name[:2] for name in WEEKDAYS])


DRAWINGS = {
    "distributions": _distributions,
    "accuracy": _accuracy,
    "lengths": _lengths,
    "within": _within,
    "popular": _popular,
    "sizes": _sizes,
    "load": _load,
    "hours": _hours,
    "days": _days,
}


def _cumulative(axes, values: np.ndarray, **style) -> None:
    """The share of the values that are at most so large, one point per distinct value."""
    distinct, counts = np.unique(values, return_counts=True)
    share = np.cumsum(counts) / len(values) * 100
    # From 0 up, at a place that a log axis can have.
    axes.step(np.append(0.1, distinct), np.append(0, share), where="post", **style)
    axes.set_ylim(0, 101)


def _time_axis(axes, first: int, last: int) -> None:
    ticks = {name: seconds for name, seconds in TIMES.items() if first <= seconds <= 1.5 * last}
    axes.set_xscale("log")
    axes.set_xticks(list(ticks.values()), list(ticks))
    axes.set_xticks([], minor=True)
    axes.set_xlim(first, max(1.2 * last, 10 * first))


def _number(percent: float) -> str:
    return (
        f"{percent:.0f}"
        if percent > 30
        else f"{percent:.1f}"
        if percent > 0.1
        else f"{percent:.1g}"
    )


def _percent(values: np.ndarray) -> np.ndarray:
    """Weights with which a histogram shows percents."""
    return np.full(len(values), 100 / len(values))


def _say(axes, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY)
