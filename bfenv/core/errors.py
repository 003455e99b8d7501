"""What can be wrong with a user's input, one class per kind."""

import difflib
from collections.abc import Iterable


class BfenvError(ValueError):
    """Bad input; the message names the offending thing in one line."""


class WorkloadError(BfenvError):
    """A workload that cannot be read, generated or simulated."""


class PolicyError(BfenvError):
    """A policy that cannot run, made an illegal start, or left jobs waiting for ever."""


class UnknownNameError(BfenvError):
    """A name that nothing is registered under; the nearest known names are suggested."""

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        known = sorted(known)
        parts = [other for other in known if name and name.lower() in other.lower()]
        near = parts[:3] or difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        shown = ", ".join(known[:12]) + (f" and {len(known) - 12} more" if len(known) > 12 else "")
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {shown}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")
