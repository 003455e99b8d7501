"""Priority functions written as expressions, like "size * estimate" or "-(wait / estimate)**3".

An expression is arithmetic over `bfenv.knowledge.user_history.QUANTITIES`: numbers, names,
parentheses, + - * / **, the functions of FUNCTIONS and the comparisons < <= > >=, which are 1 or 0.
Nothing else can be written, so that an expression from anywhere is safe to read.

This module reads text into a tree. `bfenv.knowledge.expression_program` makes of it a program that
compiled code runs for many jobs.
"""

import ast
import warnings
from typing import NamedTuple

import bfenv.knowledge.user_history as h
from bfenv.core.errors import PolicyError
from bfenv.core.text import shown, suggest

LONGEST = 6_000  # characters of an expression
DEEPEST = 200  # operations within each other
SHOWN = 40  # characters on either side of a mistake
RUNTIME = "runtime"  # what no expression may know
LARGEST = 1e300  # no constant reaches it
(
    CONSTANT,
    LOAD,
    NEGATE,
    LOG,
    EXP,
    SQRT,
    ABS,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    POWER,
    MIN,
    MAX,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    COLUMN,
    STORE,
) = range(20)
FUNCTIONS = {"log": LOG, "exp": EXP, "sqrt": SQRT, "abs": ABS, "min": MIN, "max": MAX}
OPERATORS = {
    ast.Add: ADD,
    ast.Sub: SUBTRACT,
    ast.Mult: MULTIPLY,
    ast.Div: DIVIDE,
    ast.Pow: POWER,
    ast.Lt: LESS,
    ast.LtE: LESS_EQUAL,
    ast.Gt: GREATER,
    ast.GtE: GREATER_EQUAL,
}


class Node(NamedTuple):
    """A number, a quantity, or an operation on other nodes."""

    operation: int  # CONSTANT, LOAD or another of the names above
    operands: tuple["Node", ...] = ()
    quantity: int = 0  # which of QUANTITIES a LOAD loads
    constant: float = 0.0


def read_expression(text: str, option: str = "order") -> Node:
    """Read an expression.

    Raises PolicyError if it cannot be read; the message points at the column.
    """
    if len(text) > LONGEST:
        raise PolicyError(f"{option} has {len(text):,} characters, at most {LONGEST:,} are read")
    text = " ".join(text.split())
    if not text.isascii():  # ast takes letters of other widths for those of names
        column, letter = next(
            (i, character) for i, character in enumerate(text, 1) if not character.isascii()
        )
        raise wrong(option, text, column, f"unknown character {letter!r}")
    try:
        with warnings.catch_warnings(action="ignore"):  # of what is refused below
            return _read(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise wrong(option, text, error.offset or len(text) + 1, "cannot be read") from None
    except _UnknownError as error:
        raise wrong(option, text, error.column, str(error), error.hint) from None
    except (ValueError, RecursionError, MemoryError):
        raise wrong(option, text, 1, "cannot be read") from None


class _UnknownError(Exception):
    """Something that an expression cannot have, at a column counted from 1."""

    def __init__(self, node: ast.AST, message: str, hint: str = ""):
        super().__init__(message)
        self.hint = hint
        self.column = getattr(node, "col_offset", 0) + 1


def wrong(option: str, text: str, column: int, message: str, hint: str = "") -> PolicyError:
    """Return the error that points at a column of an expression; a hint may follow."""
    text = " ".join(text.split())
    begin, end = max(0, column - 1 - SHOWN), column - 1 + SHOWN
    part = "..." * (begin > 0) + text[begin:end] + "..." * (end < len(text))
    place = f"at column {column} of {part!r}"
    return PolicyError(f"{option}: {message}, {place}{'; ' if hint else ''}{hint}")


def suggest_quantity(name: str) -> str:
    """Return a hint for an unknown name: the quantities that are spelled alike, or all."""
    if name == RUNTIME:
        return "runtimes are not known before a job ends: use estimate or prediction"
    return suggest(name, h.NAMES) or f"known are {', '.join(h.NAMES)}"


def _read(node: ast.AST, depth: int = 1) -> Node:
    if depth > DEEPEST:
        raise _UnknownError(node, f"more than {DEEPEST} operations within each other")
    if isinstance(node, ast.Constant):
        number = node.value
        if not isinstance(number, int | float) or isinstance(number, bool):
            raise _UnknownError(node, f"expected a number, got {number!r:.40}")
        if not abs(number) < LARGEST:
            raise _UnknownError(node, f"expected a number below {LARGEST}, got {number!r:.40}")
        return Node(CONSTANT, constant=float(number))
    if isinstance(node, ast.Name):
        if node.id not in h.NAMES:
            raise _UnknownError(node, f"unknown name {shown(node.id)}", suggest_quantity(node.id))
        quantity = h.NAMES.index(node.id)
        if quantity not in (h.EXPANSION, h.PREDICTED_EXPANSION):
            return Node(LOAD, quantity=quantity)
        # An expansion is written out, as only its wait changes.
        runtime = Node(LOAD, quantity=h.ESTIMATE if quantity == h.EXPANSION else h.PREDICTION)
        response = Node(ADD, (Node(LOAD, quantity=h.WAIT), runtime))
        return Node(DIVIDE, (response, runtime))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        operand = _read(node.operand, depth + 1)
        return Node(NEGATE, (operand,)) if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        operands = _read(node.left, depth + 1), _read(node.right, depth + 1)
        return Node(OPERATORS[type(node.op)], operands)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
        operands = _read(node.left, depth + 1), _read(node.comparators[0], depth + 1)
        return Node(OPERATORS[type(node.ops[0])], operands)
    if isinstance(node, ast.Call):
        return _read_call(node, depth)
    raise _UnknownError(node, "expected numbers, names, + - * / **, a comparison or a function")


def _read_call(node: ast.Call, depth: int) -> Node:
    name = node.func.id if isinstance(node.func, ast.Name) else None
    if name not in FUNCTIONS or node.keywords:
        raise _UnknownError(node, f"expected a function: {', '.join(FUNCTIONS)}")
    operation = FUNCTIONS[name]
    least = 2 if operation in (MIN, MAX) else 1
    if len(node.args) < least or (least == 1 and len(node.args) > 1):
        wanted = "two or more values" if least == 2 else "one value"
        raise _UnknownError(node, f"{name} takes {wanted}, got {len(node.args)}")
    # of several values, each result is an operand of the next
    result, *operands = [_read(argument, depth + len(node.args)) for argument in node.args]
    if least == 1:
        return Node(operation, (result,))
    for operand in operands:
        result = Node(operation, (result, operand))
    return result
