"""The logs of the Parallel Workloads Archive: their terms, and what to watch out for.

Sources: the headers of the logs, and the archive's pages,
https://www.cs.huji.ac.il/labs/parallel/workload/.
"""

import csv
import os
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from bfenv.core.errors import UnknownNameError

CITE = (
    "D. G. Feitelson, D. Tsafrir, D. Krakov: Experience with using the Parallel Workloads "
    "Archive. J. Parallel Distrib. Comput. 74(10), 2014"
)
TERMS = "free for research; cite the archive and acknowledge the log's donor"  # unless it says more


class Log(NamedTuple):
    """A log of the archive, a line of `catalogue.csv`; None is what could not be established."""

    name: str
    folder: str | None  # in the archive; its index.html describes the log
    processors: int | None  # for information; a trace takes what the log's header says
    jobs: int | None  # job lines in the file
    period: str
    acknowledge: str | None  # None: see the log's page
    remarks: str  # what to watch out for
    sha256: str | None = None  # of the unpacked text; packed copies may differ
    terms: str = TERMS


def _read(line: dict[str, Any]) -> Log:
    numbers = {name: int(line[name]) if line[name] else None for name in ("processors", "jobs")}
    texts = {name: line[name] or None for name in ("folder", "acknowledge", "sha256")}
    return Log(**line | numbers | texts | {"terms": line["terms"] or TERMS})


with files(__package__).joinpath("catalogue.csv").open(encoding="utf-8") as _file:
    CATALOGUE = tuple(map(_read, csv.DictReader(_file)))


def find_log(name: str) -> Log:
    """Return the log of a name, with or without .swf or .swf.gz.

    Raises UnknownNameError if the archive has no such log. A name therefore never leads out of a
    folder.
    """
    logs = {log.name: log for log in CATALOGUE}
    short = name.removesuffix(".gz").removesuffix(".swf")
    if short not in logs:
        raise UnknownNameError("log", name, logs)
    return logs[short]


def is_archived(name: str) -> bool:
    """Tell whether the catalogue has a log of this name."""
    return any(log.name == name for log in CATALOGUE)


SUFFIXES = (".swf.gz", ".swf")


def locate(name: str) -> Path | None:
    """Find the file of a log by its name, with or without .swf or .swf.gz; None if there is none.

    The first of the `log_folders` that has one counts; there a zipped log wins over its text.
    """
    if os.path.basename(name) != name:
        return None  # a path, which may lead anywhere
    return next(filter(None, (locate_in(folder, name) for folder in log_folders())), None)


def locate_in(folder: Path, name: str) -> Path | None:
    """Find the file of a log in one folder."""
    names = [name] if name.endswith(SUFFIXES) else [name + suffix for suffix in SUFFIXES]
    return next((folder / file for file in names if os.path.isfile(folder / file)), None)


def local_logs() -> dict[str, Path]:
    """Return the file of each log that `locate` finds, by name."""
    logs: dict[str, Path] = {}
    for folder in log_folders():
        for suffix in SUFFIXES:
            for path in folder.glob(f"*{suffix}"):
                if path.is_file():
                    logs.setdefault(path.name.removesuffix(suffix), path)
    return dict(sorted(logs.items()))


def log_folders() -> list[Path]:
    """Return where logs are looked for: the folders in $BFENV_TRACES, then the user's cache."""
    named = os.environ.get("BFENV_TRACES", "").split(os.pathsep)
    return [*(Path(folder) for folder in named if folder), cache_folder()]


def cache_folder() -> Path:
    """Return where downloads are stored; it need not exist."""
    return Path(os.environ.get("BFENV_CACHE") or platformdirs.user_cache_path("bfenv")) / "traces"
