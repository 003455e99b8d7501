"""The event loop: equal to the naive one, the same for kernels and for plain Python."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import bfenv
import bfenv.core
from bfenv import baselines
from bfenv.core.cluster import free, start, waiting, wake_at
from bfenv.core.errors import IllegalStartError, StarvationError
from bfenv.core.events import advance
from bfenv.core.jobs import make_trace
from bfenv.core.kernel import kernel
from tests.conftest import small_traces


def greedy(cluster, jobs, memory):
    """Plain Python: start whatever fits."""
    for job in waiting(cluster):
        if jobs.size[job] <= free(cluster) and jobs.requested_start[job] <= cluster.state[0]:
            start(cluster, jobs, job)


@given(small_traces())
def test_loop_in_python(trace):
    """A kernel called from Python makes the schedule of its compiled loop."""
    for policy in (baselines.ALL["fcfs"], baselines.ALL["easy"]):
        slow = bfenv.Policy(name="slow", decide=policy.decide)
        for order in ("standard", "pyss"):
            one = bfenv.simulate(trace, policy, event_order=order)
            other = bfenv.simulate(trace, slow, event_order=order)
            assert one.start.tolist() == other.start.tolist()
            assert one.end.tolist() == other.end.tolist()


@pytest.mark.parametrize("column", ["start", "end"])
def test_rewritten_history(column):
    """A policy that changes when a job ran, after it has ended, is found out."""

    def rewrite(cluster, jobs, memory):
        greedy(cluster, jobs, memory)
        if cluster.end[0] >= 0:
            getattr(cluster, column)[0] = 1

    trace = bfenv.make_trace([0, 0, 9], [1, 1, 1], [5, 20, 5], 2)
    with pytest.raises(bfenv.PolicyError, match="rewrite changed the start or the end of job 0"):
        bfenv.simulate(trace, bfenv.Policy(name="rewrite", decide=rewrite))


@given(small_traces(requested_starts=True))
def test_requested_starts(trace):
    """A policy in plain Python can honour requested starts."""
    policy = bfenv.Policy(name="greedy", decide=greedy, requested_starts=True)
    bfenv.simulate(trace, policy).check()


@pytest.mark.parametrize(
    ("trace", "shown"),
    [("lublin", r"'lublin'; use load_workload\('lublin'\)"), (None, "NoneType"), ([1], "list")],
)
def test_not_a_trace(trace, shown):
    """What is not a Trace is named; a name is answered with how to load it."""
    with pytest.raises(bfenv.WorkloadError, match=f"got {shown}$"):
        bfenv.simulate(trace, "easy")


def test_unknown_event_order():
    """An unknown event order is an error that names it."""
    with pytest.raises(bfenv.BfenvError, match="event_order .* got 'random'"):
        bfenv.simulate(bfenv.make_trace([0], [1], [1], 1), "easy", event_order="random")


def test_no_requested_starts():
    """A policy that does not plan for requested starts is not given any: they are an error."""
    trace = bfenv.make_trace([0, 0], [1, 1], [1, 1], 1, requested_start=[0, 5])
    with pytest.raises(bfenv.PolicyError, match="easy .* job 1 of unnamed"):
        bfenv.simulate(trace, "easy")


def start_first(cluster, jobs, memory):
    if cluster.start[0] < 0:
        start(cluster, jobs, 0)


def test_starvation():
    """A policy that leaves jobs waiting is named, with the jobs."""
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 1], [1, 1, 1], 1)
    with pytest.raises(StarvationError, match="lazy .* 2 jobs .* job 1") as caught:
        bfenv.simulate(trace, bfenv.Policy("lazy", start_first))
    assert caught.value.jobs == [1, 2]


@kernel
def start_both(cluster, jobs, memory):
    for job in (0, 1):
        start(cluster, jobs, job)


@kernel
def run_both(cluster, jobs, truth, memory):
    while advance(cluster, jobs, truth):
        start_both(cluster, jobs, memory)


ILLEGAL = {
    "needs 1 processors; free: 0": ([0, 0], {}),
    "has not been submitted": ([0, 9], {}),
    "asks to start at 7 s": ([0, 0], {"processors": 2, "requested_start": [0, 7]}),
}


@pytest.mark.parametrize("run", [None, run_both])
@pytest.mark.parametrize("reason", ILLEGAL)
def test_illegal_start(reason, run):
    """An illegal start is an error with policy, job, time and cause, compiled or not."""
    submit, options = ILLEGAL[reason]
    trace = bfenv.make_trace(submit, [1, 1], [4, 4], **{"processors": 1} | options)
    policy = bfenv.Policy("both", start_both, run, requested_starts=True)
    with pytest.raises(IllegalStartError, match="both: .* job 1 at 0 s") as caught:
        bfenv.simulate(trace, policy)
    error = caught.value
    assert (error.policy, error.job, error.time, error.reason) == ("both", 1, 0, reason)


def test_caught_illegal_start():
    """An illegal start that the policy catches is no fault; a later error is its own."""

    def bold(cluster, jobs, memory):
        if cluster.state[0] > 0:
            raise ValueError("mine")
        with pytest.raises(ValueError):
            start(cluster, jobs, 1)
        start(cluster, jobs, 0)

    trace = bfenv.make_trace([0, 9], [1, 1], [1, 1], 1)
    with pytest.raises(ValueError) as caught:
        bfenv.simulate(trace, bfenv.Policy("bold", bold))
    assert not isinstance(caught.value, bfenv.PolicyError)


def test_wake_ups():
    """A policy makes a pass at each time that it asked for."""
    times = []

    def late(cluster, jobs, memory):
        times.append(int(cluster.state[0]))
        if cluster.state[0] < 5:
            wake_at(cluster, cluster.state[0] + 2)
        elif cluster.start[0] < 0:
            start(cluster, jobs, 0)

    trace = bfenv.make_trace([0], [1], [1], 1)
    schedule = bfenv.simulate(trace, bfenv.Policy(name="late", decide=late))
    assert times == [0, 2, 4, 6, 7]
    assert schedule.start.tolist() == [6]


def test_seed():
    """The seed of a run is the seed of the policy's memory."""

    def memory(jobs, processors, generator):
        return generator.random(3)

    seen = []

    def decide(cluster, jobs, memory):
        seen.append(memory.tolist())
        greedy(cluster, jobs, memory)

    policy = bfenv.Policy(name="p", decide=decide, memory=memory, stochastic=True)
    trace = bfenv.make_trace([0], [1], [1], 1)
    for seed in (3, 3, 4):
        bfenv.simulate(trace, policy, seed)
    first, _, again, _, other, _ = seen
    assert first == again == np.random.default_rng(3).random(3).tolist() != other


