"""Scorers: EASY in the order of a small function of the observation, found by search.

A scorer gives each waiting job a number, from the very row that an agent sees of it in the
observation of Backfill-v0 (`bfenv.envs.observation.QUEUE`) when a scheduling pass begins. The job
with the highest score comes first, of equal ones that with the lower index. Jobs start in this
order until one, the head, does not fit; it gets EASY's reservation, and the others are backfilled
in the same order. Beware that the features before_shadow and within_extra are, as in the
observation, about the job that has waited longest, whether or not it has the highest score.

With d = `dimension(hidden)` parameters theta a scorer is, f being the row of a job,

* hidden = 0: the sum of theta[i] f[i];
* hidden = h: the sum over u < h of theta[h F + u] tanh(sum of theta[u F + i] f[i]), F = len(QUEUE).

The feature present, which is always 1, makes the constant term. Features are float32, as in the
observation; products and sums are float64, in the order that `scores` writes down; tanh is
`bfenv.agents.search.scoring.curve`, the same on every machine.

`evaluate_many` runs whole traces for many parameter vectors without any Python in between; what a
search has found takes part in comparisons as the Policy that `scorer` makes of it.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bfenv.agents.search.scored_easy import METRICS, decide, evaluate, run
from bfenv.agents.search.scoring import ACCURACY, FEATURES, SUMMED, curve, new_memory
from bfenv.core.cluster import new_cluster
from bfenv.core.errors import BfenvError, PolicyError, UnknownNameError
from bfenv.core.files import write_atomically
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy
from bfenv.envs.observation import QUEUE

NAMES = tuple(feature.name for feature in QUEUE)
LARGEST = 2.0**53  # no weight's magnitude reaches it, so that no sum overflows
FORMAT = "bfenv scorer 1"
JOBS_PER_CALL = 2_000_000  # so that a long evaluation can be interrupted


def dimension(hidden: int = 0) -> int:
    """How many parameters a scorer with so many hidden units has; 0 for a linear one."""
    _check_hidden(hidden)
    return hidden * (FEATURES + 1) if hidden else FEATURES


def weights(**named: float) -> np.ndarray:
    """(FEATURES,) float64 theta of the linear scorer with these weights, by feature; others 0.

    Raises UnknownNameError for a feature that is not in the observation.
    """
    theta = np.zeros(FEATURES)
    for name, weight in named.items():
        if name not in NAMES:
            raise UnknownNameError("feature", name, NAMES)
        theta[NAMES.index(name)] = weight
    return theta


def scores(theta: Sequence[float], rows: np.ndarray, hidden: int = 0) -> np.ndarray:
    """(n,) float64 scores of the jobs with these (n, FEATURES) float32 rows of the observation.

    To the last bit what the policy computes. Raises PolicyError as `scorer` does.
    """
    theta = _checked(theta, hidden)
    rows = np.asarray(rows, dtype=np.float32).astype(np.float64)
    matrix = theta[: max(hidden, 1) * FEATURES].reshape(-1, FEATURES)
    total = np.zeros(len(rows))
    for unit, row in enumerate(matrix):
        value = np.zeros(len(rows))
        for feature in SUMMED:
            value = value + row[feature] * rows[:, feature]
        if not hidden:
            return value
        value = np.array([curve(number) for number in value])
        total = total + theta[hidden * FEATURES + unit] * value
    return total


def scorer(theta: Sequence[float], hidden: int = 0, name: str | None = None) -> Policy:
    """The policy with these parameters, (dimension(hidden),) numbers below 2**53 in magnitude.

    Its name, unless one is given, is the expression that makes the same policy. It must see every
    pass if it has a weight on users' accuracy. Raises PolicyError for other parameters.
    """
    theta = _checked(theta, hidden)
    options = f"theta={tuple(theta.tolist())}" + (f", hidden={hidden}" if hidden else "")
    matrix = theta[: max(hidden, 1) * FEATURES].reshape(-1, FEATURES)
    return Policy(
        name=name or f"scorer({options})",
        decide=decide,
        run=run,
        memory=partial(new_memory, theta=theta, hidden=hidden),
        summary="EASY, highest score of the observation first"
        + (f", by {hidden} hidden units" if hidden else ""),
        source="direct policy search",
        stateful=bool(matrix[:, ACCURACY].any()),
    )


def evaluate_many(trace: Trace, thetas: Any, hidden: int = 0) -> np.ndarray:
    """(k, len(METRICS)) float64: the metrics of the trace under each of (k, d) `thetas`.

    METRICS are those of `bfenv.metrics`, waits and makespan in seconds; the mean bounded slowdown
    may differ from it in the last digits, as it is summed in another order. One thread.

    Raises PolicyError for parameters that `scorer` does not take, and for a trace with requested
    start times, for which it does not plan.
    """
    thetas = np.array(thetas, dtype=np.float64, ndmin=2, order="C")
    if thetas.ndim != 2:
        raise PolicyError(f"thetas are (k, {dimension(hidden)}) numbers, not {thetas.shape}")
    if not len(thetas):
        return np.empty((0, len(METRICS)))
    for theta in thetas:
        _checked(theta, hidden)
    if trace.jobs.requested_start.any():
        raise PolicyError(f"a scorer does not plan for the requested start times of {trace.name}")
    cluster, truth = new_cluster(trace)
    memory = new_memory(
        trace.jobs, trace.processors, np.random.default_rng(0), theta=thetas[0], hidden=hidden
    )
    results = np.empty((len(thetas), len(METRICS)))
    step = max(1, JOBS_PER_CALL // len(trace))
    for first in range(0, len(thetas), step):
        part = slice(first, first + step)
        evaluate(cluster, trace.jobs, truth, memory, thetas[part], results[part])
    return results


def save_scorer(
    path: str | Path,
    theta: Sequence[float],
    hidden: int = 0,
    *,
    name: str,
    trained_on: Trace | None = None,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write a scorer as JSON: parameters, the features they are about, and where they come from.

    `trained_on` is kept by name, hash and number of jobs; `notes` is anything JSON can hold, such
    as the seed and the budget of the search. Raises PolicyError as `scorer` does, and BfenvError
    for notes that are no JSON or a file that cannot be written.
    """
    theta = _checked(theta, hidden)
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
        raise BfenvError(f"{path}: the notes are no JSON: {error}") from error
    write_atomically(Path(path), text.encode() + b"\n")


