"""Kernels run uncompiled until another process has compiled them, with the same results."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.registry import ALL
from bfenv.core.cache_folder import cache_root
from bfenv.core.compile_process import LOCK
from bfenv.core.compiled_kernel import LOOK, CompiledKernel
from bfenv.core.kernel import MEANWHILE, NEVER, NOW, Kernel, compiling
from tests.conftest import small_traces
from tests.core.own_package import run_python

PATIENCE = 300  # seconds until a test gives up on a process of another priority
COUNTS = """
import time
from bfenv.core.kernel import kernel

@kernel
def count(values):
    for i in range(len(values)):
        values[i] += i
    return values[0]

@kernel
def impossible(values):
    return {values[0]}
"""
UNTIL_COMPILED = """
import sys, time
import numpy as np
from bfenv.core.kernel import Code
from own.counts import count

code, calls, values = Code(count), 0, np.zeros(3, dtype=np.int64)
while not code.is_compiled:
    code.call(values)
    calls += 1
    if calls == 1:
        print("first", flush=True)
    time.sleep(0.01)
code.call(values)
print(values.tolist() == [0, calls + 1, 2 * (calls + 1)], calls > 1, flush=True)
"""


@pytest.fixture
def counts(own):
    (own / "counts.py").write_text(COUNTS)
    return own


def start_program(program, folder, cache, mode=MEANWHILE, **options):
    """Start a program, which compiles in a mode, with the packages of a folder."""
    environment = os.environ | {
        "BFENV_CACHE": str(cache),
        "BFENV_COMPILE": mode,
        "PYTHONPATH": str(folder),
    }
    environment.pop("NUMBA_DISABLE_JIT", None)
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def compile_processes(cache) -> list[Path]:
    """The processes that compile into a cache, in /proc."""
    wanted, found = f"BFENV_CACHE={cache}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_compiling = b"compile_process" in (folder / "cmdline").read_bytes()
            if is_compiling and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(folder)
        except OSError:  # it has just ended
            pass
    return found


def wait_until(condition):
    """Wait until a condition holds; fail if it does not after PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


@needs_proc
def test_goes_on_compiled(counts, tmp_path):
    """A program begins uncompiled and goes on compiled; the next one finds the code at once.

    The other process has the lowest priority, and ends when it has no more work.
    """
    program = start_program(UNTIL_COMPILED, tmp_path, tmp_path / "cache")
    assert program.stdout.readline() == "first\n"
    wait_until(lambda: compile_processes(tmp_path / "cache"))
    helper = compile_processes(tmp_path / "cache")[0]
    number = int(helper.name)
    wait_until(lambda: not helper.exists() or os.getpriority(os.PRIO_PROCESS, number) == 19)
    assert program.communicate() == ("True True\n", "")
    wait_until(lambda: not compile_processes(tmp_path / "cache"))
    again = run_python(
        "import numpy as np\nfrom own.counts import count\ncount(np.zeros(3, dtype=np.int64))\n"
        "print(sum(count.compiled.stats.cache_hits.values()))",
        tmp_path,
        tmp_path / "cache",
        BFENV_COMPILE=MEANWHILE,
    )
    assert again.stdout == "1\n"


ONE_CALL = """
import time
import numpy as np
from own.counts import count
count(np.zeros(3, dtype=np.int64))
print("called", flush=True)
"""


@needs_proc
def test_short_program(counts, tmp_path):
    """What a program has asked for is compiled even if the program ends first."""
    program = start_program(ONE_CALL, tmp_path, tmp_path / "cache")
    assert program.communicate() == ("called\n", "")
    wait_until(lambda: list(tmp_path.glob("cache/kernels/own.counts-*/count-called-*.nbc")))
    wait_until(lambda: not compile_processes(tmp_path / "cache"))


