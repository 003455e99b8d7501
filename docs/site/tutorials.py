"""How sphinx-gallery runs the tutorials: their order, their figures, their commands."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib

from bfenv.analysis.plots.figure import BLUE, GREEN, GREY, ORANGE, RED, STYLE

ORDER = (
    "compare_policies.py",
    "write_a_scheduler.py",
    "train_an_agent.py",
    "search_a_formula.py",
    "report_on_a_cluster.py",
)
TORCH = find_spec("sb3_contrib") is not None  # without, one tutorial is shown and not run
GALLERY: dict[str, Any] = {
    "examples_dirs": "generated/tutorials",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$" if TORCH else r"/(?!train_an_agent)\w+\.py$",
    "within_subsection_order": "tutorials.place_of",
    "reset_modules": ("tutorials.prepare",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,  # that page loads scripts from elsewhere
    "thumbnail_size": (400, 240),
}


def copy(source: Path) -> None:
    """Copy the tutorials of a site, so that what they write does not stay beside them."""
    folder = source / "generated" / "tutorials"
    folder.mkdir(parents=True, exist_ok=True)
    for path in (source / "tutorials").iterdir():
        if path.is_file():
            shutil.copy2(path, folder)


def place_of(name: str) -> int:
    """Return the place of a tutorial; one that is not in ORDER is an error."""
    return ORDER.index(Path(name).name)


def prepare(settings: dict[str, Any], name: str) -> None:
    """Set up a tutorial: an empty folder, the project's style, commands where a shell finds them.

    Figures have a white background, so that they can be read on a light and on a dark page.
    """
    _remove_results(Path(settings["src_dir"]) / GALLERY["examples_dirs"])
    matplotlib.rcParams.update(matplotlib.rcParamsDefault)
    colours = matplotlib.cycler(color=(BLUE, ORANGE, GREEN, RED, "#CC79A7", GREY))
    matplotlib.rcParams.update(STYLE | {"axes.prop_cycle": colours, "savefig.dpi": 150})
    programs = str(Path(sys.executable).parent)
    if programs not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join((programs, os.environ["PATH"]))


def _remove_results(folder: Path) -> None:
    """Remove what tutorials wrote, as a training does not write over another."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in (*ORDER, "GALLERY_HEADER.rst"):
            path.unlink()
