"""Expressions as programs: a stack machine that works on blocks of jobs.

One instruction is one loop over up to CHUNK jobs, so that no expression is ever compiled, and none
costs much more than a compiled function. Division by zero, the logarithm of a negative number and
overflows give infinities and NaN.

A program has four parts, by how often values change. The largest subexpressions of requests alone,
of what is known of ended jobs, and with the counts of a user's jobs are the columns of the first
three parts. A column is kept for each job and computed again only when what it is about has
changed. Columns may be about earlier columns. The main part computes the rest from the columns, the
wait, the free processors and the backlog.
"""

from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from bfenv.knowledge.expression_direction import FALLS, STAYS, direction

# isort: off
from bfenv.knowledge.expressions import (
    ABS,
    ADD,
    COLUMN,
    CONSTANT,
    DIVIDE,
    EXP,
    GREATER,
    LESS,
    LESS_EQUAL,
    LOAD,
    LOG,
    MAX,
    MIN,
    MULTIPLY,
    NEGATE,
    POWER,
    SQRT,
    STORE,
    SUBTRACT,
    Node,
    read_expression,
    wrong,
)

# isort: on
import bfenv.knowledge.user_history as h
from bfenv.core.cluster import PROCESSORS, now
from bfenv.core.kernel import kernel, shared_kernel
from bfenv.knowledge.user_history import quantity

CHUNK = 128  # jobs
DEEPEST = 32  # values on the stack
LOWEST = -1e280  # no value is below it, so that jobs past a deadline or an age limit come before
FIXED = {i for i, entry in enumerate(h.QUANTITIES) if entry.fixed}
COUNTS = {h.USER_QUEUED, h.USER_RUNNING}
# Differ from pass to pass, whatever is known of the job
OF_PASS = {h.WAIT, h.FREE, h.FITS, h.BACKLOG}
LEARNT = set(range(len(h.NAMES))) - FIXED - COUNTS - OF_PASS - {h.TRIED}
LONGEST_LIMIT = 1 << 30  # seconds; longer age limits count as one
ASKED, KNOWN, COUNTED, MAIN = range(4)  # the parts: of requests, of ended jobs, of counts, the rest

Instruction = tuple[int, int, float]  # operation, operand, constant


class Program(NamedTuple):
    """An expression as instructions, and room for the values they work on."""

    operation: np.ndarray  # (m,) int64, of one part after another
    operand: np.ndarray  # (m,) int64: which of QUANTITIES a LOAD loads, or a column
    constant: np.ndarray  # (m,) float64: what a CONSTANT puts on the stack
    end: np.ndarray  # (4,) int64: where the instructions of each part end
    columns: np.ndarray  # (1,) int64: how many there are
    stack: np.ndarray  # (depth, CHUNK) float64
    wait: np.ndarray  # (CHUNK,) float64 seconds: the waits that a WAIT loads
    changes: np.ndarray  # (1,) bool: the value of a waiting job may change
    counts: np.ndarray  # (3,) bool: which of `user_history.COUNTABLE` it uses
    learns: np.ndarray  # (1,) bool: uses what is known of ended jobs
    by_age: np.ndarray  # (1,) bool: of jobs with equal requests the oldest has the smallest value
    varies: np.ndarray  # (1,) bool: what is known of a job may change the value
    limited: np.ndarray  # (1,) bool: uses the limit of the age guard


class Columns(NamedTuple):
    """The values of a program's columns for each job."""

    value: np.ndarray  # (columns, n) float64
    version: np.ndarray  # (n, 2) int64, see `known_version` and `counts_version`; -1: none yet
    stale: np.ndarray  # (MAIN, CHUNK) int64 jobs whose columns of a part are to be computed
    stale_count: np.ndarray  # (MAIN,) int64: how many that are


def new_columns(program: Program, count: int) -> Columns:
    """Make room for the columns of a program and `count` jobs."""
    return Columns(
        np.empty((program.columns[0], count)),
        np.full((count, 2), -1),
        np.empty((MAIN, CHUNK), dtype=np.int64),
        np.empty(MAIN, dtype=np.int64),
    )


def parse_expression(text: str, option: str = "order") -> Program:
    """Read an expression and make a program of it.

    Raises PolicyError if it cannot be read; the message points at the column.
    """
    program = _parse(text, option)
    return program._replace(stack=np.empty_like(program.stack), wait=np.empty(CHUNK))


