"""Common parts of all pictures: style, colours, file formats, and writing a file in one step."""

import io
import re
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
    "text.parse_math": False,  # a policy's name may have dollars
    "svg.hashsalt": "bfenv",  # equal pictures, equal files
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


INK = "#222222"  # of a text on a colour
ABOUT = "about: "  # begins the gid of what has a description in a page


def check_target(path: Path) -> None:
    """Check that a picture can be written to a file, before any work is done for it.

    Args:
        path: The file to write: .png, .svg or .pdf.

    Raises:
        BfenvError: If the suffix names no format, the folder does not exist, or matplotlib is
            missing.
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

    Raises BfenvError if matplotlib is missing.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise BfenvError("pictures need matplotlib: pip install 'bfenv[plot]'") from error


def write_figure(*paths: Path, draw: Callable[[], "Figure"], dpi: int = 150) -> None:
    """Write what `draw` returns, in the formats that the suffixes name.

    Each file is written completely or not at all.

    Raises BfenvError if `check_target` does, or if a file cannot be written.
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


def inline_svg(draw: Callable[[], "Figure"]) -> str:
    """Return the figure that `draw` returns as an element of a page.

    The page decides on colours and fonts: there are no style sheets, which its policy may forbid,
    and a colour is an attribute that a rule overrides. A gid that begins with ABOUT becomes the
    description that a browser shows of that part.

    Raises BfenvError if matplotlib is missing.
    """
    check_matplotlib()
    from matplotlib import rc_context

    data = io.StringIO()
    with rc_context(STYLE):
        draw().savefig(data, format="svg", metadata=DATES[".svg"], transparent=True)
    text = re.sub(r"\s*\n\s*", " ", data.getvalue())
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text[text.index("<svg") :])
    text = re.sub(r' (width|height)="[0-9.]+pt"', "", text)
    text = re.sub(f'<g id="{ABOUT}([^"]*)"', r"<g><title>\1</title", text)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    return re.sub(r' style="([^"]*)"', _attributes, text)


def _attributes(style: re.Match[str]) -> str:
    """Return a style as attributes, without the font's family."""
    pairs = (part.partition(": ") for part in style[1].split("; "))
    values = {name: value for name, _, value in pairs}
    if "font" in values:  # older versions of matplotlib write size and family together
        values["font-size"] = values.pop("font").split("px")[0].split()[-1] + "px"
    return "".join(f' {name}="{v}"' for name, v in values.items() if name != "font-family")
