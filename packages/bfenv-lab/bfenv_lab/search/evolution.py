"""CMA-ES over the numbers in an order: a linear scorer's weights, a small network's, a formula's.

N. Hansen, "The CMA evolution strategy: a tutorial", arXiv:1604.00772; the implementation is pycma.

A scorer is an expression as well: jobs come by the sum of weights times logarithmic features, or by
the sum over hidden units of w / (1 + exp(sum)). So it needs no engine of its own, and a result of
the search is a policy like any other. Units with tanh give the same orders: tanh(x / 2) is
1 - 2 / (1 + exp(x)).
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bfenv.core.errors import BfenvError
from bfenv_lab.search.template import Template
from bfenv_lab.search.trees import numbers_of, parse_tree, tree_text, with_numbers

# The features of a scorer, and the weights that it starts with. They are the logarithm of the order
# -(wait + likely_runtime) / likely_runtime**1.6 / size**0.45 * (1 + user_queued)**0.7. Two more
# weights raise the priority near the limit of the guard, and lower it after a trial. Without a
# guard or without trials, these two have no effect.
FEATURES = {
    "log(wait + likely_runtime)": -1.0,
    "log(likely_runtime)": 1.6,
    "log(size)": 0.45,
    "log(1 + user_queued)": -0.7,
    "log(1 + (wait / age_limit) ** 3)": -5.0,
    "tried": 3.0,
    "log(expansion)": 0.0,
    "log(predicted_expansion)": 0.0,
    "log(1 + wait)": 0.0,
    "log(estimate)": 0.0,
    "log(prediction)": 0.0,
    "log(user_runtime)": 0.0,
    "log(same_estimate_runtime)": 0.0,
    "log(same_size_runtime)": 0.0,
    "log(last_runtime)": 0.0,
    "log(previous_runtime)": 0.0,
    "log(accuracy)": 0.0,
    "log(1 + user_running)": 0.0,
    "log(1 + user_ended)": 0.0,
}
MOST_UNITS = 6  # hidden units of a network
COVARIANCES = ("full", "diagonal")  # diagonal has fewer numbers to learn, and no correlations
SPREAD = 0.12  # the first standard deviation of a weight
DIGITS = 4  # significant digits of a weight

Write = Callable[[np.ndarray], str]  # the expression of a vector of weights


def linear_order(weights: np.ndarray) -> str:
    """Return the expression of a linear scorer, an order: the smallest value comes first.

    Args:
        weights: (len(FEATURES),) float64
    """
    terms = [
        f"{weight:+.{DIGITS}g} * {feature}"
        for weight, feature in zip(weights, FEATURES, strict=True)
        if weight
    ]
    return " ".join(terms).lstrip("+") or "0"


def network_order(weights: np.ndarray) -> str:
    """Return the expression of a network with one layer of hidden units.

    Args:
        weights: A row for each hidden unit, one behind the other: the weight of the unit, that of
            the constant, and those of FEATURES; float64.

    Returns:
        str: An order: the smallest value comes first.
    """
    return " ".join(
        f"{row[0]:+.{DIGITS}g} / (1 + exp({row[1]:.{DIGITS}g} + {linear_order(row[2:])}))"
        for row in weights.reshape(-1, 2 + len(FEATURES))
    ).lstrip("+")


class EvolutionSearch:
    """Vectors of numbers drawn by CMA-ES; `ask` for policies to score, then `tell` their scores."""

    def __init__(
        self,
        template: Template,
        generator: np.random.Generator,
        population: int,
        starts: tuple[str, ...] = (),
        hidden: int = 0,
        covariance: str = "full",
    ) -> None:
        cma = import_cma()
        if starts and (hidden or len(starts) > 1):
            raise BfenvError("CMA-ES starts from one formula, and without hidden units")
        self.template = template
        if starts:
            self.start, self.write = _formula(starts[0])
        elif hidden:
            rows = np.zeros((hidden, 2 + len(FEATURES)))  # a network close to the linear order
            rows[:, 0] = -1.0  # 1 / (1 + exp(x)) falls with x
            rows[:, 2:] = 0.3 * np.array(list(FEATURES.values()))
            rows[:, 1:] += 0.05 * generator.standard_normal(rows[:, 1:].shape)
            self.start, self.write = rows.reshape(-1), network_order
        else:
            self.start, self.write = np.array(list(FEATURES.values())), linear_order
        first = np.concatenate([self.start, np.full(len(template.tuned), 0.5)])
        deviations = np.concatenate(
            [np.full(len(self.start), SPREAD), np.full(len(template.tuned), 0.25)]
        )
        options = {
            "popsize": population,
            "randn": lambda *shape: generator.standard_normal(shape),
            "seed": math.nan,  # leave the global generator of numpy alone
            "CMA_stds": deviations,
            "CMA_diagonal": covariance == "diagonal",
            "verbose": -9,
            "verb_log": 0,
        }
        self.strategy = cma.CMAEvolutionStrategy(first, 1.0, options)
        self._asked: list[np.ndarray] = []

    def ask(self) -> list[str]:
        """Return the expressions of this generation's policies."""
        self._asked = self.strategy.ask()
        return list(map(self._policy, self._asked))

    def favorites(self) -> list[str]:
        """Return the policy at the mean of the distribution, which no lucky score has chosen."""
        return [self._policy(self.strategy.mean)]

    def _policy(self, vector: np.ndarray) -> str:
        count = len(self.start)
        # a place on the whole line, folded into [0, 1]
        point = tuple(float(abs((place + 1.0) % 2.0 - 1.0)) for place in vector[count:])
        return self.template.policy(self.write(vector[:count]), point)

    def tell(self, scores: list[float]) -> None:
        """Adapt the distribution to the score of each policy; lower is better."""
        self.strategy.tell(self._asked, scores)


def _formula(text: str) -> tuple[np.ndarray, Write]:
    """Return a start at 0 and what writes the formula: a change of 1 scales a number by e."""
    tree = parse_tree(text)
    numbers = numbers_of(tree)
    if not any(numbers):
        raise BfenvError(f"no number to tune in {text!r}")

    def write(vector: np.ndarray) -> str:
        scaled = [number * math.exp(v) for number, v in zip(numbers, vector, strict=True)]
        return tree_text(with_numbers(tree, lambda i, _: float(f"{scaled[i]:.{DIGITS}g}")))

    return np.zeros(len(numbers)), write


def import_cma() -> Any:
    """Import pycma.

    Raises BfenvError if it is not installed.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # of matplotlib, which nothing here needs
            import cma
    except ImportError:
        raise BfenvError('the method cma-es needs cma: pip install "bfenv[lab]"') from None
    return cma
