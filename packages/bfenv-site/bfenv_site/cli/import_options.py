"""The options of `bfenv workloads import`: their choices, and how their texts are read."""

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfenv.core.errors import BfenvError

if TYPE_CHECKING:
    from bfenv_site.logs.selection import Selection


class Source(StrEnum):
    """Kinds of logs."""

    auto = "auto"
    sacct = "sacct"
    sacct_json = "sacct-json"
    pbs = "pbs"
    sge = "sge"
    lsf = "lsf"
    xdmod = "xdmod"
    csv = "csv"
    parquet = "parquet"


class Resource(StrEnum):
    """What counts as a processor."""

    cores = "cores"
    nodes = "nodes"
    gpus = "gpus"
    memory = "memory"
    dominant = "dominant"
    billing = "billing"


class Overrun(StrEnum):
    """What to do with a job that ran longer than its limit."""

    kill = "kill"
    extend = "extend"


def source_of(text: str) -> Source:
    """Return a kind of log; BfenvError if there is neither such a kind nor a preset of the name."""
    if text in {kind.value for kind in Source}:
        return Source(text)
    from bfenv.core.errors import UnknownNameError
    from bfenv_site.logs.presets import preset_names

    raise UnknownNameError("kind of log", text, [*(kind.value for kind in Source), *preset_names()])


MOST_SHOWN = 200  # characters of column names in a message
WITH_EPOCHS = (Source.sge, Source.lsf, Source.pbs, Source.xdmod)  # without local times


def part_path(out: Path, part: str) -> Path:
    """Return the file of a partition: site.swf.gz becomes site-gpu.swf.gz."""
    if not part:
        return out
    name, dot, suffix = out.name.partition(".swf")
    return out.with_name(f"{name}-{_safe(part)}{dot}{suffix}")


def selection_of(selection: "Selection", part: str) -> "Selection":
    """Return what to select for the file of a partition, "" for the file of all."""
    if not part:
        return selection
    return selection._replace(
        partitions=(part,),
        ids=_side_table(selection.ids, part),
        users=_side_table(selection.users, part),
    )


def _side_table(path: "str | os.PathLike[str] | None", part: str) -> Path | None:
    """Return the side table of a partition: ids.csv becomes ids-gpu.csv."""
    if path is None:
        return None
    path = Path(path)
    return path.with_name(f"{path.stem}-{_safe(part)}{path.suffix}")


def _safe(part: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", part)


def read_sizes(text: str | None, split: bool) -> dict[str, int]:
    """Return the machine's processors by partition, "" for all of it."""
    if not split:
        if text is None:
            return {}
        return {"": _integer(text)}
    if text is None or "=" not in text:
        raise BfenvError("--split-partitions needs --processors NAME=N,NAME=N")
    sizes: dict[str, int] = {}
    for item in text.split(","):
        name, _, number = (part.strip() for part in item.rpartition("="))
        if name in sizes:
            raise BfenvError(f"--processors: {item.strip()!r:.60} comes twice")
        sizes[name] = _integer(number)
    return sizes


def _integer(text: str) -> int:
    if not text.strip().isdecimal():
        raise BfenvError(
            f"--processors must be a whole number of 1 or more, got {text.strip()!r:.60}"
        )
    return int(text)


def checked_options(kind: Source, **values: Any) -> dict[str, Any]:
    """Return the options that were given, all of which the kind of log must have."""
    from bfenv_site.logs.formats import OWN_OPTIONS

    options = {name: value for name, value in values.items() if value is not None}
    for name in options:
        if name not in OWN_OPTIONS.get(kind.value, ()):
            kinds = " or --from ".join(
                source for source, names in OWN_OPTIONS.items() if name in names
            )
            option = "map" if name == "mapping" else name
            raise BfenvError(f"--{option} needs --from {kinds}")
    return options


def unmapped(log: Path, kind: Source, delimiter: str | None) -> str:
    """Say that a table needs a map, and which columns it has."""
    from bfenv.workloads.logs.text import first_lines
    from bfenv_site.logs.table import guess_delimiter

    has = ""
    if kind is Source.csv:
        first = first_lines(log)[0]
        names = (name.strip(' "') for name in first.split(delimiter or guess_delimiter(first)))
        has = f"; it has {', '.join(names)[:MOST_SHOWN]}"
    return f"{log}: which column is which? Add --map submit=Submitted,size=CPUs,...{has}"


def read_mapping(text: str) -> dict[str, str]:
    """Read a map like "field=column,field=column"."""
    mapping = {}
    for item in text.split(","):
        field, equals, column = (part.strip() for part in item.partition("="))
        if not equals or not column:
            raise BfenvError(f"--map: {item!r} is not field=column")
        if field in mapping:
            raise BfenvError(f"--map: {field} is given twice")
        mapping[field] = column
    return mapping
