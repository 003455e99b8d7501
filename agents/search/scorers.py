"""Scorers: EASY in the order of a small function of each waiting job, found by search.

A scorer gives each waiting job a number, from its features (`bfenv.agents.search.features`) when a
scheduling pass begins. The job with the highest score comes first; equal scores are ordered by job
index. Jobs start in this order until one, the head, does not fit. It gets EASY's reservation, and
the others are backfilled in the same order. The features before_shadow and within_extra are about
the job that has waited longest, even if another job has the highest score.

With d = `dimension(hidden)` parameters theta, a scorer is, f being the features of a job,

* hidden = 0: the sum of theta[i] f[i];
* hidden = h: the sum over u < h of theta[h F + u] tanh(sum of theta[u F + i] f[i]), F = len(NAMES).

The feature present, which is always 1, makes the constant term. Features are float32. Products and
sums are float64, in the order that `scores` writes down; tanh is
`bfenv.agents.search.scoring.tanh_rational`, the same on every machine.

`evaluate_many` runs whole traces for many parameter vectors in one compiled call. `scorer` makes a
Policy of the parameters that a search has found.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from bfenv.agents.search.features import JOB_ACCURACY, NAMES
from bfenv.agents.search.scored_easy import METRICS, decide, evaluate, run
from bfenv.agents.search.scoring import FEATURES, SUMMED, new_memory, tanh_rational
from bfenv.core.arguments import check_integer
from bfenv.core.errors import PolicyError, UnknownNameError
from bfenv.core.events import new_cluster
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy

LARGEST = 2.0**53  # weights are smaller in magnitude, so no sum overflows
JOBS_PER_CALL = 2_000_000  # compiled calls are short enough for Ctrl-C

Theta = Sequence[float] | np.ndarray


def dimension(hidden: int = 0) -> int:
    """Return the number of parameters of a scorer.

    Parameters
    ----------
    hidden
        Hidden units; 0 is linear.

    Returns
    -------
    int
        Length of `theta` of `scorer`.

    Raises
    ------
    PolicyError
        If `hidden` is not an integer >= 0.
    """
    hidden = check_integer("hidden", hidden, 0, error=PolicyError)
    return hidden * (FEATURES + 1) if hidden else FEATURES


def weights(**named: float) -> np.ndarray:
    """Make the parameters of a linear scorer from weights by feature.

    Parameters
    ----------
    **named
        Weights by name of the feature. Features that are not named get 0.

    Returns
    -------
    np.ndarray
        (FEATURES,) float64, the `theta` of `scorer`.

    Raises
    ------
    UnknownNameError
        If there is no such feature.
    """
    theta = np.zeros(FEATURES)
    for name, weight in named.items():
        if name not in NAMES:
            raise UnknownNameError("feature", name, NAMES)
        theta[NAMES.index(name)] = weight
    return theta


def scores(theta: Theta, rows: np.ndarray, hidden: int = 0) -> np.ndarray:
    """Compute the scores of jobs, to the last bit as the policy computes them.

    Parameters
    ----------
    theta
        (dimension(hidden),) float
    rows
        (n, FEATURES) float32, the features of jobs
    hidden
        Hidden units; 0 is linear.

    Returns
    -------
    np.ndarray
        (n,) float64.

    Raises
    ------
    PolicyError
        As `scorer` does.
    """
    theta = check_theta(theta, hidden)
    rows = np.asarray(rows, dtype=np.float32).astype(np.float64)
    total = np.zeros(len(rows))
    for unit, row in enumerate(_matrix(theta, hidden)):
        value = np.zeros(len(rows))
        for feature in SUMMED:
            value = value + row[feature] * rows[:, feature]
        if not hidden:
            return value
        value = np.array([tanh_rational(number) for number in value])
        total = total + theta[hidden * FEATURES + unit] * value
    return total


def scorer(theta: Theta, hidden: int = 0, name: str | None = None) -> Policy:
    """Make the policy with these parameters.

    It must see every pass if it has a weight on users' accuracy.

    Parameters
    ----------
    theta
        (dimension(hidden),) numbers below 2**53 in magnitude
    hidden
        Hidden units; 0 is linear.
    name
        By default the expression that makes the same policy.

    Returns
    -------
    Policy
        EASY that orders and backfills jobs by their scores.

    Raises
    ------
    PolicyError
        If theta or hidden is anything else.

    Examples
    --------
    Shortest estimate first, among the jobs that EASY may start.

    >>> import bfenv
    >>> from bfenv.agents.search import scorer, weights
    >>> policy = scorer(weights(estimate=-1.0), name="shortest")
    >>> trace = bfenv.make_trace(
    ...     submit=[0, 1, 2], size=[4, 4, 4], runtime=[60, 60, 30], processors=4
    ... )
    >>> bfenv.simulate(trace, policy).start
    array([ 0, 90, 60])
    """
    theta = check_theta(theta, hidden)
    options = f"theta={tuple(theta.tolist())}" + (f", hidden={hidden}" if hidden else "")
    return Policy(
        name=name or f"scorer({options})",
        decide=decide,
        run=run,
        memory=partial(new_memory, theta=theta, hidden=hidden),
        summary="EASY, highest score first" + (f", by {hidden} hidden units" if hidden else ""),
        source="direct policy search",
        stateful=bool(_matrix(theta, hidden)[:, JOB_ACCURACY].any()),
    )


def evaluate_many(trace: Trace, thetas: Any, hidden: int = 0) -> np.ndarray:
    """Run the trace under many scorers, in one thread.

    Parameters
    ----------
    trace
        Is run from its first arrival to its last end.
    thetas
        (k, dimension(hidden)) float
    hidden
        Hidden units; 0 is linear.

    Returns
    -------
    np.ndarray
        (k, len(METRICS)) float64. METRICS are those of `bfenv.metrics`, waits and makespan in
        seconds. The mean bounded slowdown may differ from it in the last digits, as it is summed in
        another order.

    Raises
    ------
    PolicyError
        If `scorer` does not take the parameters, or the trace has requested start times, which a
        scorer does not plan for.
    """
    thetas = np.array(thetas, dtype=np.float64, ndmin=2, order="C")
    if thetas.ndim != 2:
        raise PolicyError(f"thetas must be (k, {dimension(hidden)}) numbers, got {thetas.shape}")
    if not len(thetas):
        return np.empty((0, len(METRICS)))
    for theta in thetas:
        check_theta(theta, hidden)
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


def check_theta(theta: Any, hidden: int) -> np.ndarray:
    """Return a float64 copy of theta, the parameters of a scorer with `hidden` units.

    Raises
    ------
    PolicyError
        If it is not (dimension(hidden),) numbers below 2**53 in magnitude.
    """
    count = dimension(hidden)
    try:
        numbers = np.array(theta, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise PolicyError(f"theta must be {count} numbers, got {theta!r}") from error
    if numbers.shape != (count,):
        raise PolicyError(
            f"theta must be {count} numbers for hidden={hidden}, got an array of {numbers.shape}"
        )
    wrong = np.flatnonzero(~(np.abs(numbers) < LARGEST))
    if len(wrong):
        raise PolicyError(
            f"theta[{wrong[0]}] must be below 2**53 in magnitude, got {numbers[wrong[0]]}"
        )
    return numbers


def _matrix(theta: np.ndarray, hidden: int) -> np.ndarray:
    """Return the weights on the features, (units, FEATURES); a linear scorer is one unit."""
    return theta[: max(hidden, 1) * FEATURES].reshape(-1, FEATURES)
