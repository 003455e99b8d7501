"""Priority functions written as expressions, like "size * estimate" or "-(wait / estimate)**3".

An expression is arithmetic over `bfenv.baselines.user_history.QUANTITIES`: numbers, names,
parentheses, + - * / **, the functions of FUNCTIONS and the comparisons < <= > >=, which are 1 or 0.
Nothing else can be written, so that an expression from anywhere is safe to read.

It becomes a short program for a stack machine, which works on up to CHUNK jobs at a time: one
instruction is one loop over an array. So no expression is ever compiled, and none costs much more
than a compiled function. Division by zero, the logarithm of a negative number and overflows give
infinities and NaN; a job whose score is NaN comes last.
"""

import ast
from typing import NamedTuple

import numpy as np

from bfenv.baselines.user_history import (
    ESTIMATE,
    EXPANSION,
    NAMES,
    PRIORITY,
    QUANTITIES,
    SIZE,
    SUBMIT,
    TRIED,
    USER_QUEUED,
    USER_RUNNING,
    WAIT,
    count_jobs,
    quantity,
)
from bfenv.core.errors import PolicyError
from bfenv.core.kernel import kernel

CHUNK = 128  # jobs
LONGEST = 2_000  # characters of an expression
LARGEST = 1e300  # no constant reaches it
LOWEST = -1e280  # no value is below it, so that jobs past a deadline or an age limit come before
DEEPEST = 32  # values on the stack
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
) = range(18)
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
FIXED = {i for i, each in enumerate(QUANTITIES) if each.fixed}
COUNTS = {USER_QUEUED, USER_RUNNING}
LEARNT = set(range(len(NAMES))) - FIXED - COUNTS - {WAIT, EXPANSION, TRIED}


class Program(NamedTuple):
    """An expression as instructions, and room for the values they work on."""

    operation: np.ndarray  # (m,) int64
    quantity: np.ndarray  # (m,) int64: which of QUANTITIES a LOAD loads
    constant: np.ndarray  # (m,) float64: what a CONSTANT puts on the stack
    stack: np.ndarray  # (depth, CHUNK) float64
    changes: np.ndarray  # (1,) bool: the value of a waiting job may change
    counts: np.ndarray  # (1,) bool: uses the numbers of a user's waiting and running jobs
    learns: np.ndarray  # (1,) bool: uses what is known of ended jobs


def parse_expression(text: str, option: str = "order") -> Program:
    """Read an expression.

    Raises
    ------
    PolicyError
        If it cannot be read; the message points at the column.
    """
    if len(text) > LONGEST:
        raise PolicyError(f"{option} has {len(text):,} characters, at most {LONGEST:,} are read")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        instructions: list[tuple[int, int, float]] = []
        depth = _translate(tree.body, instructions)
    except SyntaxError as error:
        raise _wrong(option, text, error.offset or len(text) + 1, "cannot be read") from None
    except _UnknownError as error:
        raise _wrong(option, text, error.column, str(error)) from None
    except (ValueError, RecursionError, MemoryError):
        raise _wrong(option, text, 1, "cannot be read") from None
    if depth > DEEPEST:
        raise _wrong(option, text, 1, f"keeps {depth} values at once, at most {DEEPEST} are kept")
    loaded = {which for operation, which, _ in instructions if operation == LOAD}
    operation, which, constant = zip(*instructions, strict=True)
    return Program(
        np.array(operation, dtype=np.int64),
        np.array(which, dtype=np.int64),
        np.array(constant, dtype=np.float64),
        np.empty((depth, CHUNK)),
        changes=np.array([bool(loaded - FIXED)]),
        counts=np.array([bool(loaded & COUNTS)]),
        learns=np.array([bool(loaded & LEARNT)]),
    )


class _UnknownError(Exception):
    """Something that an expression cannot have, at a column counted from 1."""

    def __init__(self, node: ast.AST, message: str):
        super().__init__(message)
        self.column = getattr(node, "col_offset", 0) + 1


def _wrong(option: str, text: str, column: int, message: str) -> PolicyError:
    return PolicyError(f"{option}: {message}, at column {column} of {text.strip()!r}")


def _translate(node: ast.AST, instructions: list[tuple[int, int, float]]) -> int:
    """Append the instructions of a node; return how deep the stack gets."""
    if isinstance(node, ast.Constant):
        number = node.value
        if not isinstance(number, int | float) or isinstance(number, bool):
            raise _UnknownError(node, f"expected a number, got {number!r:.40}")
        if not abs(number) < LARGEST:
            raise _UnknownError(node, f"expected a number below {LARGEST}, got {number!r:.40}")
        instructions.append((CONSTANT, 0, float(number)))
        return 1
    if isinstance(node, ast.Name):
        if node.id not in NAMES:
            raise _UnknownError(node, f"unknown name {node.id!r}; known are {', '.join(NAMES)}")
        instructions.append((LOAD, NAMES.index(node.id), 0.0))
        return 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        depth = _translate(node.operand, instructions)
        if isinstance(node.op, ast.USub):
            instructions.append((NEGATE, 0, 0.0))
        return depth
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return _apply(OPERATORS[type(node.op)], [node.left, node.right], instructions)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
        operands = [node.left, node.comparators[0]]
        return _apply(OPERATORS[type(node.ops[0])], operands, instructions)
    if isinstance(node, ast.Call):
        return _call(node, instructions)
    raise _UnknownError(node, "expected numbers, names, + - * / **, a comparison or a function")