def test_watch():
    """Whoever watches a run can ask at each pass which share of the jobs has started."""
    asked, shares = [], []

    def one_by_one(cluster, jobs, memory):
        shares.append(asked[0]())
        start(cluster, jobs, waiting(cluster)[0])
        shares.append(asked[0]())

    trace = make_trace([0, 0, 5, 5], [1, 1, 1, 1], [3, 3, 3, 3], 4)
    policy = bfenv.Policy(name="one by one", decide=one_by_one)
    with pytest.raises(IndexError):  # the queue is empty when all have started
        bfenv.simulate(trace, policy, watch=asked.append)
    assert shares == [0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1, 1]


TRACE = bfenv.make_trace([0, 1, 1], [2, 2, 1], [4, 3, 2], 4, requested_start=[0, 0, 3])


#  P
#  4 | 111      starts 0, 1, 4
#  3 | 111
#  2 |000022
#  1 |0000
#    +-------> t
GOOD = bfenv.Schedule(
    TRACE,
    "by hand",
    0,
    np.array([0, 1, 4]),
    np.array([4, 4, 6]),
    np.array([-1, -1, -1]),
    np.array([-1, -1, -1]),
)


def test_possible_schedule():
    """A possible schedule passes its check and is returned, and its usage is as drawn."""
    assert GOOD.check() is GOOD
    times, used = GOOD.usage()
    assert times.tolist() == [0, 1, 4, 6]
    assert used.tolist() == [2, 4, 1, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": [-1, 1, 4], "end": [3, 4, 6]}, "job 0 never starts"),
        ({"start": [0, 0, 4], "end": [4, 3, 6]}, "job 1 starts before it is submitted"),
        ({"start": [0, 1, 2], "end": [4, 4, 4]}, "job 2 starts before its requested start time"),
        ({"end": [4, 5, 6]}, "job 1 does not run for its runtime"),
        ({"start": [0, 1, 3], "end": [4, 4, 5]}, "5 of 4 processors in use at 3 s"),
        ({"trial_start": [-1, 0, -1], "trial_end": [-1, 1, -1]}, "job 1 is tried before"),
        ({"trial_start": [-1, -1, 3], "trial_end": [-1, -1, 5]}, "job 2 starts before its trial"),
        ({"trial_start": [-1, -1, 2], "trial_end": [-1, -1, 4]}, "5 of 4 processors .* at 2 s"),
    ],
)
def test_impossible_schedule(change, message):
    """An impossible schedule is refused by what is wrong in it."""
    with pytest.raises(bfenv.PolicyError, match=message):
        replace(GOOD, **{name: np.array(values) for name, values in change.items()}).check()