def load_scorer(path: str | Path) -> Policy:
    """The policy in a file that `save_scorer` wrote; `json.load` shows its provenance.

    Raises PolicyError for any other file, and for one about other features than there are now.
    """
    try:
        content = json.loads(Path(path).read_bytes())
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise PolicyError(f"{path}: is no file of {FORMAT!r}")
        if content["features"] != list(NAMES):
            raise PolicyError(f"{path}: is about other features than {', '.join(NAMES)}")
        return scorer(content["theta"], content["hidden"], str(content["name"]))
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, RecursionError) as error:
        if isinstance(error, BfenvError):
            raise
        raise PolicyError(f"{path}: is no file of {FORMAT!r}") from error


def _check_hidden(hidden: Any) -> None:
    if isinstance(hidden, bool) or not isinstance(hidden, int | np.integer) or hidden < 0:
        raise PolicyError(f"hidden is a whole number from 0 on, not {hidden!r}")


def _checked(theta: Any, hidden: int) -> np.ndarray:
    """A copy of theta as float64, if it is parameters of a scorer with so many hidden units."""
    count = dimension(hidden)
    try:
        numbers = np.array(theta, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise PolicyError(f"theta is {count} numbers, not {theta!r}") from error
    if numbers.shape != (count,):
        raise PolicyError(f"theta is {count} numbers for hidden={hidden}, not {numbers.shape}")
    wrong = np.flatnonzero(~(np.abs(numbers) < LARGEST))
    if len(wrong):
        raise PolicyError(f"theta[{wrong[0]}] is {numbers[wrong[0]]}, not a number below 2**53")
    return numbers
