"""Reports on policies: registered ones have no faults, and every broken one is found out.

The zoo of broken policies tests report.py together with monitor.py, probes.py and isolation.py.
"""

import dataclasses
import gc
import os
import random
import re
import signal
import sys
import threading
import time

import numpy as np
import pytest

import bfenv
import bfenv.core.cluster as c
from bfenv.core.events import advance
from bfenv.core.jobs import SIZE
from bfenv.core.kernel import kernel
from bfenv.testing.isolation import run_isolated
from bfenv.testing.monitor import run_monitored
from bfenv.testing.report import KINDS, check_policy, report_on

POLICIES = [policy for policy in bfenv.policies().values() if isinstance(policy, bfenv.Policy)]
FIRST = {policy.decide.__module__: policy for policy in reversed(POLICIES)}  # of each module
SLOW = {"cons-rs", "multiqueue"}  # to compile or to examine; their contract is tested elsewhere


def is_first(policy):
    """Whether a policy stands for all of its module."""
    return policy is FIRST[policy.decide.__module__]


@pytest.fixture(autouse=True, scope="module")
def engine():
    """Compile here, once for all processes that are forked."""
    trace = bfenv.make_trace([0, 0], [1, 1], [5, 5], 1)
    for name in ("sound", "try_all"):
        run_monitored(bfenv.find_policy(f"{__name__}:{name}"), trace, lambda *_: None)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(
            policy,
            id=policy.name,
            marks=[
                *([pytest.mark.compiled] if policy.name in SLOW else []),
                *([pytest.mark.thorough] if policy.name in SLOW or not is_first(policy) else []),
            ],
        )
        for policy in POLICIES
    ],
)
def test_registered_policies(policy):
    """No registered policy has a fault."""
    one = bfenv.make_trace([0], [1], [1], 1)
    for warm in (policy, dataclasses.replace(policy, run=None)):
        bfenv.simulate(one, warm)  # compiled here, once for all processes of the examination
    report = check_policy(policy, seconds=300.0, slow=60.0)
    assert report.faults == () and report.passes >= report.jobs > 100
    assert str(report).startswith(f"{policy.name}: no fault found in {report.passes} decisions")


def fill(cluster, jobs, order=None):
    """Start, in this order, whatever fits."""
    for job in c.waiting(cluster) if order is None else order:
        if c.may_start(cluster, jobs, job):
            c.start(cluster, jobs, job)


def kinds(function, seconds=120.0, **options):
    """Return the kinds of faults found in a policy, and the report."""
    flags = {"stochastic", "memory", "run", "trials", "records"} & options.keys()
    policy = dataclasses.replace(
        bfenv.core.policy.make_policy(function), **{flag: options[flag] for flag in flags}
    )
    report = report_on(policy, seconds=seconds, slow=options.get("slow", 60.0))
    assert "\n" not in "".join(fault.what for fault in report.faults)
    assert {fault.kind for fault in report.faults} <= set(KINDS)
    return [fault.kind for fault in report.faults], str(report)


def sound(cluster, jobs):
    fill(cluster, jobs)


def start_all(cluster, jobs):
    for job in c.waiting(cluster):
        c.start(cluster, jobs, job)


def start_twice(cluster, jobs):
    fill(cluster, jobs)
    if len(c.started(cluster)):
        c.start(cluster, jobs, c.started(cluster)[0])


def start_the_next(cluster, jobs):
    fill(cluster, jobs)
    if len(c.waiting(cluster)):
        c.start(cluster, jobs, c.waiting(cluster)[-1] + 1)


def start_unknown(cluster, jobs):
    c.start(cluster, jobs, 10**6)


def divide(cluster, jobs):
    fill(cluster, jobs)
    1 // (len(c.waiting(cluster)) - 2)


def name_wrongly(cluster, jobs):
    fill(cluster, jobs, sorted(c.waiting(cluster), key=lambda job: jobs.runtime[job]))


def leave(cluster, jobs):
    sys.exit("enough")


def die(cluster, jobs):
    os._exit(3)


def small_only(cluster, jobs):
    fill(cluster, jobs, [job for job in c.waiting(cluster) if jobs.size[job] < 5])


def loop(cluster, jobs):
    fill(cluster, jobs)
    while len(c.waiting(cluster)) > 3:
        pass


