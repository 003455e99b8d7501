"""The logs of the Parallel Workloads Archive: their terms, and what to watch out for.

Sources: the headers of the logs, and the archive's pages,
https://www.cs.huji.ac.il/labs/parallel/workload/.
"""

import csv
from importlib.resources import files
from typing import Any, NamedTuple

from bfenv.core.errors import UnknownNameError

CITE = (
    "D. G. Feitelson, D. Tsafrir, D. Krakov: Experience with using the Parallel Workloads "
    "Archive. J. Parallel Distrib. Comput. 74(10), 2014"
)
TERMS = "free for research; cite the archive and acknowledge the log's donor"  # unless it says more


class Log(NamedTuple):
    """A log of the archive, a line of `catalogue.csv`; None is what could not be established."""

    name: str
    folder: str  # in the archive; its index.html describes the log
    processors: int | None  # for information; a trace takes what the log's header says
    jobs: int | None  # job lines in the file
    period: str
    acknowledge: str | None  # None: see the log's page
    remarks: str  # what to watch out for
    sha256: str | None = None  # of the unpacked text; packed copies may differ
    terms: str = TERMS


def _read(line: dict[str, Any]) -> Log:
    numbers = {name: int(line[name]) if line[name] else None for name in ("processors", "jobs")}
    texts = {name: line[name] or None for name in ("acknowledge", "sha256")}
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