@lru_cache(maxsize=256)
def _parse(text: str, option: str) -> Program:
    tree = read_expression(text, option)
    try:
        parts, columns, depth = _compile(tree)
        loaded, goes = _quantities(tree), direction(tree)
    except RecursionError:
        raise wrong(option, text, 1, "cannot be read") from None
    if depth > DEEPEST:
        raise wrong(option, text, 1, f"keeps {depth} values at once, at most {DEEPEST} are kept")
    operation, operand, constant = zip(*chain(*parts), strict=True)
    return Program(
        np.array(operation, dtype=np.int64),
        np.array(operand, dtype=np.int64),
        np.array(constant, dtype=np.float64),
        np.cumsum([len(part) for part in parts]),
        np.array([columns]),
        np.empty((depth, CHUNK)),
        np.empty(CHUNK),
        changes=np.array([bool(loaded - FIXED)]),
        counts=np.array([counted in loaded for counted in h.COUNTABLE]),
        learns=np.array([bool(loaded & LEARNT)]),
        by_age=np.array([goes in (FALLS, STAYS) and not loaded & {h.SUBMIT, h.RANDOM}]),
        varies=np.array([bool(loaded & (LEARNT | {h.TRIED}))]),
        limited=np.array([h.AGE_LIMIT in loaded]),
    )


def draws_numbers(text: str | None) -> bool:
    """Tell whether an expression, which can be read, has the quantity `random`."""
    return text is not None and h.RANDOM in _quantities(read_expression(text))


def _compile(tree: Node) -> tuple[list[list[Instruction]], int, int]:
    """Return the instructions of each part, the number of columns, and how deep the stack gets."""
    columns: dict[Node, int] = {}
    _find_columns(tree, MAIN, columns)
    # A column comes after the columns in it, which are smaller, of the same part or an earlier one.
    ordered = sorted(columns, key=lambda node: (_part(node), _size(node)))
    columns = {node: number for number, node in enumerate(ordered)}
    parts: list[list[Instruction]] = [[] for _ in range(MAIN + 1)]
    depth = 0
    for node, number in columns.items():
        part = parts[_part(node)]
        depth = max(depth, _translate_inside(node, part, columns))
        part.append((STORE, number, 0.0))
    depth = max(depth, _translate(tree, parts[MAIN], columns))
    return parts, len(columns), depth


def _part(node: Node) -> int:
    """Return the part that a node would be a column of."""
    loaded = _quantities(node)
    if loaded & OF_PASS:
        return MAIN
    if loaded & COUNTS:
        return COUNTED
    return KNOWN if loaded & (LEARNT | {h.TRIED}) else ASKED


def _find_columns(node: Node, outside: int, columns: dict[Node, int]) -> None:
    """Add the largest subexpressions that change less often than what is around them."""
    part = _part(node)
    # A request needs no column: it is there. A constant is the same for all jobs.
    if part < outside and _quantities(node) and not (part == ASKED and node.operation == LOAD):
        columns[node] = 0
    for operand in node.operands:
        _find_columns(operand, part, columns)


def _quantities(node: Node) -> set[int]:
    """Return which of QUANTITIES are in a tree."""
    if node.operation == LOAD:
        return {node.quantity}
    return set().union(*map(_quantities, node.operands))


def _size(node: Node) -> int:
    """Return how many nodes are in a tree."""
    return 1 + sum(map(_size, node.operands))


def _translate(node: Node, instructions: list[Instruction], columns: dict[Node, int]) -> int:
    """Append the instructions of a node; return how deep the stack gets."""
    if node in columns:
        instructions.append((COLUMN, columns[node], 0.0))
        return 1
    return _translate_inside(node, instructions, columns)


def _translate_inside(node: Node, instructions: list[Instruction], columns: dict[Node, int]) -> int:
    """Append the instructions that compute a node, also if it is a column."""
    if not node.operands:
        instructions.append((node.operation, node.quantity, node.constant))
        return 1
    depth = 0
    for above, operand in enumerate(node.operands):
        depth = max(depth, above + _translate(operand, instructions, columns))
    instructions.append((node.operation, 0, 0.0))
    return depth


@kernel
def known_version(program, history, cluster, jobs, job):
    """Return a number >= 0 that changes when what is known of a job may change."""
    if not program.varies[0]:
        return 0
    number = 1 if cluster.trial_end[job] >= 0 else 0
    if program.learns[0] and jobs.user[job] >= 0:
        number += 2 * history.ended[jobs.user[job]]
    if program.limited[0]:
        number += min(history.age_limit[0], LONGEST_LIMIT) << 32
    return number


@kernel
def counts_version(program, history, jobs, job):
    """Return a number >= 0 that changes when the counts of a job's user change."""
    user, number = jobs.user[job], 0
    if user >= 0:
        if program.counts[h.COUNT_QUEUED]:
            number = history.queued[user]
        if program.counts[h.COUNT_RUNNING]:
            number += history.running[user] << 32
    return number