@needs_proc
def test_removed_folder(counts, tmp_path):
    """What a program has asked for is compiled even if the folder that it ran in is removed."""
    folder = tmp_path / "run"
    folder.mkdir()
    program = start_program(ONE_CALL, tmp_path, tmp_path / "cache", cwd=folder)
    assert program.stdout.readline() == "called\n"
    folder.rmdir()
    program.communicate()
    wait_until(lambda: not compile_processes(tmp_path / "cache"))
    [kept] = tmp_path.glob("cache/kernels/own.counts-*/count-called-*")
    assert kept.suffix == ".nbc"


@needs_proc
def test_killed_program(counts, tmp_path):
    """The process ends with a program that is killed, and leaves no partial file and no lock."""
    program = start_program(ONE_CALL + "time.sleep(1000)", tmp_path, tmp_path / "cache")
    assert program.stdout.readline() == "called\n"
    wait_until(lambda: compile_processes(tmp_path / "cache"))
    program.send_signal(signal.SIGKILL)
    program.communicate()
    wait_until(lambda: not compile_processes(tmp_path / "cache"))
    assert list(tmp_path.glob("cache/**/*.tmp")) == []
    other = start_program(UNTIL_COMPILED, tmp_path, tmp_path / "cache")
    assert other.communicate() == ("first\nTrue True\n", "")


@needs_proc
def test_one_process(counts, tmp_path):
    """Programs that wait for the same code share one process, and all go on compiled."""
    cache = tmp_path / "cache"
    assert cache_root() == cache / "kernels"
    with FileLock(cache / "kernels" / LOCK):  # none compiles before all have begun
        programs = [start_program(UNTIL_COMPILED, tmp_path, cache) for _ in range(4)]
        for program in programs:
            assert program.stdout.readline() == "first\n"
        time.sleep(2 * LOOK)  # so each has called more than once
    working = 0

    def all_ended():
        nonlocal working
        niced = [
            process
            for process in compile_processes(cache)
            if process.exists() and "19" == (process / "stat").read_text().split()[18]
        ]  # only the one that has the lock has lowered its priority
        working = max(working, len(niced))
        return all(program.poll() is not None for program in programs)

    wait_until(all_ended)
    assert working == 1
    assert [program.communicate() for program in programs] == [("True True\n", "")] * 4


AT_ONCE = """
import sys
import numpy as np
from own.counts import count
print("ready", flush=True)
sys.stdin.readline()
count(np.zeros(3, dtype=np.int64))
stats = count.compiled.stats
print(sum(stats.cache_misses.values()), sum(stats.cache_hits.values()))
"""


def test_now(counts, tmp_path):
    """Of programs that compile before they run, one compiles, and the others load its code."""
    programs = [
        start_program(AT_ONCE, tmp_path, tmp_path / "cache", stdin=subprocess.PIPE, mode=NOW)
        for _ in range(3)
    ]
    for program in programs:
        assert program.stdout.readline() == "ready\n"
    for program in programs:
        program.stdin.write("go\n")
        program.stdin.flush()
    assert sorted(program.communicate()[0] for program in programs) == ["0 1\n"] * 2 + ["1 0\n"]


def test_impossible(counts, tmp_path):
    """A kernel that numba cannot compile runs as plain Python, and one line says why."""
    program = start_program(
        "import numpy as np, time\nfrom own.counts import impossible\n"
        "import bfenv.core.compiled_kernel as k\n"
        "while k._say_once.cache_info().currsize == 0:\n"
        "    assert impossible(np.ones(1)) == {1.0}\n    time.sleep(0.05)\n",
        tmp_path,
        tmp_path / "cache",
    )
    output, errors = program.communicate()
    assert (output, errors.count("\n")) == ("", 1)
    assert errors.startswith("bfenv: own.counts:impossible cannot be compiled, and runs as plain")


