"""The order in which a policy goes through its queue: by name, or by the value of an expression."""

import re
from collections.abc import Collection

import bfenv.knowledge.user_history as h
from bfenv.core.errors import PolicyError
from bfenv.core.text import suggest
from bfenv.knowledge.expression_program import parse_expression
from bfenv.knowledge.expressions import RUNTIME, suggest_quantity
from bfenv.knowledge.priorities import EXPRESSION, ORDERS, Order, find_order


def find_order_or_expression(
    text: str, option: str = "order", names: Collection[str] = ORDERS
) -> Order:
    """Return the order of that name, or one by the value of an expression, the smallest first.

    Only orders in `names` are found. The message lists all of `names`.

    Raises PolicyError if the text is neither.
    """
    if not isinstance(text, str):
        raise PolicyError(f"{option} must be the name of an order or an expression, got {text!r}")
    if text in names:
        return find_order(text, option)
    words = re.fullmatch(r"[A-Za-z]\w*(-[A-Za-z]\w*)*", text)
    if words and not set(text.split("-")) & set(h.NAMES):
        choices = f"known are {', '.join(names)}, and expressions in {', '.join(h.NAMES)}"
        hint = suggest_quantity(text) if text == RUNTIME else suggest(text, [*names, *h.NAMES])
        raise PolicyError(f"{option}: unknown order {text!r}; {hint or choices}")
    program = parse_expression(text, option)
    return Order(
        text,
        EXPRESSION,
        f"smallest {text}",
        text,
        "expression",
        dynamic=bool(program.changes[0]),
    )
