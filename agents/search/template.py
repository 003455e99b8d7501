"""Templates: the options of `easy` that a search leaves fixed, and those whose values it tunes.

"guard=1d, trial=60:600" fixes the guard, and tunes the trial from 60 to 600 on a logarithmic scale.
"""

import math
import re
from typing import NamedTuple

from bfenv.baselines.registry import find_policy
from bfenv.core.errors import BfenvError
from bfenv.core.names import parse_name

RANGE = re.compile(r"\s*([0-9.eE+-]+)\s*:\s*([0-9.eE+-]+)\s*")


class Template(NamedTuple):
    """Options of `easy` but the order, as text, and the ranges of the tuned ones."""

    fixed: tuple[tuple[str, str], ...] = ()
    tuned: tuple[tuple[str, float, float], ...] = ()  # option, lowest and highest value

    def policy(self, order: str, point: tuple[float, ...] = ()) -> str:
        """Return the expression of a policy.

        Parameters
        ----------
        order
            The expression of the order.
        point
            Where each tuned value is in its range, from 0 to 1.
        """
        options = [f"order='{order}'", *(f"{option}={text}" for option, text in self.fixed)]
        for (option, low, high), place in zip(self.tuned, point, strict=True):
            value = low * (high / low) ** min(1.0, max(0.0, place))
            options.append(f"{option}={float(f'{value:.3g}'):g}")
        return f"easy({', '.join(options)})"


def read_template(text: str) -> Template:
    """Read the options of a template.

    Raises
    ------
    BfenvError
        If a range is not of two positive numbers, the order is given, or `easy` does not take the
        options.
    """
    fixed, tuned = [], []
    for option, value in parse_name(f"easy({text})").options.items():
        if option == "order":
            raise BfenvError("options: the order is what a search looks for")
        found = RANGE.fullmatch(value)
        if not found:
            fixed.append((option, value))
            continue
        try:
            low, high = map(float, found.groups())
        except ValueError:
            raise BfenvError(f"options: {option}={value} is not a range of numbers") from None
        if not (0 < low < high and math.isfinite(high)):
            raise BfenvError(f"options: {option}={value} must be low:high, with 0 < low < high")
        tuned.append((option, low, high))
    template = Template(tuple(fixed), tuple(tuned))
    for corner in (0.0, 1.0):
        find_policy(template.policy("estimate", (corner,) * len(tuned)))
    return template