@pytest.mark.parametrize(
    "change", [{"start": np.array([0, 1])}, {"end": np.array([4.0, 4, 6])}, {"trial_start": None}]
)
def test_wrong_array(change):
    """A schedule with an array that is not one integer per job is refused when it is made."""
    with pytest.raises(bfenv.PolicyError, match=f"{next(iter(change))} must be 3 integers"):
        replace(GOOD, **change)


def test_repr():
    """A schedule shows its trace, policy, mean wait and mean bounded slowdown in one line."""
    shown = "<Schedule of 'unnamed' by by hand: mean wait 1 s, mean bounded slowdown 1.00>"
    assert repr(GOOD) == str(GOOD) == shown
    late = replace(GOOD, policy="late", start=GOOD.start + 3600, end=GOOD.end + 3600)
    slowdown = sum((wait + runtime) / 10 for wait, runtime in [(3600, 4), (3600, 3), (3603, 2)]) / 3
    assert repr(late).endswith(
        f"by late: mean wait 60.0 min, mean bounded slowdown {slowdown:.2f}>"
    )


def test_identity():
    """Schedules are compared by identity."""
    twin = replace(GOOD)
    assert GOOD != twin and len({GOOD, twin}) == 2


PROGRAM = """
import sys, gymnasium
before = set(sys.modules)
import bfenv
bare = set(sys.modules) - before
import bfenv.core.errors
print("numba" in sys.modules)
assert bfenv.core.BfenvError is bfenv.BfenvError
from bfenv.core import start
after = set(sys.modules) - before
foreign = {name.partition(".")[0] for name in bare} - sys.stdlib_module_names
rooms = {".".join(name.split(".")[:2]) for name in after if name.startswith("bfenv")}
print("numba" in sys.modules, *sorted(foreign), "|", *sorted(rooms))
import bfenv.parallel
print(*dir(bfenv.parallel))
import bfenv.envs
assert "stable_baselines3" not in sys.modules
"""


def test_imports():
    """What is imported is what is needed.

    `import bfenv` loads gymnasium and no room, and reaches the rooms by their names; `bfenv.core`
    loads no other room, and no numba; a module imports only what it needs, and a public name is
    imported when it is used. The environments do not need stable-baselines3. Completion offers the
    public names of a room before they are imported.
    """
    run = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(run, capture_output=True, text=True, check=True)
    *lines, names = result.stdout.splitlines()
    assert lines == ["False", "False bfenv | bfenv bfenv.core"]
    assert {"simulate_many", "call_in_worker"} <= set(names.split())


def test_exports():
    """Every exported name is there, once, and is defined in this room."""
    names = bfenv.core.__all__
    assert len(set(names)) == len(names)
    for name in names:
        value = getattr(bfenv.core, name)
        assert getattr(value, "__module__", "bfenv.core.jobs").startswith("bfenv.core.")


def test_unknown_name():
    """A name that a room does not have is answered with the room's name."""
    with pytest.raises(AttributeError, match="module 'bfenv.core' has no attribute 'nothing'"):
        bfenv.core.nothing  # noqa: B018
