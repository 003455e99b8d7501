"""Programs that answer in frames: the same schedule as with JSON, and what mistakes lead to."""

import sys

import numpy as np
import pytest

import bfenv
from bfenv.players.remote_policy import player_policy
from tests.players.programs import QUICK, few_jobs

TRACE = few_jobs()
# First come, first served, as docs/players.md describes frames; FIRST is run at the first pass.
FCFS = """
import json, os, struct, sys, time
stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
NEVER, first = 2 ** 63 - 1, True


def integers(count):
    return struct.unpack(f"={count}q", stdin.read(8 * count))


def send(*numbers):
    stdout.write(struct.pack(f"={1 + len(numbers)}q", len(numbers), *numbers))
    stdout.flush()


def send_text(text):
    stdout.write(struct.pack("=q", -len(text)) + text)
    stdout.flush()


stdin.readline()
print('{"frames": true FLAGS}', flush=True)
while head := stdin.read(8):
    count, = struct.unpack("=q", head)
    if count < 0:
        begin = json.loads(stdin.read(-count))
        queue, size, free = [], {}, begin["processors"]
        BEGIN
        continue
    now, submitted, ended, killed, *rest = integers(count)
    for i in range(submitted):
        job, _, processors, *_ = rest[7 * i : 7 * i + 7]
        size[job] = processors
        queue.append(job)
    free += sum(size[job] for job in rest[7 * submitted :])
    queue = sorted(queue + rest[7 * submitted + ended :])
    answer = [NEVER]
    while queue and size[queue[0]] <= free:
        free -= size[queue[0]]
        answer += [queue.pop(0), NEVER]
    if first:
        first = False
        FIRST
    send(*answer)
"""


def player(first="pass", begin="send_text(b'{}')", flags=""):
    """The policy of such a player."""
    code = FCFS.replace("FIRST", first).replace("BEGIN", begin).replace("FLAGS", flags)
    return player_policy([sys.executable, "-S", "-c", code], "mine", QUICK)


def test_program():
    """A program that answers in frames makes the schedule of FCFS."""
    start = bfenv.simulate(TRACE, player()).check().start
    assert np.array_equal(start, bfenv.simulate(TRACE, "fcfs").start)


def test_trials():
    """The jobs killed at the end of their trials are told from those that have ended."""
    first = "answer[2::2] = [7] * len(answer[2::2])"
    schedule = bfenv.simulate(TRACE, player(first, flags=', "trials": true')).check()
    assert schedule.trial_start[0] == 0 and schedule.trial_end[0] == 7
    assert schedule.start[0] >= 7
    assert (schedule.trial_start[1:] < 0).all()


def test_wake():
    """A wake-up is a pass at its time, at which a job may start."""
    first = "answer = [3]; queue, free = [0, 1], begin['processors']"
    start = bfenv.simulate(TRACE, player(first)).check().start
    assert start[0] == 3


@pytest.mark.parametrize(
    ("first", "error"),
    [
        ("answer += [-2 ** 63, NEVER]", "illegal start of job .* at 0 s: it has not been sub"),
        (
            "answer += [2 ** 63 - 1, NEVER]",
            "illegal start of job .* at 0 s: it has not been submitted",
        ),
        ("answer += [0]", "its reply is not the answer to a pass"),
        ("answer = []", "its reply is not the answer to a pass"),
        ("send_text(b'{}'); continue", "its reply is not the answer to a pass"),
        ('send_text(b\'{"error": "out of luck"}\'); continue', "^out of luck$"),
        ("stdout.write(struct.pack('=q', 2 ** 40))", "its reply has more than 2,097,152 bytes"),
        ("stdout.write(struct.pack('=q', -2 ** 63))", "its reply has more than 2,097,152 bytes"),
        ("send(*answer, *range(2 ** 19))", "its reply has more than 2,097,152 bytes"),
        ("stdout.write(struct.pack('=3q', 1, NEVER, 0))", "its reply is longer than its frame"),
        ("stdout.write(struct.pack('=q', 3)); sys.exit(5)", r"process died \(exit status 5\)"),
    ],
)
def test_mistakes(first, error):
    """What a program answers in frames is checked."""
    with pytest.raises(bfenv.PolicyError, match=error):
        bfenv.simulate(TRACE, player(first))


@pytest.mark.parametrize(
    ("begin", "error"), [("send(1, 2, 3)", "not JSON, but numbers"), ("send_text(b'')", "not JSON")]
)
def test_begin(begin, error):
    """The beginning of a run is answered in JSON."""
    with pytest.raises(bfenv.PolicyError, match=error):
        bfenv.simulate(TRACE, player(begin=begin))


def test_flag():
    """A program says with true or false whether it uses frames."""
    with pytest.raises(bfenv.PolicyError, match="its frames is not true or false"):
        player(flags=', "frames": 1')