def insomnia(cluster, jobs):
    c.wake_at(cluster, c.now(cluster) + 1)


def sort_the_queue(cluster, jobs):
    c.waiting(cluster)[:] = sorted(c.waiting(cluster), key=lambda job: jobs.size[job])
    fill(cluster, jobs)


def buy_processors(cluster, jobs):
    cluster.state[c.FREE] += 1
    fill(cluster, jobs)


def start_by_hand(cluster, jobs):
    for job in c.waiting(cluster):
        if c.may_start(cluster, jobs, job):
            cluster.start[job] = c.now(cluster)


def shorten_jobs(cluster, jobs):
    jobs.estimate[c.waiting(cluster)] = 1
    fill(cluster, jobs)


def unlock_jobs(cluster, jobs):
    jobs.estimate.flags.writeable = True
    jobs.estimate[:] = 1
    fill(cluster, jobs)


def by_runtime(cluster, jobs, runtime):
    fill(cluster, jobs, sorted(c.waiting(cluster), key=lambda job: runtime[job]))


def peek_by_frames(cluster, jobs):
    frame = sys._getframe()
    while "truth" not in frame.f_locals:
        frame = frame.f_back
    by_runtime(cluster, jobs, frame.f_locals["truth"].runtime)


def peek_at_the_caller(cluster, jobs, memory):
    """Find what only the event loop knows, if that calls; a monitor in between lets it fail."""
    frame = sys._getframe(1)
    names = frame.f_locals if "truth" in frame.f_locals else frame.f_back.f_locals
    by_runtime(cluster, jobs, names["truth"].runtime)


def runtime_of(jobs, processors, generator):
    """Find the trace in the frames that call."""
    frame = sys._getframe()
    while "trace" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["trace"].runtime


def peek_before_the_start(cluster, jobs, runtime):
    by_runtime(cluster, jobs, runtime)


def look_ahead(cluster, jobs):
    """Look at the jobs that are submitted next, which only the event loop knows."""
    frame = sys._getframe()
    while "truth" not in frame.f_locals:
        frame = frame.f_back
    line = c.waiting(cluster).tolist()
    after = line[-1] + 1 if line else 0
    coming = frame.f_locals["truth"].requests[SIZE, after : after + 3].sum() % 2
    fill(cluster, jobs, line[::-1] if coming else line)


def throw_dice(cluster, jobs):
    fill(cluster, jobs, np.random.permutation(c.waiting(cluster)))


def throw_pythons_dice(cluster, jobs):
    fill(cluster, jobs, random.sample(c.waiting(cluster).tolist(), len(c.waiting(cluster))))


def unseeded(cluster, jobs):
    fill(cluster, jobs, np.random.default_rng().permutation(c.waiting(cluster)))


