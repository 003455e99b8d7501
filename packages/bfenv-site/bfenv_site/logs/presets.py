"""Public logs by name: the columns, units and machines of `presets.toml`, and of your own file."""

import os
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from bfenv.core.errors import WorkloadError
from bfenv_site.logs.table import FIELDS

VARIABLE = "BFENV_PRESETS"  # names a file that extends the list
NEEDS_LIMITS = (
    "backfilling needs limits: import its table with --from csv, and draw limits with an option of "
    "the workload such as :estimates=tsafrir (bfenv.workloads.with_estimates)"
)
REQUIRED = ("title", "cite", "size_of", "processors", "columns")


class Preset(NamedTuple):
    """What is known of a public log."""

    title: str
    cite: str
    size_of: str  # what a processor is
    processors: int
    columns: dict[str, str]  # by field, with units behind colons
    timezone: str = "UTC"


def find_preset(name: str) -> Preset | None:
    """Return the preset of a name; None if there is none.

    Raises:
        WorkloadError: If the log has no limits, or a file of presets cannot be read.
    """
    entry = _presets(os.environ.get(VARIABLE, "")).get(name)
    if entry is None:
        return None
    if "refused" in entry:
        raise WorkloadError(f"{entry['refused']}, and {NEEDS_LIMITS}")
    return Preset(**entry)


def preset_names() -> list[str]:
    """Return the names of the logs that can be imported."""
    presets = _presets(os.environ.get(VARIABLE, ""))
    return [name for name, entry in presets.items() if "refused" not in entry]


@cache
def _presets(path: str) -> dict[str, dict[str, Any]]:
    text = (files("bfenv_site.logs") / "presets.toml").read_text()
    presets: dict[str, dict[str, Any]] = tomllib.loads(text)
    if not path:
        return presets
    try:
        added = tomllib.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{VARIABLE}={path}: {error}") from None
    for name, entry in added.items():
        if not isinstance(entry, dict):
            raise WorkloadError(f"{path}: {name!r} is no table of a preset")
        if "refused" not in entry:
            missing = [key for key in REQUIRED if key not in entry]
            unknown = [key for key in entry if key not in Preset._fields]
            fields = [key for key in entry.get("columns", {}) if key not in FIELDS]
            if missing or unknown or fields:
                fault = "lacks" if missing else "has no" if unknown else "maps no field"
                raise WorkloadError(f"{path}: [{name}] {fault} {(missing or unknown or fields)[0]}")
    return presets | added
