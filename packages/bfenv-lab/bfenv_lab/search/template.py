"""Templates: the options of `easy` that a search leaves fixed, and those whose values it tunes.

"guard=1.5, trial={60:600}" fixes the guard, and tunes the trial from 60 to 600 on a logarithmic
scale, to whole numbers as the limits are. Numbers within expressions are tuned the same way:
"backfill_estimate='{0.5:1.5} * prediction'".
"""

import math
import re
from typing import NamedTuple

from bfenv.baselines.registry import find_policy
from bfenv.core.errors import BfenvError
from bfenv.core.names import parse_name

RANGE = re.compile(r"\{([^{}:]*):([^{}:]*)\}")


class Range(NamedTuple):
    """The values that a tuned number may have."""

    low: float
    high: float
    whole: bool

    def value(self, place: float) -> str:
        """Return the number at a place in the range, from 0 to 1, with three digits."""
        number = self.low * (self.high / self.low) ** min(1.0, max(0.0, place))
        return f"{round(number)}" if self.whole else f"{float(f'{number:.3g}'):g}"


class Template(NamedTuple):
    """Options of `easy` as text: an order that is searched for, and numbers that are tuned."""

    options: str = ""  # of which nothing but numbers changes; each range is replaced by {}
    tuned: tuple[Range, ...] = ()

    @property
    def has_trials(self) -> bool:
        """Whether the options start jobs for a trial first."""
        return find_policy(self.policy("estimate", (0.0,) * len(self.tuned))).trials

    def policy(self, order: str, point: tuple[float, ...] = ()) -> str:
        """Return the expression of a policy.

        * `order`: the expression of the order.
        * `point`: where each tuned number is in its range, from 0 to 1.
        """
        values = [span.value(place) for span, place in zip(self.tuned, point, strict=True)]
        options = f", {self.options.format(*values)}" if self.options else ""
        return f"easy(order='{order}'{options})"


def read_template(text: str) -> Template:
    """Read the options of a template.

    Raises BfenvError if a range is not of two positive numbers, an order is given, or `easy` does
    not take the options.
    """
    if "order" in parse_name(f"easy({text})").options:
        raise BfenvError("options: order is what the search looks for")
    ranges = tuple(map(_range, RANGE.finditer(text)))
    template = Template(RANGE.sub("{}", text), ranges)
    if template.options.count("{") != len(template.tuned) or "}" in RANGE.sub("", text):
        raise BfenvError(f"options: expected ranges like {{0.5:2}} in {text!r}")
    for corner in (0.0, 1.0):
        find_policy(template.policy("estimate", (corner,) * len(template.tuned)))
    return template


def _range(match: re.Match[str]) -> Range:
    try:
        low, high = map(float, match.groups())
    except ValueError:
        raise BfenvError(f"options: {match[0]} is not a range of numbers") from None
    if not (0 < low < high and math.isfinite(high)):
        raise BfenvError(f"options: {match[0]} must be {{low:high}} with 0 < low < high")
    return Range(low, high, all(part.strip().isdigit() for part in match.groups()))
