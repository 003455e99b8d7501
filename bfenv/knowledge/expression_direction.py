"""How the value of an expression changes while a job waits: it rises, falls, stays, or neither.

Of jobs alike the oldest has the smallest of falling values, so a search for the smallest need not
look at the others. Signs come from interval arithmetic. Rules are about real numbers; addition,
subtraction, multiplication, division and square roots keep them when they round, and the other
functions nearly do. Where a value may be undefined (NaN) at some time, or overflow, nothing is
known.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import bfenv.knowledge.user_history as h
from bfenv.knowledge import expressions as ops
from bfenv.knowledge.expressions import Node

LARGEST_EXPONENT = 300.0
FALLS, STAYS, RISES, UNKNOWN = -1, 0, 1, 2
COMPARISONS = (ops.LESS, ops.LESS_EQUAL, ops.GREATER, ops.GREATER_EQUAL)
LOWEST = {  # of the quantities; 1 for all others
    h.SUBMIT: 0.0,
    h.PRIORITY: -math.inf,
    h.WAIT: 0.0,
    h.ACCURACY: 0.0,
    h.USER_RUNNING: 0.0,
    h.USER_ENDED: 0.0,
    h.TRIED: 0.0,
    h.FREE: 0.0,
    h.FITS: 0.0,
    h.BACKLOG: 0.0,
    h.RANDOM: 0.0,
}
HIGHEST = {h.ACCURACY: 1.0, h.TRIED: 1.0, h.FITS: 1.0, h.RANDOM: 1.0}  # infinite for all others


class Range(NamedTuple):
    """Between which numbers a value is, and where it goes."""

    low: float
    high: float
    direction: int  # FALLS, STAYS, RISES or UNKNOWN


def direction(node: Node) -> int:
    """Return FALLS, STAYS, RISES or UNKNOWN: how the value changes while a job waits.

    It holds for the time between two changes of what is known of the user, the counts of the user's
    jobs included. So it also tells how the value differs, at one instant, between newer and older
    jobs of one user with the same requests.
    """
    return _range(node).direction


def _range(node: Node) -> Range:
    if node.operation == ops.CONSTANT:
        return Range(node.constant, node.constant, STAYS)
    if node.operation == ops.LOAD:
        goes = RISES if node.quantity == h.WAIT else STAYS
        if node.quantity in (h.FREE, h.FITS, h.BACKLOG):
            goes = UNKNOWN
        low, high = LOWEST.get(node.quantity, 1.0), HIGHEST.get(node.quantity, math.inf)
        return Range(low, high, goes)
    ranges = [_range(operand) for operand in node.operands]
    if all(bounds.direction == STAYS for bounds in ranges):
        goes_to = STAYS
    elif len(ranges) == 1:
        goes_to = _direction_of_one(node.operation, *ranges)
    else:
        goes_to = _direction_of_two(node.operation, *ranges)
    return Range(*_interval(node.operation, ranges), goes_to)


def _direction_of_one(operation: int, a: Range) -> int:
    if operation == ops.NEGATE:
        return _turned(a.direction)
    if operation == ops.ABS:
        return _times(a.direction, a)
    if (operation in (ops.LOG, ops.SQRT) and a.low < 0) or (
        operation == ops.EXP and a.high > LARGEST_EXPONENT
    ):
        return UNKNOWN
    return a.direction


def _direction_of_two(operation: int, a: Range, b: Range) -> int:
    if operation in (ops.ADD, ops.MIN, ops.MAX):
        return _both(a.direction, b.direction)
    if operation == ops.SUBTRACT:
        return _both(a.direction, _turned(b.direction))
    if operation == ops.MULTIPLY:
        return _both(_times(a.direction, b), _times(b.direction, a))
    if operation == ops.DIVIDE:
        if b.low < 0 < b.high or (a.low <= 0 <= a.high and b.low <= 0 <= b.high):
            return UNKNOWN
        return _both(_times(a.direction, b), _times(_turned(b.direction), a))
    if operation == ops.POWER:
        return _direction_of_power(a, b)
    if operation in (ops.GREATER, ops.GREATER_EQUAL):
        a, b = b, a
    return _both(_turned(a.direction), b.direction)  # a < b rises with b and falls with a


def _direction_of_power(a: Range, b: Range) -> int:
    if b.direction != STAYS:
        return UNKNOWN
    if a.low >= 0:
        return _times(a.direction, b)
    if b.low == b.high and b.low > 0 and b.low % 2 == 1:
        return a.direction
    return UNKNOWN


def _turned(goes: int) -> int:
    return goes if goes == UNKNOWN else -goes


def _times(goes: int, factor: Range) -> int:
    """Return the direction of a value times a factor that stays."""
    if goes == STAYS or factor.low >= 0:
        return goes
    return _turned(goes) if factor.high <= 0 else UNKNOWN


def _both(left: int, right: int) -> int:
    """Return the direction of a sum."""
    if left == STAYS or left == right:
        return right
    return left if right == STAYS else UNKNOWN


def _interval(operation: int, ranges: list[Range]) -> tuple[float, float]:
    """Return between which numbers the result of an operation is."""
    if operation in COMPARISONS:
        return 0.0, 1.0
    if operation == ops.ABS and ranges[0].low < 0 < ranges[0].high:
        return 0.0, math.inf
    if operation == ops.DIVIDE and ranges[1].low <= 0 <= ranges[1].high:
        # A number divided by -0.0 has the other sign
        positive = ranges[0].low >= 0 and math.copysign(1.0, ranges[1].low) > 0
        return (0.0, math.inf) if positive else (-math.inf, math.inf)
    if operation == ops.POWER and ranges[0].low < 0:
        return -math.inf, math.inf
    corners = product(*((bounds.low, bounds.high) for bounds in ranges))
    try:
        values = [_calculate(operation, *corner) for corner in corners]
    except (ArithmeticError, ValueError):
        values = [math.nan]
    if any(math.isnan(value) for value in values):
        if operation in (ops.MULTIPLY, ops.DIVIDE):  # the signs alone tell something
            if any(factor.low < 0 < factor.high for factor in ranges):
                return -math.inf, math.inf
            is_negative = sum(factor.low < 0 for factor in ranges) % 2
            return (-math.inf, 0.0) if is_negative else (0.0, math.inf)
        positive = operation in (ops.EXP, ops.SQRT, ops.POWER)
        return (0.0, math.inf) if positive else (-math.inf, math.inf)
    return min(values), max(values)


def _calculate(operation: int, a: float, b: float = 0.0) -> float:
    """Return the result of an operation on one corner of the ranges."""
    results: dict[int, Callable[[], float]] = {
        ops.NEGATE: lambda: -a,
        ops.LOG: lambda: math.log(a) if a > 0 else -math.inf,
        ops.EXP: lambda: math.exp(a),
        ops.SQRT: lambda: math.sqrt(max(a, 0.0)),
        ops.ABS: lambda: abs(a),
        ops.ADD: lambda: a + b,
        ops.SUBTRACT: lambda: a - b,
        ops.MULTIPLY: lambda: a * b,
        ops.DIVIDE: lambda: a / b,
        ops.POWER: lambda: float(a**b),
        ops.MIN: lambda: min(a, b),
        ops.MAX: lambda: max(a, b),
    }
    return results[operation]()