def _call(node: ast.Call, instructions: list[tuple[int, int, float]]) -> int:
    name = node.func.id if isinstance(node.func, ast.Name) else None
    if name not in FUNCTIONS or node.keywords:
        raise _UnknownError(node, f"expected a function: {', '.join(FUNCTIONS)}")
    operation = FUNCTIONS[name]
    least = 2 if operation in (MIN, MAX) else 1
    if len(node.args) < least or (least == 1 and len(node.args) > 1):
        wanted = "two or more values" if least == 2 else "one value"
        raise _UnknownError(node, f"{name} takes {wanted}, got {len(node.args)}")
    if least == 1:
        depth = _translate(node.args[0], instructions)
        instructions.append((operation, 0, 0.0))
        return depth
    return _apply(operation, node.args, instructions)


def _apply(
    operation: int, operands: list[ast.expr], instructions: list[tuple[int, int, float]]
) -> int:
    """Apply an operation of two values from left to right to two or more."""
    depth = _translate(operands[0], instructions)
    for operand in operands[1:]:
        depth = max(depth, 1 + _translate(operand, instructions))
        instructions.append((operation, 0, 0.0))
    return depth


@kernel
def score_jobs(program, history, cluster, jobs, queue, value):
    """Write the value of the expression for each job of a queue into value[job].

    NaN becomes inf, and values below LOWEST become LOWEST.
    `history` must be up to date (`learn`); the counts of a user's jobs are made here if needed.
    """
    if program.counts[0]:
        count_jobs(history, cluster, jobs)
    for first in range(0, len(queue), CHUNK):
        part = queue[first : first + CHUNK]
        _run(program, history, cluster, jobs, part)
        for i in range(len(part)):
            number = program.stack[0, i]
            value[part[i]] = max(number, LOWEST) if number == number else np.inf


@kernel
def _run(program, history, cluster, jobs, part):
    """Run the program for up to CHUNK jobs; their values are then in stack[0]."""
    stack, count = program.stack, len(part)
    top = -1
    for step in range(len(program.operation)):
        operation = program.operation[step]
        if operation == CONSTANT:
            top += 1
            stack[top, :count] = program.constant[step]
        elif operation == LOAD:
            top += 1
            _load(history, cluster, jobs, part, program.quantity[step], stack[top])
        elif operation <= ABS:
            _apply_to_one(operation, stack[top, :count])
        else:
            top -= 1
            _apply_to_two(operation, stack[top, :count], stack[top + 1, :count])


@kernel
def _load(history, cluster, jobs, part, which, row):
    if which == ESTIMATE:
        for i in range(len(part)):
            row[i] = jobs.estimate[part[i]]
    elif which == SIZE:
        for i in range(len(part)):
            row[i] = jobs.size[part[i]]
    elif which == SUBMIT:
        for i in range(len(part)):
            row[i] = jobs.submit[part[i]]
    elif which == PRIORITY:
        for i in range(len(part)):
            row[i] = jobs.priority[part[i]]
    else:
        for i in range(len(part)):
            row[i] = quantity(history, cluster, jobs, part[i], which)


@kernel
def _apply_to_one(operation, row):
    if operation == NEGATE:
        for i in range(len(row)):
            row[i] = -row[i]
    elif operation == LOG:
        for i in range(len(row)):
            row[i] = np.log(row[i])
    elif operation == EXP:
        for i in range(len(row)):
            row[i] = np.exp(row[i])
    elif operation == SQRT:
        for i in range(len(row)):
            row[i] = np.sqrt(row[i])
    else:
        for i in range(len(row)):
            row[i] = abs(row[i])


@kernel
def _apply_to_two(operation, left, right):
    """Apply an operation to two rows; the result is in the left one."""
    for i in range(len(left)):
        a, b = left[i], right[i]
        if operation == ADD:
            left[i] = a + b
        elif operation == SUBTRACT:
            left[i] = a - b
        elif operation == MULTIPLY:
            left[i] = a * b
        elif operation == DIVIDE:
            left[i] = a / b
        elif operation == POWER:
            left[i] = a**b
        elif operation == MIN:
            left[i] = np.minimum(a, b)
        elif operation == MAX:
            left[i] = np.maximum(a, b)
        elif operation == LESS:
            left[i] = a < b
        elif operation == LESS_EQUAL:
            left[i] = a <= b
        elif operation == GREATER:
            left[i] = a > b
        else:
            left[i] = a >= b
