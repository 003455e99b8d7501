"""The examination of policies: every registered one passes, every broken one is seen through."""

import dataclasses
import gc
import os
import random
import re
import sys
import time

import numpy as np
import pytest

import bfenv
from bfenv.core.cluster import (
    FREE,
    advance,
    may_start,
    now,
    retract,
    start,
    started,
    try_start,
    waiting,
    wake_at,
)
from bfenv.core.kernel import kernel
from bfenv.testing.monitor import spied
from bfenv.testing.report import KINDS, check_policy, report_on

POLICIES = list(bfenv.policies().values())


@pytest.fixture(autouse=True, scope="module")
def engine():
    """Loaded here, once for all processes of the examinations."""
    trace = bfenv.make_trace([0, 0], [1, 1], [5, 5], 1)
    for name in ("sound", "try_all"):
        spied(bfenv.find_policy(f"{__name__}:{name}"), trace, lambda *_: None)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_no_registered_policy_has_a_fault(policy):
    one = bfenv.make_trace([0], [1], [1], 1)
    for warm in (policy, dataclasses.replace(policy, run=None)):
        bfenv.simulate(one, warm)  # compiled here, once for all processes of the examination
    report = check_policy(policy, seconds=300.0, slow=60.0)
    assert report.faults == () and report.passes >= report.jobs > 100
    assert str(report).startswith(f"{policy.name}: no fault found in {report.passes} decisions")


def fill(cluster, jobs, order=None):
    """Start, in this order, whatever fits."""
    for job in waiting(cluster) if order is None else order:
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


def kinds(function, seconds=20.0, **options):
    """The kinds of faults found in a policy, and the report."""
    flags = {"stochastic", "memory", "run", "trials", "records"} & options.keys()
    policy = dataclasses.replace(
        bfenv.core.policy.make_policy(function), **{flag: options[flag] for flag in flags}
    )
    report = report_on(policy, seconds=seconds, slow=options.get("slow", 1.0))
    assert "\n" not in "".join(fault.what for fault in report.faults)
    assert {fault.kind for fault in report.faults} <= set(KINDS)
    return [fault.kind for fault in report.faults], str(report)


def sound(cluster, jobs):
    fill(cluster, jobs)


def start_all(cluster, jobs):
    for job in waiting(cluster):
        start(cluster, jobs, job)


def start_twice(cluster, jobs):
    fill(cluster, jobs)
    if len(started(cluster)):
        start(cluster, jobs, started(cluster)[0])


def start_the_next(cluster, jobs):
    fill(cluster, jobs)
    if len(waiting(cluster)):
        start(cluster, jobs, waiting(cluster)[-1] + 1)


def start_nobody(cluster, jobs):
    start(cluster, jobs, 10**6)


def divide(cluster, jobs):
    fill(cluster, jobs)
    1 // (len(waiting(cluster)) - 2)


def name_wrongly(cluster, jobs):
    fill(cluster, jobs, sorted(waiting(cluster), key=lambda job: jobs.runtime[job]))


def leave(cluster, jobs):
    sys.exit("enough")


def die(cluster, jobs):
    os._exit(3)


def small_only(cluster, jobs):
    fill(cluster, jobs, [job for job in waiting(cluster) if jobs.size[job] < 5])


def loop(cluster, jobs):
    fill(cluster, jobs)
    while len(waiting(cluster)) > 3:
        pass


def insomnia(cluster, jobs):
    wake_at(cluster, now(cluster) + 1)


def sort_the_queue(cluster, jobs):
    waiting(cluster)[:] = sorted(waiting(cluster), key=lambda job: jobs.size[job])
    fill(cluster, jobs)


def buy_processors(cluster, jobs):
    cluster.state[FREE] += 1
    fill(cluster, jobs)


def start_by_hand(cluster, jobs):
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            cluster.start[job] = now(cluster)


def shorten_jobs(cluster, jobs):
    jobs.estimate[waiting(cluster)] = 1
    fill(cluster, jobs)


def by_runtime(cluster, jobs, runtime):
    fill(cluster, jobs, sorted(waiting(cluster), key=lambda job: runtime[job]))


def peek_by_frames(cluster, jobs):
    frame = sys._getframe()
    while "truth" not in frame.f_locals:
        frame = frame.f_back
    by_runtime(cluster, jobs, frame.f_locals["truth"].runtime)


def peek_at_the_caller(cluster, jobs, memory):
    by_runtime(cluster, jobs, sys._getframe(1).f_locals["truth"].runtime)


def runtime_of(jobs, processors, generator):
    """What holds these jobs is their trace, or its dictionary."""
    for holder in gc.get_referrers(jobs):
        fields = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
        if "runtime" in fields:
            return fields["runtime"]


def peek_by_garbage(cluster, jobs, runtime):
    by_runtime(cluster, jobs, runtime)


