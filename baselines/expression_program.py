"""Expressions as programs: a stack machine that works on blocks of jobs.

One instruction is one loop over up to CHUNK jobs, so that no expression is ever compiled, and none
costs much more than a compiled function. Division by zero, the logarithm of a negative number and
overflows give infinities and NaN.

A program has two parts. The largest subexpressions without `wait` and the counts of a user's jobs
are the columns: their values are kept for each job, and computed again only when the history of
its user has changed or its trial has ended. The main part computes the rest from the columns.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bfenv.baselines.expression_direction import FALLS, STAYS, direction, direction_by_age

# isort: off
from bfenv.baselines.expressions import (
    ABS, ADD, COLUMN, CONSTANT, DIVIDE, EXP, GREATER, LESS, LESS_EQUAL, LOAD, LOG, MAX, MIN,
    MULTIPLY, NEGATE, POWER, SQRT, SUBTRACT, Node, read_expression, wrong,
)  # fmt: skip

# isort: on
from bfenv.baselines.user_history import (
    ESTIMATE,
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
from bfenv.core.cluster import now
from bfenv.core.kernel import kernel, shared_kernel

CHUNK = 128  # jobs
DEEPEST = 32  # values on the stack
LOWEST = -1e280  # no value is below it, so that jobs past a deadline or an age limit come before
FIXED = {i for i, each in enumerate(QUANTITIES) if each.fixed}
COUNTS = {USER_QUEUED, USER_RUNNING}
LEARNT = set(range(len(NAMES))) - FIXED - COUNTS - {WAIT, TRIED}

Instruction = tuple[int, int, float]  # operation, operand, constant


class Program(NamedTuple):
    """An expression as instructions, and room for the values they work on."""

    operation: np.ndarray  # (m,) int64: those of the columns one after another, then the main part
    operand: np.ndarray  # (m,) int64: which of QUANTITIES a LOAD loads, or the column of a COLUMN
    constant: np.ndarray  # (m,) float64: what a CONSTANT puts on the stack
    end: np.ndarray  # (columns + 1,) int64: where the instructions of each part end
    stack: np.ndarray  # (depth, CHUNK) float64
    wait: np.ndarray  # (CHUNK,) float64 seconds: the waits that a WAIT loads
    changes: np.ndarray  # (1,) bool: the value of a waiting job may change
    counts: np.ndarray  # (1,) bool: uses the numbers of a user's waiting and running jobs
    learns: np.ndarray  # (1,) bool: uses what is known of ended jobs
    direction: np.ndarray  # (1,) int64: see `bfenv.baselines.expression_direction`
    by_age: np.ndarray  # (1,) bool: of jobs with equal requests the oldest has the smallest value
    varies: np.ndarray  # (1,) bool: the columns of a job may change


class Columns(NamedTuple):
    """The values of a program's columns for each job."""

    value: np.ndarray  # (columns, n) float64
    version: np.ndarray  # (n,) int64: of what the values depend on; -1 for no values yet
    stale: np.ndarray  # (CHUNK,) int64 jobs whose values are to be computed


def new_columns(program: Program, count: int) -> Columns:
    """Make room for the columns of a program and `count` jobs."""
    return Columns(
        np.empty((len(program.end) - 1, count)),
        np.full(count, -1),
        np.empty(CHUNK, dtype=np.int64),
    )


def parse_expression(text: str, option: str = "order") -> Program:
    """Read an expression and make a program of it.

    Raises
    ------
    PolicyError
        If it cannot be read; the message points at the column.
    """
    program = _parse(text, option)
    return program._replace(stack=np.empty_like(program.stack), wait=np.empty(CHUNK))


@lru_cache(maxsize=256)
def _parse(text: str, option: str) -> Program:
    tree = read_expression(text, option)
    try:
        instructions, ends, depth = _compile(tree)
        loaded, goes, goes_by_age = _quantities(tree), direction(tree), direction_by_age(tree)
    except RecursionError:
        raise wrong(option, text, 1, "cannot be read") from None
    if depth > DEEPEST:
        raise wrong(option, text, 1, f"keeps {depth} values at once, at most {DEEPEST} are kept")
    operation, operand, constant = zip(*instructions, strict=True)
    return Program(
        np.array(operation, dtype=np.int64),
        np.array(operand, dtype=np.int64),
        np.array(constant, dtype=np.float64),
        np.array(ends),
        np.empty((depth, CHUNK)),
        np.empty(CHUNK),
        changes=np.array([bool(loaded - FIXED)]),
        counts=np.array([bool(loaded & COUNTS)]),
        learns=np.array([bool(loaded & LEARNT)]),
        direction=np.array([goes]),
        by_age=np.array([goes_by_age in (FALLS, STAYS) and SUBMIT not in loaded]),
        varies=np.array([bool(loaded & (LEARNT | {TRIED}))]),
    )


