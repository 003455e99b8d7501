"""Failures of policies and agents, each described in one line."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from bfenv import scheduling
from bfenv.core.distributions import is_own
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Jobs
from bfenv.core.text import one_line


@contextmanager
def as_policy_error(name: str) -> Iterator[None]:
    """Turn any exception but a BfenvError into a PolicyError: name of the policy, cause, line.

    A PolicyError without the name, such as that of a player, gets it.
    """
    try:
        yield
    except PolicyError as error:
        if name in str(error):
            raise
        raise PolicyError(f"{name}: {error}") from error
    except BfenvError:
        raise
    except (Exception, SystemExit) as error:
        raise PolicyError(f"{name} failed, {describe_error(error)}") from error


def describe_error(error: BaseException) -> str:
    """Describe an exception in one printable line.

    Unless it is a BfenvError, the line has its type and the place where it was raised, as in
    "ZeroDivisionError: division by zero (mine.py, line 14)". The place is the first file outside of
    bfenv on the way to the error, and the last line in it.
    """
    kind, line = type(error).__name__, _line_of(error)
    try:
        text = one_line(str(error))[:500]
    except BaseException:  # the message is a stranger's code
        return f"{kind}, whose message cannot be shown{line}"
    if isinstance(error, BfenvError):
        return text
    if isinstance(error, AttributeError) and error.name == "runtime" and type(error.obj) is Jobs:
        text += "; runtimes are not known before jobs end, use jobs.estimate"
    if isinstance(error, NameError) and error.name in scheduling.__all__:
        text += f"; use: from bfenv.scheduling import {error.name}"
    return f"{kind}: {text}{line}" if text else f"{kind}{line}"


def _line_of(error: BaseException) -> str:
    """Name the file and line in parentheses; no folders, because rows are published."""
    frames = [
        place
        for place in traceback.walk_tb(error.__traceback__)
        if _package_of(place[0]) != "numba"  # a kernel that does not compile
    ]
    outside = [place for place in frames if not is_own(_package_of(place[0]))]
    if not frames:
        return ""
    file = _file_of((outside or frames[-1:])[0])
    line = [place[1] for place in frames if _file_of(place) == file][-1]
    return f" ({Path(file).name}, line {line})"


def _file_of(place: tuple[FrameType, int]) -> str:
    return place[0].f_code.co_filename


def _package_of(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")  # a stranger's, so it may be anything
    return name.partition(".")[0] if type(name) is str else ""