def look_ahead(cluster, jobs):
    """Keeps a processor free for the whole machine's job to come."""
    line = waiting(cluster).tolist()
    after = line[-1] + 1 if line else 0
    coming = jobs.size[after : after + 3].sum() % 2
    fill(cluster, jobs, line[::-1] if coming else line)


def throw_dice(cluster, jobs):
    fill(cluster, jobs, np.random.permutation(waiting(cluster)))


def throw_pythons_dice(cluster, jobs):
    fill(cluster, jobs, random.sample(waiting(cluster).tolist(), len(waiting(cluster))))


def unseeded(cluster, jobs):
    fill(cluster, jobs, np.random.default_rng().permutation(waiting(cluster)))


def by_the_clock(cluster, jobs):
    fill(cluster, jobs, waiting(cluster)[:: 1 if time.perf_counter_ns() // 1000 % 2 else -1])


def seeded(cluster, jobs, generator):
    fill(cluster, jobs, generator.permutation(waiting(cluster)))


def generator(jobs, processors, generator):
    return generator


CALLS = []


def count_calls(cluster, jobs):
    """Keeps counting over runs."""
    CALLS.append(0)
    fill(cluster, jobs, waiting(cluster)[:: 1 if len(CALLS) % 7 else -1])


TRACES = set()


def count_traces(cluster, jobs):
    """Alike in every run on one trace, but not after other traces."""
    TRACES.add(len(jobs.submit))
    fill(cluster, jobs, waiting(cluster)[:: 1 if len(TRACES) == 2 else -1])


def passes(jobs, processors, generator):
    return [0]


def count_passes(cluster, jobs, memory):
    """Every third pass in another order: whoever skips passes changes it."""
    memory[0] += 1
    fill(cluster, jobs, waiting(cluster)[:: -1 if memory[0] % 3 else 1])


def try_all(cluster, jobs):
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            if cluster.trial_start[job] < 0:
                try_start(cluster, jobs, job, 30)
            else:
                start(cluster, jobs, job)


def dawdle(cluster, jobs):
    fill(cluster, jobs)
    if len(waiting(cluster)) == 5:
        time.sleep(0.03)


@kernel
def one_way(cluster, jobs, memory):
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


@kernel
def other_way(cluster, jobs, truth, memory):
    while advance(cluster, jobs, truth):
        line = waiting(cluster)
        for place in range(len(line)):
            job = line[len(line) - 1 - place]
            if may_start(cluster, jobs, job):
                start(cluster, jobs, job)


ZOO = [
    (
        start_all,
        {},
        ["illegal start"],
        r"at \d+ s of 'crowd': job \d+ needs \d+ processors; free: \d+$",
    ),
    (start_twice, {}, ["illegal start"], r"job 0 has started already, at \d+ s"),
    (start_the_next, {}, ["illegal start"], r"job \d+ is only submitted at \d+ s"),
    (start_nobody, {}, ["illegal start"], r"job 1000000 does not exist"),
    (divide, {}, ["failure"], r"ZeroDivisionError: .* \(test_testing.py, line \d+\)"),
    (name_wrongly, {}, ["failure"], r"AttributeError: 'Jobs' object has no attribute 'runtime'"),
    (leave, {}, ["failure"], "SystemExit: enough"),
    (die, {}, ["failure"], "it ends the process, exit status 3"),
    (small_only, {}, ["starvation"], r"it leaves \d+ jobs waiting for ever, the first is job"),
    (loop, {"seconds": 1.0}, ["endless"], r"at \d+ s of 'crowd': no decision within 1 s"),
    (insomnia, {}, ["endless"], "it has asked for 10,001 passes in a row"),
    (sort_the_queue, {}, ["tampering"], "it changes cluster.queue itself"),
    (buy_processors, {}, ["tampering"], "it changes cluster.state itself"),
    (start_by_hand, {}, ["tampering"], "it changes cluster.start itself"),
    (shorten_jobs, {}, ["tampering"], "it writes to the jobs, ValueError"),
    (peek_by_frames, {}, ["peeking"], r"up to \d+ s of 'crowd' it depends on how long unfinished"),
    (peek_at_the_caller, {}, ["failure", "peeking"], "KeyError: 'truth'"),
    (
        peek_by_garbage,
        {"memory": runtime_of},
        ["peeking"],
        "it depends on how long unfinished jobs will run: job",
    ),
    (look_ahead, {}, ["look-ahead"], "it depends on jobs not yet submitted: job"),
    (throw_dice, {}, ["global randomness"], "it draws from the global generator"),
    (throw_pythons_dice, {}, ["global randomness"], "it draws from the global generator"),
    (unseeded, {}, ["unrepeatable"], r"'crowd', seed 0 twice: job \d+ starts at \d+ s and at"),
    (by_the_clock, {}, ["unrepeatable"], "seed 0 twice"),
    (seeded, {"memory": generator}, ["undeclared seed"], "it does not say stochastic=True"),
    (seeded, {"memory": generator, "stochastic": True}, [], "no fault found"),
    (count_calls, {}, ["leak"], "'crowd', seed 0 twice"),
    (count_traces, {}, ["leak"], "'ties', after other traces or in another process: job"),
    (count_passes, {"memory": passes}, ["undeclared state"], "it does not say stateful=True"),
    (try_all, {}, ["undeclared trials"], "for a trial and does not say trials=True"),
    (try_all, {"trials": True}, [], "no fault found"),
    (dawdle, {"slow": 0.02}, ["slow"], "5 jobs waiting: it thinks for 0.03"),
    (one_way, {"run": other_way}, ["two minds"], "'crowd', `decide` and `run`: job"),
    (one_way, {}, [], "no fault found"),
    (sound, {}, [], "no fault found"),
    (sound, {"records": lambda memory: {"x": [1]}}, ["failure"], "1 records 'x' of 80 jobs"),
    (sound, {"memory": lambda *_: 1 // 0}, ["failure"], "ZeroDivisionError"),
]


@pytest.mark.parametrize(
    ("function", "options", "expected", "message"),
    ZOO,
    ids=[f"{function.__name__}-{'-'.join(expected)}" for function, _, expected, _ in ZOO],
)
def test_the_faults_of_a_broken_policy_are_found_and_no_others(
    function, options, expected, message
):
    found, text = kinds(function, **options)
    assert found == expected, text
    assert re.search(message, text), text


def test_every_kind_of_fault_lives_in_the_zoo():
    assert {kind for _, _, expected, _ in ZOO for kind in expected} == set(KINDS)


def test_starts_that_are_taken_back_are_no_tampering():
    def hesitant(cluster, jobs):
        fill(cluster, jobs)
        retract(cluster, jobs)
        fill(cluster, jobs)

    assert kinds(hesitant)[0] == []


def test_an_illegal_start_that_the_policy_catches_does_no_harm():
    def bold(cluster, jobs):
        for job in waiting(cluster):
            try:
                start(cluster, jobs, job)
            except ValueError:
                continue

    assert kinds(bold)[0] == []


def test_check_policy_raises_one_error_with_all_faults_a_line_each():
    with pytest.raises(bfenv.PolicyError) as caught:
        check_policy(f"{__name__}:throw_dice")
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{__name__}:throw_dice: global randomness: 'crowd': it draws")
    with pytest.raises(bfenv.PolicyError) as caught:
        check_policy(peek_at_the_caller)
    assert [line.split(": ")[1] for line in str(caught.value).splitlines()] == [
        "failure", "peeking",
    ]  # fmt: skip


def test_a_trace_of_ones_own_is_looked_at_too():
    big = bfenv.make_trace([0] * 9, [100] * 9, [10] * 9, 150, name="own")

    def afraid_of_large(cluster, jobs):
        fill(cluster, jobs, [job for job in waiting(cluster) if jobs.size[job] < 50])

    assert report_on(afraid_of_large).faults == ()
    (fault,) = report_on(afraid_of_large, big).faults
    assert (fault.kind, fault.what[:6]) == ("starvation", "'own':")


def test_what_a_policy_does_while_it_is_examined_stays_there():
    before = len(CALLS)
    report_on(count_calls)
    assert len(CALLS) == before


def test_the_command_prints_the_faults_and_says_so_by_its_status(monkeypatch, capsys):
    from bfenv import cli

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["bfenv", "check", *arguments])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        return exit_.value.code or 0, *capsys.readouterr()

    status, out, err = command("easy", "--workload", "lublin:jobs=50,procs=8")
    assert (status, err) == (0, "") and out.startswith("easy: no fault found")
    status, out, err = command(f"{__name__}:sort_the_queue")
    assert (status, err) == (1, "")
    assert out.startswith(f"{__name__}:sort_the_queue: tampering: at 992 s of 'crowd': it changes")
    status, out, err = command("eazy")
    assert (status, out) == (2, "") and err.startswith("bfenv: unknown policy 'eazy'")
    assert command("easy", "--seconds", "inf")[0] == 2


TRACE = bfenv.load_workload("lublin:jobs=300")


def by_a_global(cluster, jobs):
    for job in sorted(waiting(cluster), key=lambda job: TRACE.runtime[job % 300]):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


def by_another_function(cluster, jobs):
    by_a_global(cluster, jobs)


@pytest.mark.parametrize("peeker", [by_a_global, by_another_function])
def test_a_trace_within_reach_is_named(peeker):
    (line,) = [fault for fault in report_on(peeker).faults if fault.kind == "peeking"]
    assert "it can reach 'TRACE', a trace" in str(line)


def test_a_trace_in_a_closure_is_named():
    trace = bfenv.load_workload("lublin:jobs=300")

    def closed(cluster, jobs):
        assert len(trace)
        by_nobody(cluster, jobs)

    def by_nobody(cluster, jobs):
        for job in waiting(cluster):
            if may_start(cluster, jobs, job):
                start(cluster, jobs, job)

    assert "it can reach 'trace'" in str(report_on(closed))
    assert report_on(by_nobody).faults == ()