WITHOUT_NUMBA = """
import sys
import gymnasium
import bfenv

for policy in ("easy", "conservative", "los"):
    bfenv.simulate(bfenv.load_workload("lublin:jobs=20"), policy)
env = gymnasium.make("Backfill-v0", workload="lublin:jobs=100", episode_jobs=8, warmup_jobs=0)
_, info = env.reset(seed=0)
env.step(int(info["action_mask"].argmax()))
print("numba" in sys.modules)
"""


def test_without_numba(tmp_path):
    """Where nothing is compiled, policies and environments do without numba."""
    program = start_program(WITHOUT_NUMBA, tmp_path, tmp_path / "cache", mode=NEVER)
    assert program.communicate() == ("False\n", "")


def test_mode():
    """A value of BFENV_COMPILE that does not exist is one clear error."""
    result = subprocess.run(
        [sys.executable, "-c", "import bfenv.core.kernel"],
        env=os.environ | {"BFENV_COMPILE": "later"},
        capture_output=True,
        text=True,
    )
    assert "BFENV_COMPILE must be one of" in result.stderr.splitlines()[-1]


class SwitchAfter:
    """A context in which compiled code is "ready" after so many looks."""

    def __init__(self, looks, monkeypatch):
        self.looks = looks
        monkeypatch.setattr("bfenv.core.compiled_kernel.LOOK", -1.0)
        monkeypatch.setattr(CompiledKernel, "_is_ready", self.is_ready)

    def is_ready(self, signature):
        self.looks -= 1
        return self.looks < 0


USUAL = ("easy", "conservative", "easy-sjf")
OTHERS = sorted(
    name for name, policy in ALL.items() if isinstance(policy.run, Kernel) and name not in USUAL
)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "policy", [*USUAL, *(pytest.param(name, marks=pytest.mark.thorough) for name in OTHERS)]
)
@settings(max_examples=30)
@given(trace=small_traces(jobs=12), looks=st.integers(0, 20))
def test_schedules(policy, trace, looks):
    """A schedule is the same uncompiled, compiled, and with a switch in its middle."""
    with compiling(NEVER):
        expected = bfenv.simulate(trace, policy)
    assert bfenv.simulate(trace, policy).start.tobytes() == expected.start.tobytes()
    with pytest.MonkeyPatch.context() as patch, compiling(MEANWHILE):
        SwitchAfter(looks, patch)
        switched = bfenv.simulate(trace, policy)
    assert switched.start.tobytes() == expected.start.tobytes()
    assert switched.end.tobytes() == expected.end.tobytes()


def play(steps, actions):
    """Everything that an environment returns, as bytes."""
    env = gymnasium.make("Backfill-v0", window=16)
    observation, info = env.reset(seed=3)
    record = []
    for action in actions[:steps]:
        legal = np.flatnonzero(info["action_mask"])
        observation, reward, terminated, truncated, info = env.step(int(legal[action % len(legal)]))
        record += [observation[key].tobytes() for key in sorted(observation)]
        record += [np.float64(reward).tobytes(), info["action_mask"].tobytes()]
        record += [json.dumps(info.get("metrics"), default=float).encode()]
        if terminated or truncated:
            observation, info = env.reset()
    return record


@pytest.mark.compiled
@settings(max_examples=10)
@given(actions=st.lists(st.integers(0, 15), min_size=30, max_size=60), looks=st.integers(0, 40))
def test_environment(actions, looks):
    """Observations, rewards, masks and infos are the same bytes uncompiled, compiled, switched."""
    with compiling(NEVER):
        expected = play(60, actions)
    assert play(60, actions) == expected
    with pytest.MonkeyPatch.context() as patch, compiling(MEANWHILE):
        SwitchAfter(looks, patch)
        assert play(60, actions) == expected


@pytest.mark.compiled
def test_now_is_compiled():
    """What these tests call compiled is machine code, and uncompiled it is not."""
    trace = bfenv.make_trace([0], [1], [1], 1)
    run = bfenv.policies()["easy"].run
    with compiling(NOW):
        bfenv.simulate(trace, "easy")
    assert run.compiled.overloads