def by_the_clock(cluster, jobs):
    fill(cluster, jobs, c.waiting(cluster)[:: 1 if time.perf_counter_ns() // 1000 % 2 else -1])


def seeded(cluster, jobs, generator):
    fill(cluster, jobs, generator.permutation(c.waiting(cluster)))


def generator(jobs, processors, generator):
    return generator


CALLS = []


def count_calls(cluster, jobs):
    """Keeps counting over runs."""
    CALLS.append(0)
    fill(cluster, jobs, c.waiting(cluster)[:: 1 if len(CALLS) % 7 else -1])


TRACES = set()


def count_traces(cluster, jobs):
    """Alike in every run on one trace, but not after other traces."""
    TRACES.add(len(jobs.submit))
    fill(cluster, jobs, c.waiting(cluster)[:: 1 if len(TRACES) == 2 else -1])


def passes(jobs, processors, generator):
    return [0]


def count_passes(cluster, jobs, memory):
    """Reverse the order in every third pass, which depends on every pass."""
    memory[0] += 1
    fill(cluster, jobs, c.waiting(cluster)[:: -1 if memory[0] % 3 else 1])


def try_all(cluster, jobs):
    for job in c.waiting(cluster):
        if c.may_start(cluster, jobs, job):
            if cluster.trial_start[job] < 0:
                c.try_start(cluster, jobs, job, 30)
            else:
                c.start(cluster, jobs, job)


def dawdle(cluster, jobs):
    fill(cluster, jobs)
    if len(c.waiting(cluster)) == 5 and c.now(cluster) > 1_000:  # once, on one of the traces
        time.sleep(0.05)


@kernel
def one_way(cluster, jobs, memory):
    for job in c.waiting(cluster):
        if c.may_start(cluster, jobs, job):
            c.start(cluster, jobs, job)


@kernel
def other_way(cluster, jobs, truth, memory):
    while advance(cluster, jobs, truth):
        line = c.waiting(cluster)
        for place in range(len(line)):
            job = line[len(line) - 1 - place]
            if c.may_start(cluster, jobs, job):
                c.start(cluster, jobs, job)


ZOO = [
    (
        start_all,
        {},
        ["illegal start"],
        r"at \d+ s of 'crowd': job \d+ needs \d+ processors; free: \d+$",
    ),
    (start_twice, {}, ["illegal start"], r"job 0 has started already, at \d+ s"),
    (start_the_next, {}, ["illegal start"], r"job \d+ has not been submitted"),
    (start_unknown, {}, ["illegal start"], r"job 1000000 has not been submitted"),
    (divide, {}, ["failure"], r"ZeroDivisionError: .* \(test_report.py, line \d+\)"),
    (name_wrongly, {}, ["failure"], r"AttributeError: 'Jobs' object has no attribute 'runtime'"),
    (leave, {}, ["failure"], "SystemExit: enough"),
    (die, {}, ["failure"], "it ends the process, exit status 3"),
    (small_only, {}, ["starvation"], r"'crowd': .* \d+ jobs"),
    (loop, {"seconds": 0.5}, ["endless"], r"at \d+ s of 'crowd': no decision within 0.5 s"),
    (insomnia, {}, ["endless"], r"at \d+ s of 'crowd': 10,001 "),
    (sort_the_queue, {}, ["tampering"], "cluster.queue"),
    (buy_processors, {}, ["tampering"], "cluster.state"),
    (start_by_hand, {}, ["tampering"], "cluster.start"),
    (shorten_jobs, {}, ["tampering"], "ValueError"),
    (unlock_jobs, {}, ["tampering"], r"at \d+ s of '.*': it writes to the jobs"),
    (peek_by_frames, {}, ["peeking"], r"up to \d+ s of 'crowd' .*: job \d+ starts"),
    (peek_at_the_caller, {}, ["failure", "peeking"], "KeyError: 'truth'"),
    (
        peek_before_the_start,
        {"memory": runtime_of},
        ["peeking"],
        r"up to \d+ s of 'crowd' .*: job \d+ starts",
    ),
    (look_ahead, {}, ["look-ahead"], r"up to \d+ s of 'crowd' .*: job \d+ starts"),
    (throw_dice, {}, ["global randomness"], "'crowd'"),
    (throw_pythons_dice, {}, ["global randomness"], "'crowd'"),
    (unseeded, {}, ["unrepeatable"], r"'crowd', seed 0 twice: job \d+ starts at \d+ s and at"),
    (by_the_clock, {}, ["unrepeatable"], "seed 0 twice"),
    (seeded, {"memory": generator}, ["undeclared seed"], "stochastic=True"),
    (seeded, {"memory": generator, "stochastic": True}, [], "no fault found"),
    (count_calls, {}, ["leak"], "'crowd', seed 0 twice"),
    (count_traces, {}, ["leak"], r"'ties', .*: job \d+ starts"),
    (count_passes, {"memory": passes}, ["undeclared state"], "stateful=True"),
    (try_all, {}, ["undeclared trials"], r"job \d+ .*trials=True"),
    (try_all, {"trials": True}, [], "no fault found"),
    (dawdle, {"slow": 0.04}, ["slow"], r"5 jobs waiting: .* s$"),
    (one_way, {"run": other_way}, ["two minds"], "'crowd', `decide` and `run`: job"),
    (one_way, {}, [], "no fault found"),
    (sound, {}, [], "no fault found"),
    (sound, {"records": lambda memory: {"x": [1]}}, ["failure"], "1 records 'x' of 80 jobs"),
    (sound, {"memory": lambda *_: 1 // 0}, ["failure"], "ZeroDivisionError"),
]


@pytest.mark.parametrize(
    ("function", "options", "expected", "message"),
    [pytest.param(*row, id=f"{row[0].__name__}-{'-'.join(row[2])}") for row in ZOO],
)
def test_zoo(function, options, expected, message):
    """The faults of a broken policy are found, and no others."""
    found, text = kinds(function, **options)
    assert found == expected, text
    assert re.search(message, text), text


def test_all_kinds():
    """Every kind of fault lives in the zoo."""
    assert {kind for _, _, expected, _ in ZOO for kind in expected} == set(KINDS)


def test_retracted_starts():
    """Retracting starts is not tampering."""

    def hesitant(cluster, jobs):
        fill(cluster, jobs)
        c.retract(cluster, jobs)
        fill(cluster, jobs)

    assert kinds(hesitant)[0] == []


def test_caught_illegal_start():
    """An illegal start that the policy catches is not a fault."""

    def bold(cluster, jobs):
        for job in c.waiting(cluster):
            try:
                c.start(cluster, jobs, job)
            except ValueError:
                continue

    assert kinds(bold)[0] == []


def test_check_policy():
    """check_policy raises one error with one line for each fault."""
    with pytest.raises(bfenv.PolicyError) as caught:
        check_policy(f"{__name__}:throw_dice")
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{__name__}:throw_dice: global randomness: 'crowd': ")
    with pytest.raises(bfenv.PolicyError) as caught:
        check_policy(peek_at_the_caller)
    assert [line.split(": ")[1] for line in str(caught.value).splitlines()] == [
        "failure",
        "peeking",
    ]


def test_own_trace():
    """A trace that is given is used, too."""
    big = bfenv.make_trace([0] * 9, [100] * 9, [10] * 9, 150, name="own")

    def afraid_of_large(cluster, jobs):
        fill(cluster, jobs, [job for job in c.waiting(cluster) if jobs.size[job] < 50])

    assert report_on(afraid_of_large).faults == ()
    (fault,) = report_on(afraid_of_large, big).faults
    assert (fault.kind, fault.what[:6]) == ("starvation", "'own':")


def test_isolation():
    """What a policy does in a probe has no effect on this process."""
    before = len(CALLS)
    report_on(count_calls)
    assert len(CALLS) == before


class WaitsWhenCollected:
    """Waits for a thread when it is collected, as clients and pools do."""

    def __init__(self):
        self.itself = self
        self.collected = threading.Event()
        self.thread = threading.Thread(target=self.collected.wait, daemon=True)
        self.thread.start()

    def __del__(self):
        self.collected.set()
        self.thread.join()


def collects(cluster, jobs):
    gc.collect()
    fill(cluster, jobs)


def test_garbage_of_the_parent():
    """Garbage of this process that waits for a thread does not stop a probe."""
    gc.disable()
    try:
        WaitsWhenCollected()
        report = report_on(collects, seconds=120.0)
    finally:
        gc.enable()
    assert report.faults == ()


TRACE = bfenv.load_workload("lublin:jobs=300")


def by_a_global(cluster, jobs):
    for job in sorted(c.waiting(cluster), key=lambda job: TRACE.runtime[job % 300]):
        if c.may_start(cluster, jobs, job):
            c.start(cluster, jobs, job)


def by_another_function(cluster, jobs):
    by_a_global(cluster, jobs)


@pytest.mark.parametrize("peeker", [by_a_global, by_another_function])
def test_global_trace(peeker):
    """A trace that a policy can reach through a global is named."""
    (fault,) = [fault for fault in report_on(peeker).faults if fault.kind == "peeking"]
    assert "'TRACE'" in fault.what


def test_closure_trace():
    """A trace in a closure is named, and only for functions that reach it."""
    trace = bfenv.load_workload("lublin:jobs=300")

    def closed(cluster, jobs):
        assert len(trace)
        by_queue(cluster, jobs)

    def by_queue(cluster, jobs):
        for job in c.waiting(cluster):
            if c.may_start(cluster, jobs, job):
                c.start(cluster, jobs, job)

    assert "'trace'" in str(report_on(closed))
    assert report_on(by_queue).faults == ()


def test_signals():
    """The process of a probe ends on a signal, whatever this process does on it."""

    def probe(*_):
        yield signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        trace = bfenv.make_trace([0], [1], [1], 1)
        assert list(run_isolated(probe, bfenv.find_policy("easy"), [trace], seconds=30)) == [True]
    finally:
        signal.signal(signal.SIGTERM, before)
