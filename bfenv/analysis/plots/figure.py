"""What all pictures share: style, colours, file formats, and writing a file in one step."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The date, which matplotlib writes unless it is None: equal pictures are equal files.
DATES: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
# Okabe and Ito's colours, which everybody can distinguish.
BLUE, RED, GREEN, ORANGE, GREY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#6B6B6B"
STYLE: dict[Any, Any] = {  # matplotlib's rcParams
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


def check_target(path: Path) -> None:
    """Check that a picture can be written to a file, before any work is done for it.

    Parameters
    ----------
    path
        The file to write: .png, .svg or .pdf.

    Raises
    ------
    BfenvError
        If the suffix names no format, the folder does not exist, or matplotlib is missing.
    """
    if path.suffix.lower() not in DATES:
        raise BfenvError(
            f"{path}: the suffix of a picture must be {', '.join(DATES)}, got {path.suffix!r}"
        )
    if not path.absolute().parent.is_dir():
        raise BfenvError(f"no such folder: {path.parent}")
    check_matplotlib()


def check_matplotlib() -> None:
    """Check that pictures can be drawn.

    Raises
    ------
    BfenvError
        If matplotlib is missing.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise BfenvError("pictures need matplotlib: pip install 'bfenv[plot]'") from error


def write_figure(*paths: Path, draw: Callable[[], "Figure"], dpi: int = 150) -> None:
    """Write what `draw` returns, in the formats that the suffixes name.

    Each file is written completely or not at all.

    Raises
    ------
    BfenvError
        If `check_target` does, or if a file cannot be written.
    """
    for path in paths:
        check_target(path)
    from matplotlib import rc_context

    with rc_context(STYLE):
        figure = draw()
        for path in paths:
            suffix, data = path.suffix.lower(), io.BytesIO()
            figure.savefig(data, format=suffix[1:], dpi=dpi, metadata=DATES[suffix])
            write_atomically(path, data.getvalue())
            figure.set_layout_engine("none")  # the layout takes half the time, and is made now
