"""A workload on one page: runtimes, estimates, sizes and arrivals.

The pictures are those of the literature on workloads: the distributions of runtimes and estimates
of Tsafrir (JSSPP 2010), Figure 8; and of Zotkin, Keleher and Perkovic (2000), the jobs by length,
Figures 1 and 2, the popular estimates, Figure 11, and the runtimes of jobs with the same estimate,
Figures 13 to 15. `bfenv.analysis.plots.workload_panels` draws each of them.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfenv.analysis.formatting import compound_duration
from bfenv.analysis.plots.figure import STYLE, check_matplotlib, write_figure
from bfenv.analysis.plots.workload_panels import PANELS
from bfenv.core.jobs import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAYOUT: list[Any] = [
    ["distributions", "distributions", "accuracy"],
    ["lengths", "lengths", "within"],
    ["popular", "sizes", "hours"],
    ["popular", "load", "days"],
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
    write_figure(path, draw=lambda: draw_workload(trace))


def draw_workload(trace: Trace) -> "Figure":
    """Return a drawing of a trace in nine panels.

    Args:
        trace: The jobs to describe.

    Raises:
        BfenvError: If matplotlib is missing.
    """
    check_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with rc_context(STYLE):
        layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.12)
        figure = Figure(figsize=(12, 13), layout=layout)
        panels = figure.subplot_mosaic(LAYOUT)
        for name, draw in PANELS.items():
            draw(panels[name], trace)
        figure.suptitle(_heading(trace), fontsize=13, x=0.02, ha="left")
    return figure


def _heading(trace: Trace) -> str:
    span = int(trace.jobs.submit[-1] - trace.jobs.submit[0])
    load = f"offered load {trace.offered_load:.2f}" if span else "all jobs at once"
    return (
        f"{trace.name}\n{len(trace):,} jobs on {trace.processors:,} processors "
        f"in {compound_duration(span)}, {load}"
    )
