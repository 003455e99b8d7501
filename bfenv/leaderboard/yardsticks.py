"""The places of the policies under several metrics, because no single one tells everything.

Mean bounded slowdown is dominated by short jobs, and can be bought with fragmentation and
unfairness (Goponenko et al., SBAC-PAD 2022; Boezennec, Dufosse and Pallez, ACM ToMPECS 2024).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bfenv.core.policy import DIVISIONS
from bfenv.evaluation.row import Row
from bfenv.evaluation.summary import REFERENCE
from bfenv.leaderboard.standings import PENALIZED, division, log_ratios, sign_of


class Yardstick(NamedTuple):
    """A metric by which policies are ordered."""

    metric: str  # its name in a row, or PENALIZED
    heading: str
    meaning: str


YARDSTICKS = (
    Yardstick(
        PENALIZED,
        "penalized slowdown",
        "mean bounded slowdown / EASY's, times max(1, longest wait / EASY's)",
    ),
    Yardstick("mean_bounded_slowdown", "bounded slowdown", "mean over jobs"),
    Yardstick(
        "mean_bounded_slowdown_60",
        "slowdown, 60 s",
        "mean bounded slowdown with a bound of 60 s in place of 10 s",
    ),
    Yardstick("mean_wait", "mean wait", "over jobs"),
    Yardstick("p95_wait", "p95 wait", "95 of 100 jobs wait less"),
    Yardstick("max_wait", "longest wait", "of all jobs"),
    Yardstick(
        "area_weighted_response",
        "area-weighted response",
        "mean response time, weighted by size x runtime",
    ),
    Yardstick(
        "packing_efficiency",
        "packing efficiency",
        "share of the machine used while a job waits",
    ),
    Yardstick(
        "throughput_deviation",
        "throughput deviation",
        "standard deviation of the daily use of the machine",
    ),
    Yardstick(
        "user_fairness",
        "fairness of users",
        "Jain's index of the users' mean bounded slowdowns",
    ),
)


class Places(NamedTuple):
    """The places of a policy in its division, one for each of YARDSTICKS, None if unknown."""

    policy: str
    division: str
    places: tuple[int | None, ...]


def places_by_metric(rows: Iterable[Row]) -> list[Places]:
    """Place policies within their divisions under each of YARDSTICKS, in the order of DIVISIONS.

    Policies are ordered by the geometric mean of their ratios to the reference, as in the ranking.
    Runs in which the reference has no value of a metric do not count for it. Policies that are
    equal share a place.
    """
    ok = sorted((row for row in rows if row.ok), key=lambda row: (row.workload, row.seed))
    names = sorted({row.policy for row in ok})
    if REFERENCE not in names:
        return []
    scores = {yardstick: _scores(ok, names, yardstick) for yardstick in YARDSTICKS}
    lines = []
    for section in DIVISIONS:
        peers = sorted({row.policy for row in ok if division(row) == section})
        for name in peers:
            places: list[int | None] = []
            for score_of in scores.values():
                score = score_of[name]
                better = (
                    score_of[peer] < score and not np.isclose(score_of[peer], score)
                    for peer in peers
                )
                places.append(None if np.isnan(score) else 1 + sum(better))
            lines.append(Places(name, section, tuple(places)))
    return lines


def _scores(ok: Sequence[Row], names: Sequence[str], yardstick: Yardstick) -> dict[str, float]:
    """The mean log ratio of each policy to the reference, less is better; NaN if unknown."""
    logs = log_ratios(ok, names, yardstick.metric).by_policy
    is_known = np.isfinite(logs[REFERENCE])
    sign = sign_of(yardstick.metric)
    return {
        name: sign * float(logs[name][is_known].mean()) if is_known.any() else float("nan")
        for name in names
    }
