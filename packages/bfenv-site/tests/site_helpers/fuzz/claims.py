"""What must hold of a log's reader whatever is in the file: the claims that a fuzzer attacks.

A claim takes the bytes of a file, of which the first chooses options. It fails by AssertionError
or by whatever else the reader lets out, and returns whether jobs were read.
"""

import json
import re
import tempfile
import warnings
from functools import partial
from pathlib import Path

from bfenv.core.errors import BfenvError
from bfenv.workloads.logs.swf import read_swf, write_swf
from bfenv_site.logs.formats import read_log
from bfenv_site.logs.slurm import FIRST, read_sacct
from bfenv_site.logs.table import read_columns

FOLDER = tempfile.TemporaryDirectory(prefix="bfenv-fuzz-")
ZONES = ("UTC", "Europe/Prague", "America/St_Johns", "Pacific/Apia")
MAP = {
    "submit": "sub",
    "size": "n",
    "runtime": "ran",
    "start": "on",
    "end": "off",
    "estimate": "lim",
    "user": "who",
}


def swf(data: bytes) -> bool:
    """Each line with more than a comment is a job or counted; what was read is written as such."""
    choice, path = _file(data, "log.swf")
    options = {
        "processors": (None, 6, 2**40)[choice % 3],
        "overrun": ("kill", "extend")[choice // 3 % 2],
    }
    return _holds(
        read_swf, path, [line for line in _lines(path, "latin-1") if _words(line)], options
    )


def sacct(data: bytes) -> bool:
    """Each line after the first that is not blank is a job or counted, and written as such."""
    choice, path = _file(data, "dump.txt")
    options = {
        "processors": (None, 6, 2**40)[choice % 3],
        "overrun": ("kill", "extend")[choice // 3 % 2],
        "resource": ("cores", "nodes")[choice // 6 % 2],
        "eligible": bool(choice // 12 % 2),
        "longest": (None, 3600)[choice // 24 % 2],
        "timezone": ZONES[choice // 48 % 4],
    }
    lines = [line for line in _lines(path, "utf-8") if line.strip()]
    if lines and not lines[0].lstrip().startswith("{"):  # which is JSON
        return _holds(read_sacct, path, lines[0 if FIRST.match(lines[0]) else 1 :], options)
    return False


def accounting(kind, data: bytes) -> bool:
    """As of `sacct`, of a log without a line of column names."""
    choice, path = _file(data, "log")
    options = {
        "processors": (None, 6, 2**40)[choice % 3],
        "overrun": ("kill", "extend")[choice // 3 % 2],
        "longest": (None, 3600)[choice // 6 % 2],
        "timezone": ZONES[choice // 12 % 4],
    }
    options["kind"] = kind
    return _holds(read_log, path, [line for line in _lines(path, "utf-8") if line.strip()], options)


def sacct_json(data: bytes) -> bool:
    """Each record of the list of jobs is a job or counted."""
    choice, path = _file(data, "log.json")
    try:
        jobs = json.loads("\n".join(_lines(path, "utf-8")))["jobs"]
    except (ValueError, KeyError, TypeError, RecursionError):
        jobs = []
    options = {
        "processors": (None, 6, 2**40)[choice % 3],
        "kind": "sacct-json",
        "resource": ("cores", "nodes", "gpus", "memory")[choice // 3 % 4],
    }
    return _holds(read_log, path, jobs if isinstance(jobs, list) else [], options)


def xdmod(data: bytes) -> bool:
    """Each row after the first, of CSV or JSON, is a job or counted."""
    choice, path = _file(data, "export")
    options = {
        "kind": "xdmod",
        "processors": (None, 6, 2**40)[choice % 3],
        "resource": ("cores", "nodes", "gpus")[choice // 3 % 3],
        "eligible": bool(choice // 9 % 2),
        "longest": (None, 3600)[choice // 18 % 2],
    }
    rows = _after_the_first(path)
    try:
        rows = json.loads("\n".join(_lines(path, "utf-8")))[1:]
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    return _holds(read_log, path, rows, options)


def columns(data: bytes) -> bool:
    """As of `sacct`, of a table; whether Parquet or text is for the file to say."""
    choice, path = _file(data, "table.csv")
    options = {
        "mapping": MAP if choice % 2 else {name: MAP[name] for name in list(MAP)[:3]},
        "processors": (6, 2**40)[choice // 2 % 2],
        "delimiter": (None, ",")[choice // 4 % 2],
        "timezone": ZONES[choice // 8 % 4],
        "longest": (None, 3600)[choice // 32 % 2],
    }
    return _holds(read_columns, path, _after_the_first(path), options)


CLAIMS = {
    "swf": swf,
    "sacct": sacct,
    "columns": columns,
    "sacct-json": sacct_json,
    "pbs": partial(accounting, "pbs"),
    "sge": partial(accounting, "sge"),
    "lsf": partial(accounting, "lsf"),
    "xdmod": xdmod,
    "xdmod-json": xdmod,
}


def _holds(read, path: Path, lines: list[str], options: dict) -> bool:
    strict = _outcome(read, path, options)
    trace = _outcome(read, path, options | {"on_error": "skip"})
    if isinstance(trace, str):
        assert isinstance(strict, str), (
            "a trace although there is none with malformed lines skipped"
        )
        counted = re.search(r"\(([^()]*|.*e\.g\. .*)\)$", trace)
        if counted and "no line is a job" in trace:
            assert sum(map(int, re.findall(r": ([0-9]+)", counted[1]))) == len(lines), trace
        return False
    counted = len(trace) + trace.cleaning.dropped + trace.cleaning.continued
    assert counted == len(lines), (trace.cleaning, len(trace))
    work = int((trace.jobs.size.astype(object) * trace.runtime).sum())
    assert work >= 0 and all(lost >= 0 for lost in getattr(trace.cleaning, "work", {}).values())
    assert isinstance(strict, str) == bool(trace.cleaning.malformed), strict
    assert isinstance(strict, str) or strict.hash == trace.hash
    copy = path.with_name("copy.swf")
    write_swf(trace, copy)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* waits? for the end of another job")
        again = read_swf(copy)
    assert again.hash == trace.hash
    if options.get("overrun") != "extend":  # which raises estimates
        assert (again.records == trace.records).all()
    return True


def _outcome(read, path: Path, options: dict):
    """A trace, or the one line that says why there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read(path, **options)
        except BfenvError as error:
            message = str(error)
    assert "\n" not in message and len(message) < 2000, message
    assert message.startswith(str(path)), message
    return message


def _file(data: bytes, name: str) -> tuple[int, Path]:
    path = Path(FOLDER.name) / name
    path.write_bytes(data[1:])
    return (data[0] if data else 0), path


def _lines(path: Path, encoding: str) -> list[str]:
    data = path.read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif encoding == "utf-8" and b"\0\0" in (data[0:3:2], data[1:4:2]):  # without its mark
        encoding = "utf-16-le" if data[0] else "utf-16-be"
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("latin-1" if encoding == "utf-8" else encoding, errors="replace")
    return re.split("\r\n|\r|\n", text)


def _after_the_first(path: Path) -> list[str]:
    return [line for line in _lines(path, "utf-8") if line.strip()][1:]


def _words(line: str) -> list[str]:
    return line.split(";")[0].split()
