"""How the values of expressions change with the wait, and between which numbers they are."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bfenv.knowledge import expressions as ops
from bfenv.knowledge.expression_direction import FALLS, HIGHEST, LOWEST, RISES, STAYS, _range
from bfenv.knowledge.expressions import read_expression
from bfenv.knowledge.user_history import NAMES, WAIT
from tests.knowledge.expression_texts import texts

FUNCTIONS = {
    ops.NEGATE: np.negative,
    ops.LOG: np.log,
    ops.EXP: np.exp,
    ops.SQRT: np.sqrt,
    ops.ABS: np.abs,
    ops.ADD: np.add,
    ops.SUBTRACT: np.subtract,
    ops.MULTIPLY: np.multiply,
    ops.DIVIDE: np.divide,
    ops.POWER: np.power,
    ops.MIN: np.minimum,
    ops.MAX: np.maximum,
    ops.LESS: np.less,
    ops.LESS_EQUAL: np.less_equal,
    ops.GREATER: np.greater,
    ops.GREATER_EQUAL: np.greater_equal,
}
WAITS = np.array([0.0, 1.0, 59.0, 3600.0, 3601.0, 1e5, 1e7])


def values(node, known):
    """The value at each of WAITS."""
    if node.operation == ops.CONSTANT:
        return np.full(len(WAITS), node.constant)
    if node.operation == ops.LOAD:
        return WAITS if node.quantity == WAIT else np.full(len(WAITS), known[node.quantity])
    operands = [values(each, known) for each in node.operands]
    return FUNCTIONS[node.operation](*operands).astype(float)


@given(text=texts, data=st.data())
@settings(max_examples=400, deadline=None)
def test_values_stay_in_range(text, data):
    """No defined value leaves the range, and it goes where it is said to go."""
    node = read_expression(text, "order")
    known = [
        data.draw(st.floats(max(LOWEST.get(i, 1.0), -1e6), HIGHEST.get(i, 1e6)))
        for i in range(len(NAMES))
    ]
    with np.errstate(all="ignore"):
        value = values(node, known)
    value = value[~np.isnan(value)]
    low, high, goes = _range(node)
    margin = 1e-9 * np.abs(value, where=np.isfinite(value), out=np.zeros(len(value)))
    assert (value >= low - margin).all() and (value <= high + margin).all()
    steps = np.diff(value[np.isfinite(value)])
    slack = 1e-9 * max(1e-300, float(np.abs(value[np.isfinite(value)]).max(initial=0.0)))
    if goes in (FALLS, STAYS):
        assert (steps <= slack).all()
    if goes in (RISES, STAYS):
        assert (steps >= -slack).all()


def test_signs():
    """A quotient of a negative and a positive number is negative, however large both may be."""
    node = read_expression("-(wait + estimate) / estimate", "order")
    assert _range(node) == (-math.inf, 0.0, FALLS)
    assert _range(read_expression("1 / -(0)", "order")).low == -math.inf
