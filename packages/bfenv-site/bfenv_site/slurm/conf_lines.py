"""The syntax of a slurm.conf: its lines, the files that it includes, and lists of nodes.

Source: slurm.conf(5) of Slurm 22.05 to 25.11.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.files import read_file
from bfenv.core.text import shown

MOST_NODES = 10**6  # of a cluster; more is a mistake
MOST_DIGITS = 12  # of a number in the name of a node
MOST_LINES = 10**5  # of a slurm.conf and the files that it includes
LARGEST_FILE = 2**22  # bytes of any of these
GZIPPED = b"\x1f\x8b"  # how a packed file begins
DEEPEST = 20  # files that include each other
NAME = re.compile(r"[^,\[\]]+|\[[^\[\]]*\]")
# Old names of settings of nodes and partitions that Slurm still reads
OLD_NAMES = {"procs": "cpus", "shared": "oversubscribe", "features": "feature"}
CONTINUED = "\0"  # in place of the end of a line that goes on
# A value in quotes, or up to the next space, with quotes inside of it or not
SETTING = re.compile(r'([^\s="]+)\s*[-+*/]?=\s*("[^"]*"|[^\s"]\S*|)(?=\s|$)\s*')
COMMENT = re.compile(r"(?<!\\)#.*")  # as Slurm does, before lines are joined


class Line(NamedTuple):
    """The settings of a line, by their names in lower case, and where it stands."""

    values: dict[str, str]
    position: str  # "line 3", or "nodes.conf, line 3" of a file that is included


@contextmanager
def error_prefix(source: str | os.PathLike[str]) -> Iterator[None]:
    """Put a source in front of the messages of PolicyErrors that are raised within."""
    try:
        yield
    except PolicyError as error:
        raise PolicyError(f"{source}: {error}") from error
    except BfenvError as error:  # of `read_file`, whose messages name the file
        raise PolicyError(str(error)) from error


def read_lines(path: Path, first: Path, depth: int = 0) -> list[Line]:
    """Return the settings of each line of a file, and of the files that it includes.

    * `path`: the file.
    * `first`: the slurm.conf that it belongs to.
    * `depth`: how many files include it.

    Raises FileNotFoundError if the file does not exist, BfenvError if it is no regular file or too
    large, and PolicyError if a line cannot be read or an included file is not found.
    """
    if depth > DEEPEST:
        raise PolicyError(f"{path.name} is included by itself")
    data = read_file(path, LARGEST_FILE)
    if b"\0" in data or data.startswith(GZIPPED):
        raise PolicyError(f"{path.name} is not a text file")
    text = COMMENT.sub("", data.decode("utf-8-sig", errors="replace").replace(CONTINUED, ""))
    text = re.sub(r"\\[ \t]*\r?\n", lambda _: CONTINUED, text)
    lines: list[Line] = []
    number = 1
    for line in text.split("\n"):
        position = f"line {number}" if path == first else f"{path.name}, line {number}"
        number += 1 + line.count(CONTINUED)
        line = line.replace(CONTINUED, "").strip()
        if re.match(r"include\s+[^\s=]", line, re.IGNORECASE):
            included = _included(line.split(None, 1)[1].strip(), path, first, position, lines)
            lines += read_lines(included, first, depth + 1)
            if len(lines) > MOST_LINES:
                raise PolicyError(f"{position}: more than {MOST_LINES:,} settings")
            continue
        items, end = [], 0
        while match := SETTING.match(line, end):
            items.append((match[1].lower(), match[2].strip('"').strip()))
            end = match.end()
        if end < len(line):
            fault = (
                "a quote is not closed"
                if line.count('"') % 2
                else f"{shown(line)} is not NAME=VALUE"
            )
            raise PolicyError(f"{position}: {fault}")
        if items and items[0][0] == "include":
            raise PolicyError(f"{position}: Include takes a file behind a space, not an '='")
        if items and items[0][0] in ("nodename", "partitionname", "nodeset", "downnodes"):
            lines.append(
                Line({OLD_NAMES.get(name, name): value for name, value in items}, position)
            )
        else:
            lines += [Line({name: value}, position) for name, value in items]
    return lines


def _included(text: str, path: Path, first: Path, position: str, lines: list[Line]) -> Path:
    """Return the path of an included file; PolicyError if it is not found.

    It is looked for below the folder of the slurm.conf, also if its name is absolute: a copy of
    /etc/slurm has the file at the same place of the copy. The folder of the file that includes it
    comes next. "%c" is the name of the cluster.
    """
    names = [line.values["clustername"] for line in lines if "clustername" in line.values]
    name = Path(text.strip('"').replace("%c", names[-1].lower() if names else ""))
    parts = name.parts[1:] if name.is_absolute() else name.parts
    folders = dict.fromkeys((first.parent, path.parent))
    places = [folder.joinpath(*parts[i:]) for folder in folders for i in range(len(parts))]
    places += [name] if name.is_absolute() else []
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise PolicyError(f"{position}: Include {shown(text)} is not found beside {first.name}")
    return file


def with_defaults(lines: list[Line], kind: str) -> list[Line]:
    """Return the lines of nodes or partitions with what the line DEFAULT before them says."""
    default: dict[str, str] = {}
    full_lines = []
    for line in lines:
        if kind not in line.values:
            continue
        if line.values[kind].upper() == "DEFAULT":
            default |= line.values
        else:
            full_lines.append(Line({**default, **line.values}, line.position))
    return full_lines


def expand_names(text: str) -> list[str]:
    """Return the names in a list such as "n[01-16,20],login"; PolicyError if it cannot be read."""
    names: list[str] = []
    if set(re.sub(r"\[[^\[\]]*\]", "", text)) & set("[]"):
        raise PolicyError(f"a bracket in {shown(text)} has no other one")
    for item in re.findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+", text):
        expansions = [""]
        for part in NAME.findall(item):
            pieces = [part]
            if part[0] == "[":
                pieces = []
                for piece in part[1:-1].split(","):
                    first, dash, last = piece.partition("-")
                    last = last if dash else first
                    is_range = first.isdecimal() and last.isdecimal()
                    is_range = is_range and max(len(first), len(last)) <= MOST_DIGITS
                    if not is_range or int(last) < int(first):
                        raise PolicyError(f"{shown(piece)} in {shown(text)} is no range")
                    if int(last) - int(first) > MOST_NODES:
                        raise PolicyError(f"{shown(text)} has too many names")
                    numbers = range(int(first), int(last) + 1)
                    pieces += [f"{number:0{len(first)}}" for number in numbers]
                    if len(pieces) > MOST_NODES:
                        break
            if len(names) + len(expansions) * len(pieces) > MOST_NODES:
                raise PolicyError(f"{shown(text)} has too many names")
            expansions = [name + piece for name in expansions for piece in pieces]
        names += expansions
    return names
