"""Traces: what they accept, what they refuse, and what never changes."""

import copy
import math
import pickle

import numpy as np
import pytest

import bfenv
import bfenv.envs.backfill


def trace(**columns):
    columns = {"submit": [0, 5], "size": [1, 2], "runtime": [3, 4], "processors": 2} | columns
    return bfenv.make_trace(**columns)


@pytest.mark.parametrize(
    ("columns", "wrong"),
    [
        ({"submit": [0, -5]}, "job 1: submit -5"),
        ({"submit": [5, 0]}, "job 1: submit 0"),
        ({"size": [1, 0]}, "job 1: size 0"),
        ({"size": [3, 1]}, "job 0: size 3 exceeds 2"),
        ({"runtime": [3, 0]}, "job 1: runtime 0"),
        ({"runtime": [3, math.nan]}, "job 1: runtime .* got nan"),
        ({"submit": [0, math.inf]}, "job 1: submit .* got inf"),
        ({"size": [1, 1.5]}, "job 1: size .* got 1.5"),
        ({"size": [1, 2.0**62]}, r"job 1: size .* got 4.6\d*e\+18"),
        ({"estimate": [3, 3]}, "job 1: estimate 3 is below the runtime"),
        ({"estimate": [3, 2**62]}, "job 1: estimate 4611686018427387904"),
        ({"requested_start": [0, -1]}, "job 1: requested_start -1"),
        ({"user": [0, -2]}, "job 1: user -2"),
        ({"submit": [0]}, "different lengths: 1 of submit, 2 of size, .*, 2 of runtime"),
        ({"runtime": [1]}, "different lengths: 2 of submit, 2 of size, .*, 1 of runtime"),
        ({"processors": 0}, "processors .* got 0"),
        ({"processors": 2**62}, "processors .* got 4611686018427387904"),
        ({"processors": 1.5}, "processors .* got 1.5"),
        ({"processors": True}, "processors .* got True"),
        ({"processors": "x"}, "processors .* got 'x'"),
        ({"runtime": ["a", "b"]}, r"runtime .* got \['a', 'b'\]"),
        ({"submit": ["0", "5"]}, r"submit .* got \['0', '5'\]"),
        ({"size": [[1], [1, 2]]}, r"size .* got \[\[1\], \[1, 2\]\]"),
        ({"size": [[1, 2]]}, r"size .* got \[\[1, 2\]\]"),
        ({"size": np.ones((20, 20))}, r"size .* got array\("),
        ({"size": None}, "size .* got None"),
        ({"runtime": 3}, "runtime .* got 3"),
        ({"user": [None, None]}, "job 0: user .* got nan"),
        ({"user": [1j, 2]}, r"user .* got \[1j, 2\]"),
        ({"estimate": [2**61 - 1] * 2}, "run one by one"),
        ({"requested_start": [0, 2**61 - 2]}, "run one by one"),
        ({"submit": [], "size": [], "runtime": []}, "the trace is empty"),
    ],
)
def test_bad_input(columns, wrong):
    """An error names the trace, the column, the first wrong job and its value, in one line."""
    with pytest.raises(bfenv.WorkloadError, match=f"^mine: .*{wrong}") as caught:
        trace(**columns, name="mine")
    assert "\n" not in str(caught.value)


def test_huge_times():
    """Times up to the limit are planned without overflow."""
    huge = 2**57
    jobs = {"submit": [0, 0, 1], "size": [2, 2, 1], "runtime": [huge, huge, huge], "processors": 2}
    for policy in ("fcfs", "easy", "conservative"):
        assert bfenv.simulate(trace(**jobs), policy).check().start.tolist() == [0, huge, 2 * huge]


def test_user_numbers():
    """Users are numbered from 0 in the order of their ids."""
    assert trace(user=[10**13, 7]).jobs.user.tolist() == [1, 0]
    assert trace(user=[-1, 10**13]).jobs.user.tolist() == [-1, 0]
    assert trace(user=[1, 0]).jobs.user.tolist() == [1, 0]
    env = bfenv.envs.backfill.BackfillEnv(
        trace(user=[10**13, 7]), split="all", warmup_jobs=0, episode_jobs=1
    )
    env.reset(seed=0)
    one = trace()
    with pytest.raises(bfenv.WorkloadError, match="job 1: user 10000000 is too large"):
        bfenv.Trace(one.jobs._replace(user=np.array([0, 10**7])), one.runtime, 2)


def test_no_estimates():
    """Without estimates, the estimate of a job is its runtime."""
    assert trace().jobs.estimate.tolist() == [3, 4]


def test_read_only():
    """The arrays of a trace cannot be written, nor those of a pickled or copied one."""
    for one in (trace(), pickle.loads(pickle.dumps(trace())), copy.deepcopy(trace())):
        for values in (*one.jobs, one.runtime):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1


def test_callers_arrays():
    """Making a trace leaves the caller's arrays writable."""
    runtime = np.array([3, 4])
    trace(runtime=runtime)
    runtime[0] = 1


def test_slice():
    """A slice of a trace is a trace that begins at 0."""
    whole = trace(submit=[10, 100_000], requested_start=[0, 100_020], time_of_day=3600)
    part = whole[1:]
    assert part.jobs.submit.tolist() == [0]
    assert part.jobs.requested_start.tolist() == [20]
    assert part.time_of_day == (3600 + 100_000) % 86400
    assert part.name == "unnamed[1:2]"
    for window in (slice(2, None), slice(0, 2, 2)):
        with pytest.raises(bfenv.WorkloadError, match="no jobs"):
            whole[window]


def test_select():
    """Some of the jobs, in any order, with their runtimes; other fields may change."""
    whole = trace(submit=[0, 5, 5], size=[1, 2, 1], runtime=[3, 4, 5])
    part = whole.select(np.array([2, 1]), processors=4, name="part")
    assert (part.jobs.size.tolist(), part.runtime.tolist()) == ([1, 2], [5, 4])
    assert (part.processors, part.name, part.jobs.submit.tolist()) == (4, "part", [5, 5])
    later = whole.select(whole.jobs.size == 1, whole.jobs._replace(submit=whole.jobs.submit + 7))
    assert (later.jobs.submit.tolist(), later.runtime.tolist()) == ([7, 12], [3, 5])


def test_hash():
    """Traces of equal content have equal hashes, and any change of it gives another."""
    one = trace(estimate=[9, 9])
    assert one.hash == trace(estimate=[9, 9], name="other").hash
    changes = [
        {"estimate": [9, 8]},
        {"runtime": [3, 3]},
        {"processors": 3},
        {"user": [0, 1]},
        {"restartable": [1, 0]},
    ]
    assert (
        len({trace(**{"estimate": [9, 9]} | change).hash for change in changes} | {one.hash}) == 6
    )


def test_offered_load():
    """The offered load is work over capacity until the last submit time."""
    assert trace().offered_load == (3 * 1 + 4 * 2) / (2 * 5)
    assert trace(submit=[0, 0]).offered_load == math.inf


def test_repr():
    """A trace shows its name, jobs, processors and offered load in one line."""
    shown = "<Trace 'mine': 2 jobs, 2 processors, offered load 1.10>"
    assert repr(trace(name="mine")) == str(trace(name="mine")) == shown
    many = trace(submit=[7] * 1200, size=[1] * 1200, runtime=[1] * 1200, processors=5000)
    assert repr(many) == "<Trace 'unnamed': 1,200 jobs, 5,000 processors, offered load inf>"


def test_identity():
    """Traces are compared and hashed by identity, whatever they hold."""
    one, other = trace(), trace()
    assert one != other and len({one, other, one}) == 2
