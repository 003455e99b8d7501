"""Programs of expressions in one array.

Python needs time to pass each array to a kernel, so a kernel that is called often should take few
of them.
"""

import numpy as np

from bfenv.core.kernel import inlined
from bfenv.knowledge.expression_program import CHUNK, MAIN, Columns, Program

# Where the parts of a packed program begin. The first element is the number of instructions.
_END, _COLUMNS, _CHANGES, _COUNTS, _LEARNS, _DIRECTION, _BY_AGE, _VARIES = 1, 5, 6, 7, 9, 10, 11, 12
_LIMITED = 13
_STALE_COUNT = 14
_STALE = _STALE_COUNT + MAIN
_WAIT = _STALE + MAIN * CHUNK
_OPERATION = _WAIT + CHUNK


def pack_program(program: Program) -> np.ndarray:
    """Copy a program into one array, (p,) int64, with floats as their bits."""
    room = np.zeros(_OPERATION - _STALE_COUNT, dtype=np.int64)  # for stale jobs and waits
    parts = (
        [len(program.operation)], program.end, program.columns, program.changes, program.counts,
        program.learns, program.direction, program.by_age, program.varies, program.limited, room,
        program.operation, program.operand, program.constant.view(np.int64),
        np.zeros(program.stack.size),
    )  # fmt: skip
    return np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])


def without_room(packed: np.ndarray) -> np.ndarray:
    """Return what of a packed program, or of no program, does not change when it is run."""
    return np.concatenate([packed[:_STALE_COUNT], packed[_OPERATION:][: 3 * sum(packed[:1])]])


@inlined
def program_of(packed):
    """Return the program in a packed array, whose room it shares."""
    operand = _OPERATION + packed[0]
    constant = operand + packed[0]
    stack = constant + packed[0]
    return Program(
        packed[_OPERATION:operand],
        packed[operand:constant],
        packed[constant:stack].view(np.float64),
        packed[_END:_COLUMNS],
        packed[_COLUMNS:_CHANGES],
        packed[stack:].view(np.float64).reshape((len(packed) - stack) // CHUNK, CHUNK),
        packed[_WAIT:_OPERATION].view(np.float64),
        packed[_CHANGES:_COUNTS],
        packed[_COUNTS:_LEARNS],
        packed[_LEARNS:_DIRECTION],
        packed[_DIRECTION:_BY_AGE],
        packed[_BY_AGE:_VARIES],
        packed[_VARIES:_LIMITED],
        packed[_LIMITED:_STALE_COUNT],
    )


@inlined
def columns_of(packed, value, version):
    """Return the columns of a packed program; `value` and `version` are as in Columns."""
    stale = packed[_STALE:_WAIT].reshape(MAIN, CHUNK)
    return Columns(value, version, stale, packed[_STALE_COUNT:_STALE])
