"""The rows of runs, and the values that items look up in them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bfenv.analysis.intervals import Interval, batch_means
from bfenv.reproduce.item import Extreme, Pair, Run, Value
from bfenv.reproduce.rows import Row


class Results:
    """Values by run and measure; a value whose run is missing is None.

    Parameters
    ----------
    rows
        What `run` has made, by run.
    """

    def __init__(self, rows: Mapping[Run, Row]) -> None:
        self.rows = rows

    def seeds(self, value: Value) -> list[Any] | None:
        """Return what each seed gave.

        Parameters
        ----------
        value
            Run and measure.

        Returns
        -------
        list
            Unscaled; None if the row is missing.
        """
        row = self.rows.get(value.run)
        return None if row is None else row["values"].get(value.measure)

    def number(self, value: Value | Extreme | Pair | float) -> float | str | None:
        """Average a value over its seeds.

        Parameters
        ----------
        value
            A value, or what is computed from several. A number is returned as it is.

        Returns
        -------
        float
            In the printed unit. Of a measure with an interval, (value, low, high), it is the value.
            Text is returned as it is. None if a row is missing.
        """
        if isinstance(value, Extreme):
            return self._extreme(value)
        if isinstance(value, Pair):
            interval = self.ratio(value)
            return None if interval is None else float(getattr(interval, value.kind))
        if not isinstance(value, Value):
            return value
        found = self.seeds(value)
        if not found or any(one is None for one in found):
            return None
        if isinstance(found[0], str):
            return found[0]
        if isinstance(found[0], list):
            found = [one[0] for one in found]
            if any(one is None for one in found):
                return None
        return float(np.mean(found)) * value.scale

    def _extreme(self, value: Extreme) -> float | None:
        """Return the extreme of the values that there are; None if one is missing."""
        if value.kind in ("low", "high"):
            span = self.interval(value.values[0])
            return None if span is None else span[value.kind == "high"]
        found = [self.number(one) for one in value.values]
        known = [one for one in found if isinstance(one, float)]
        if not known or len(known) < len(found):
            return None
        if value.kind == "mean":
            return float(np.mean(known))
        return min(known) if value.kind == "min" else max(known)

    def ratio(self, pair: Pair) -> Interval | None:
        """Estimate the geometric mean of the ratios of the seeds.

        Parameters
        ----------
        pair
            Two values of the same seeds.

        Returns
        -------
        Interval
            With 95 % confidence; None if a row is missing.
        """
        left, right = (self.seeds(value) for value in pair.values)
        if not left or not right or None in left or None in right:
            return None
        logs = np.log(np.asarray(left) / np.asarray(right))
        found = batch_means(logs, batches=max(2, len(logs)))
        value, low, high = (float(np.exp(one)) for one in found[:3])
        return Interval(value, low, high, len(logs))

    def interval(self, value: Value) -> tuple[float, float] | None:
        """Return the interval of a value.

        Parameters
        ----------
        value
            Run and measure.

        Returns
        -------
        tuple
            Low and high in the printed unit: the measure's own interval, or the 5th and 95th
            percentile of the seeds. None if there is none.
        """
        found = self.seeds(value)
        if not found or any(one is None for one in found):
            return None
        if isinstance(found[0], list):
            low, high = found[0][1:3]
            return None if low is None else (low * value.scale, high * value.scale)
        if len(found) < 2:
            return None
        low, high = np.percentile(found, (5, 95))
        return float(low) * value.scale, float(high) * value.scale

    def curve(self, value: Value, part: int | None = None) -> tuple[list[Any], list[Any]] | None:
        """Return a measure that is a curve.

        Parameters
        ----------
        value
            Run and measure.
        part
            Index of the curve, where the measure has several.

        Returns
        -------
        tuple
            x, and y in the printed unit; None if the row is missing.
        """
        found = self.seeds(value)
        if not found or found[0] is None:
            return None
        x, y = found[0] if part is None else found[0][part]
        return x, [None if one is None else one * value.scale for one in y]