def _compile(tree: Node) -> tuple[list[Instruction], list[int], int]:
    """Return the instructions, where those of each part end, and how deep the stack gets."""
    columns: dict[Node, int] = {}
    main: list[Instruction] = []
    instructions: list[Instruction] = []
    ends = []
    depth = _translate(tree, main, columns)
    for node in columns:
        depth = max(depth, _translate(node, instructions, None))
        ends.append(len(instructions))
    return instructions + main, [*ends, len(instructions) + len(main)], depth


def _quantities(node: Node) -> set[int]:
    """Return which of QUANTITIES are in a tree."""
    if node.operation == LOAD:
        return {node.quantity}
    return set().union(*map(_quantities, node.operands))


def _translate(node: Node, instructions: list[Instruction], columns: dict[Node, int] | None) -> int:
    """Append the instructions of a node; return how deep the stack gets.

    Subexpressions that can be columns become such, unless `columns` is None.
    """
    if columns is not None and not _quantities(node) & (COUNTS | {WAIT}) and _quantities(node):
        instructions.append((COLUMN, columns.setdefault(node, len(columns)), 0.0))
        return 1
    if not node.operands:
        instructions.append((node.operation, node.quantity, node.constant))
        return 1
    depth = 0
    for above, operand in enumerate(node.operands):
        depth = max(depth, above + _translate(operand, instructions, columns))
    instructions.append((node.operation, 0, 0.0))
    return depth


@kernel
def refresh_columns(program, columns, history, cluster, jobs, part):
    """Compute the columns again of those of up to CHUNK jobs of which they may have changed.

    Returns how many jobs that were; they are then in `columns.stale`.
    """
    stale, count = columns.stale, 0
    for job in part:
        newest = version(program, history, cluster, jobs, job)
        if columns.version[job] != newest:
            columns.version[job] = newest
            stale[count] = job
            count += 1
    if count == 0:
        return 0
    begin = 0
    for column in range(len(columns.value)):
        end = program.end[column]
        _run(program, columns, begin, end, history, cluster, jobs, stale[:count])
        begin = end
        for i in range(count):
            columns.value[column, stale[i]] = program.stack[0, i]
    return count


@kernel
def version(program, history, cluster, jobs, job):
    """Return a number >= 0 that changes when a column of a job may change."""
    if not program.varies[0]:
        return 0
    number = 1 if cluster.trial_end[job] >= 0 else 0
    if program.learns[0] and jobs.user[job] >= 0:
        number += 2 * history.ended[jobs.user[job]]
    return number


@kernel
def evaluate(program, columns, history, cluster, jobs, part):
    """Compute the values that up to CHUNK jobs have now; they are then in stack[0].

    The columns must be fresh. NaN becomes inf, and values below LOWEST become LOWEST.
    """
    for i in range(len(part)):
        program.wait[i] = now(cluster) - jobs.submit[part[i]]
    evaluate_after(program, columns, history, cluster, jobs, part)


@kernel
def evaluate_after(program, columns, history, cluster, jobs, part):
    """Compute the values that up to CHUNK jobs have after the waits in program.wait."""
    parts = len(program.end)
    begin = program.end[parts - 2] if parts > 1 else 0
    end = program.end[parts - 1]
    _run(program, columns, begin, end, history, cluster, jobs, part)
    value = program.stack[0]
    for i in range(len(part)):
        value[i] = max(value[i], LOWEST) if value[i] == value[i] else np.inf


@kernel
def score_jobs(program, columns, history, cluster, jobs, queue, value):
    """Write the value of the expression for each job of a queue into value[job].

    NaN becomes inf, and values below LOWEST become LOWEST. `history` must be up to date (`learn`);
    the counts of a user's jobs are made here if needed.
    """
    if program.counts[0]:
        count_jobs(history, cluster, jobs)
    for first in range(0, len(queue), CHUNK):
        part = queue[first : first + CHUNK]
        refresh_columns(program, columns, history, cluster, jobs, part)
        evaluate(program, columns, history, cluster, jobs, part)
        for i in range(len(part)):
            value[part[i]] = program.stack[0, i]


@shared_kernel
def _run(program, columns, begin, end, history, cluster, jobs, part):
    """Run some of the instructions for up to CHUNK jobs; the result is then in stack[0]."""
    stack, count = program.stack, len(part)
    top = -1
    for step in range(begin, end):
        operation, operand = program.operation[step], program.operand[step]
        if operation == CONSTANT:
            top += 1
            for i in range(count):
                stack[top, i] = program.constant[step]
        elif operation == COLUMN:
            top += 1
            for i in range(count):
                stack[top, i] = columns.value[operand, part[i]]
        elif operation == LOAD:
            top += 1
            _load(program, history, cluster, jobs, part, operand, stack[top])
        elif operation <= ABS:
            _apply_to_one(operation, stack[top, :count])
        else:
            top -= 1
            _apply_to_two(operation, stack[top, :count], stack[top + 1, :count])


@kernel
def _load(program, history, cluster, jobs, part, which, row):
    if which == WAIT:
        for i in range(len(part)):
            row[i] = program.wait[i]
    elif which == ESTIMATE:
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
