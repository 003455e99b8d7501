"""The journal of a search: what each generation scored, from which an interrupted one resumes.

A search is a function of its settings and of the scores that its candidates get. So the journal
holds the scores alone, one line of JSON per generation, and a search that resumes draws its
candidates again and reads their scores instead of running them.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically


class Journal:
    """A file of entries: read those that it has, then append others.

    Parameters
    ----------
    path
        The file; it is made if it does not exist.
    settings
        What the search is. A file with other settings is refused.

    Raises
    ------
    BfenvError
        If the file cannot be read, or is of another search.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.entries: list[dict[str, Any]] = []
        if not path.exists():
            write_atomically(path, _line(settings))
            return
        lines = path.read_bytes().splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):  # cut short when the search was killed
            lines.pop()
            write_atomically(path, b"".join(lines))
        try:
            found, *self.entries = ({**json.loads(line)} for line in lines)
        except (ValueError, TypeError) as error:
            raise BfenvError(f"{path}: is not the journal of a search: {error}") from error
        wanted = json.loads(_line(settings))
        different = [name for name in wanted if found.get(name) != wanted[name]]
        if different:
            name = different[0]
            raise BfenvError(
                f"{path} is of another search: its {name} is {found.get(name)!r:.80}, not "
                f"{wanted[name]!r:.80}"
            )

    def entry(self, generation: int, policies: Sequence[str]) -> dict[str, Any] | None:
        """Return the entry of a generation, or None if there is none yet.

        Raises
        ------
        BfenvError
            If the entry is about other policies: another version of the program made it.
        """
        if generation >= len(self.entries):
            return None
        entry = self.entries[generation]
        if entry["policies"] != _digest(policies) or len(entry["scores"]) != len(policies):
            raise BfenvError(
                f"{self.path}: generation {generation} scored other policies than this version of "
                "bfenv draws; search again in another folder"
            )
        return entry

    def append(self, policies: Sequence[str], **values: Any) -> dict[str, Any]:
        """Write the entry of the next generation, and return it."""
        entry = {"generation": len(self.entries), "policies": _digest(policies), **values}
        with open(self.path, "ab") as file:
            file.write(_line(entry))
            file.flush()
            os.fsync(file.fileno())
        self.entries.append(entry)
        return entry

    @property
    def seconds(self) -> float:
        """How long the generations took."""
        return float(sum(entry["seconds"] for entry in self.entries))


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, allow_nan=False).encode() + b"\n"


def _digest(policies: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(policies).encode()).hexdigest()[:16]