@kernel
def _find_stale(program, columns, history, cluster, jobs, part):
    """List the jobs of which columns are to be computed again; note their new versions."""
    stale, version = columns.stale, columns.version
    asked_count, known_count, counted_count = 0, 0, 0
    for job in part:
        newest = known_version(program, history, cluster, jobs, job)
        newest_counts = counts_version(program, history, jobs, job)
        if version[job, 0] != newest or version[job, 1] != newest_counts:
            if version[job, 0] != newest:
                if version[job, 0] < 0:
                    stale[ASKED, asked_count] = job
                    asked_count += 1
                stale[KNOWN, known_count] = job
                known_count += 1
            stale[COUNTED, counted_count] = job
            counted_count += 1
            version[job, 0] = newest
            version[job, 1] = newest_counts
    columns.stale_count[ASKED] = asked_count
    columns.stale_count[KNOWN] = known_count
    columns.stale_count[COUNTED] = counted_count


@kernel
def write_waits(program, cluster, jobs, part):
    """Write how long up to CHUNK jobs have waited, for `evaluate`."""
    for i in range(len(part)):
        program.wait[i] = now(cluster) - jobs.submit[part[i]]


@shared_kernel
def evaluate(program, columns, history, cluster, jobs, part):
    """Compute the values that up to CHUNK jobs have after the waits in program.wait.

    They are then in stack[0]. NaN becomes inf, and values below LOWEST become LOWEST. `history`
    must be up to date (`learn_jobs`, `count_jobs`).
    """
    columns.stale_count[COUNTED] = 0
    if program.columns[0] > 0:
        _find_stale(program, columns, history, cluster, jobs, part)
    first = MAIN if columns.stale_count[COUNTED] == 0 else ASKED
    for number in range(first, MAIN + 1):
        begin = program.end[number - 1] if number > 0 else 0
        stale = columns.stale[min(number, COUNTED)]
        todo = part if number == MAIN else stale[: columns.stale_count[number]]
        if len(todo) > 0:
            _run(program, columns, begin, program.end[number], history, cluster, jobs, todo)
    value = program.stack[0]
    for i in range(len(part)):
        value[i] = max(value[i], LOWEST) if value[i] == value[i] else np.inf


@kernel
def score_jobs(program, columns, history, cluster, jobs, queue, value):
    """Write the value of the expression for each job of a queue into value[job].

    NaN becomes inf, and values below LOWEST become LOWEST. `history` must be up to date
    (`learn_jobs`, `count_jobs`).
    """
    for first in range(0, len(queue), CHUNK):
        part = queue[first : first + CHUNK]
        write_waits(program, cluster, jobs, part)
        evaluate(program, columns, history, cluster, jobs, part)
        for i in range(len(part)):
            value[part[i]] = program.stack[0, i]


@kernel
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
        elif operation == STORE:
            for i in range(count):
                columns.value[operand, part[i]] = stack[top, i]
            top -= 1
        elif operation == LOAD:
            top += 1
            _load(program, history, cluster, jobs, part, operand, stack[top])
        elif operation <= ABS:
            _apply_to_one(operation, stack[top, :count])
        else:
            top -= 1
            _apply_to_two(operation, stack[top, :count], stack[top + 1, :count])


@kernel
def _load(program, history, cluster, jobs, part, kind, row):
    if kind == h.WAIT:
        for i in range(len(part)):
            row[i] = program.wait[i]
    elif kind == h.ESTIMATE:
        for i in range(len(part)):
            row[i] = jobs.estimate[part[i]]
    elif kind == h.SIZE:
        for i in range(len(part)):
            row[i] = jobs.size[part[i]]
    elif kind == h.SUBMIT:
        for i in range(len(part)):
            row[i] = jobs.submit[part[i]]
    elif kind == h.PRIORITY:
        for i in range(len(part)):
            row[i] = jobs.priority[part[i]]
    elif kind == h.MACHINE_SIZE:
        for i in range(len(part)):
            row[i] = cluster.state[PROCESSORS]
    else:
        for i in range(len(part)):
            row[i] = quantity(history, cluster, jobs, part[i], kind)


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
    count = len(left)
    if operation == ADD:
        for i in range(count):
            left[i] += right[i]
    elif operation == SUBTRACT:
        for i in range(count):
            left[i] -= right[i]
    elif operation == MULTIPLY:
        for i in range(count):
            left[i] *= right[i]
    elif operation == DIVIDE:
        for i in range(count):
            left[i] /= right[i]
    elif operation == POWER:
        for i in range(count):
            left[i] **= right[i]
    elif operation == MIN:
        for i in range(count):
            left[i] = np.minimum(left[i], right[i])
    elif operation == MAX:
        for i in range(count):
            left[i] = np.maximum(left[i], right[i])
    elif operation == LESS:
        for i in range(count):
            left[i] = left[i] < right[i]
    elif operation == LESS_EQUAL:
        for i in range(count):
            left[i] = left[i] <= right[i]
    elif operation == GREATER:
        for i in range(count):
            left[i] = left[i] > right[i]
    else:
        for i in range(count):
            left[i] = left[i] >= right[i]
