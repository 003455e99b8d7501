"""The mirror: what a policy sees of the machine through messages is what it sees in one process."""

import json
import sys
from itertools import chain

import numpy as np
import pytest

import bfenv
import bfenv.core.cluster as c
from bfenv.core.events import new_cluster
from bfenv.core.jobs import FOREVER
from bfenv.core.policy import make_policy, new_memory
from bfenv.leaderboard.limits import DEFAULT_LIMITS
from bfenv.testing.probes import probe_traces
from bfenv_judge.players.mirror import Mirror
from bfenv_judge.players.player_process import PlayerError
from bfenv_judge.players.remote_policy import Flags, begin_message, player_policy, policy_of
from judge_helpers.programs import QUICK, few_jobs


class LocalPlayer:
    """A player in this process; its messages go through frames or JSON all the same."""

    limits = DEFAULT_LIMITS

    def __init__(self, policy, frames):
        self.policy, self.uses_frames = policy, frames

    def ask(self, message, seconds):
        """Answer a message: build the mirror at the beginning, then decide in each pass."""
        message = json.loads(json.dumps(message))
        if message["message"] == "begin":
            keys = ("processors", "jobs", "users", "requested_starts")
            self.mirror = Mirror(*(message[key] for key in keys))
            seed, processors = message["seed"], message["processors"]
            self.memory = new_memory(self.policy, self.mirror.jobs, processors, seed)
            return {}
        parts = [message.get(key, []) for key in ("submitted", "ended", "killed")]
        submitted = chain.from_iterable(parts[0])
        numbers = [message["now"], *map(len, parts), *submitted, *parts[1], *parts[2]]
        wake, *starts = self.decide(np.array(numbers)).tolist()
        pairs = zip(starts[::2], starts[1::2], strict=True)
        reply = {"start": [job if limit == FOREVER else [job, limit] for job, limit in pairs]}
        return json.loads(json.dumps(reply if wake == FOREVER else reply | {"wake": wake}))

    def exchange(self, frame, count, seconds):
        return self.decide(frame.numbers[:count].copy()).copy()

    def decide(self, message):
        self.mirror.follow(message)
        self.policy.decide(self.mirror.cluster, self.mirror.jobs, self.memory)
        frame, count = self.mirror.answer()
        return frame.numbers[:count]


def remote(policy, frames=True):
    flags = Flags(*(getattr(policy, flag) for flag in Flags._fields))
    return policy_of(LocalPlayer(policy, frames), policy.name, flags)


def tries_and_wakes(cluster, jobs, generator):
    """Tries long jobs once, in random order, and wakes up now and then."""
    for job in generator.permutation(c.waiting(cluster)):
        if c.may_start(cluster, jobs, job):
            if jobs.estimate[job] > 300 and cluster.trial_start[job] < 0:
                c.try_start(cluster, jobs, job, 120)
            else:
                c.start(cluster, jobs, job)
    if len(c.waiting(cluster)) and c.now(cluster) % 7:
        c.wake_at(cluster, c.now(cluster) + 50)


# Policies that keep something of each job, or of groups of jobs, from pass to pass
REMEMBERING = (
    "conservative",
    "easy++",
    "easy-speculative",
    "easy-unicef",
    "easy(backfill_estimate='likely_runtime')",
    "easy(order='likely_runtime', guard=1.5)",
    "easy(order='-expansion', guard=1.2)",
    "multiqueue",
    "relaxed",
    "slack",
)
TRIES = make_policy(tries_and_wakes, stochastic=True, trials=True, stateful=True)


@pytest.mark.parametrize("frames", [True, False])
@pytest.mark.parametrize("name", ["easy", "cons-rs", "tries", *REMEMBERING])
def test_schedules(name, frames):
    """A policy behind messages makes the schedule that it makes in one process."""
    policy = TRIES if name == "tries" else bfenv.find_policy(name)
    for trace in probe_traces(policy.requested_starts):
        one, other = (bfenv.simulate(trace, each, 3) for each in (policy, remote(policy, frames)))
        for field in ("start", "end", "trial_start", "trial_end"):
            assert np.array_equal(getattr(one, field), getattr(other, field))
    assert name != "tries" or (one.trial_end >= 0).any() or len(trace) == 1


def test_view():
    """At every pass, all that the mirror shows of known jobs is what the machine shows."""
    seen, views = [], (c.free, c.waiting, c.running, c.expected_ends, c.finished, c.now)

    def watch(cluster, jobs):
        known = int(np.searchsorted(jobs.submit, c.now(cluster), side="right"))
        parts = [np.array(view(cluster)) for view in views]
        parts += [getattr(cluster, name)[:known].copy() for name in ("start", "end", "trial_end")]
        parts += [column[:known].copy() for column in jobs]
        seen.append(parts)
        for job in c.waiting(cluster):
            if c.may_start(cluster, jobs, job):
                c.start(cluster, jobs, job)

    policy = make_policy(watch)
    trace = probe_traces(False)[0]
    bfenv.simulate(trace, policy)
    direct = seen.copy()
    seen.clear()
    bfenv.simulate(trace, remote(policy))
    assert len(direct) == len(seen) > len(trace)
    for one, other in zip(direct, seen, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_future():
    """Nothing of a job is in the mirror before it is submitted, and its arrays are read-only."""
    mirror = Mirror(8, 4, 2, False)
    mirror.follow(np.array([3, 1, 0, 0, 0, 3, 5, 60, 1, 2, 0]))
    assert [column[0] for column in mirror.jobs] == [3, 5, 60, 1, 2, 0, 1]
    assert (mirror.jobs.submit[1:] == FOREVER).all()
    assert all(len(set(column[1:].tolist())) == 1 for column in mirror.jobs)
    with pytest.raises(ValueError, match="read-only"):
        mirror.jobs.estimate[0] = 1


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


def test_not_restartable():
    """A player with trials gets no run if jobs are not restartable: it is not told which."""
    trace = bfenv.make_trace([0, 0], [1, 1], [1, 1], 4, restartable=[True, False])
    _, jobs, _ = new_cluster(trace)
    assert begin_message(jobs, 4, 0, trials=False)["jobs"] == 2
    with pytest.raises(PlayerError, match="some jobs are not restartable"):
        begin_message(jobs, 4, 0, trials=True)
