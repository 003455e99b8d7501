"""Files of scorers: parameters, the features that they are about, and their provenance, as JSON."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bfenv.agents.search.features import NAMES
from bfenv.agents.search.scorers import Theta, check_theta, scorer
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.files import write_atomically
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy

FORMAT = "bfenv scorer 1"


def save_scorer(
    path: str | Path,
    theta: Theta,
    hidden: int = 0,
    *,
    name: str,
    trained_on: Trace | None = None,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write a scorer to a file.

    Parameters
    ----------
    path
        The file; it is replaced if it exists.
    theta, hidden
        As `scorer` takes them.
    name
        The name of the policy when it is loaded.
    trained_on
        Stored by name, hash and number of jobs.
    notes
        Anything that JSON can hold, such as the seed and the budget of the search.

    Raises
    ------
    PolicyError
        As `scorer` does.
    BfenvError
        If JSON cannot hold the notes, or the file cannot be written.
    """
    theta = check_theta(theta, hidden)
    trace = trained_on and {
        "name": trained_on.name, "hash": trained_on.hash, "jobs": len(trained_on)
    }  # fmt: skip
    content = {
        "format": FORMAT,
        "name": name,
        "features": NAMES,
        "hidden": hidden,
        "theta": theta.tolist(),
        "trained_on": trace,
        "notes": dict(notes or {}),
        "bfenv": version("bfenv"),
    }
    try:
        text = json.dumps(content, indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BfenvError(f"{path}: notes must be JSON: {error}") from error
    write_atomically(Path(path), text.encode() + b"\n")


def load_scorer(path: str | Path) -> Policy:
    """Read the policy in a file that `save_scorer` wrote; `json.load` shows its provenance.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Policy
        With the name in the file.

    Raises
    ------
    PolicyError
        If the file cannot be read, is not a scorer, or has other features than scorers have.
    """
    try:
        content = json.loads(Path(path).read_bytes())
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise PolicyError(f"{path}: is not a file of format {FORMAT!r}")
        if content["features"] != list(NAMES):
            raise PolicyError(f"{path}: is about other features than {', '.join(NAMES)}")
        return scorer(content["theta"], content["hidden"], str(content["name"]))
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, RecursionError) as error:
        if isinstance(error, BfenvError):
            raise
        raise PolicyError(f"{path}: is not a file of format {FORMAT!r}") from error
