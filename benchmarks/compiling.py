"""What the compiler costs: CPU seconds of first uses, and of the compilation of each kernel.

Also what each thing that bfenv asks of numba brings.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence

from benchmarks.measurements import Measurement, measurement
from bfenv.core.kernel import MEANWHILE, NEVER, NOW

DEMO = (
    "fcfs",
    "easy",
    "conservative",
    "los",
    "easy-sjf",
    "multiqueue",
)  # what `make demo` compares
COMPILED = ("environment", *DEMO, "agent:formula")
FIRST_STEPS = """
import time
import bfenv, gymnasium
env = gymnasium.make("Backfill-v0")
observation, info = env.reset(seed=0)
for _ in range(200):
    *_, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
    if terminated or truncated:
        observation, info = env.reset()
print(time.process_time())
"""
FIRST_POLICIES = f"""
import time
import bfenv
trace = bfenv.load_workload("lublin:jobs=3000")
for policy in {DEMO}:
    bfenv.metrics(bfenv.simulate(trace, policy))
print(time.process_time())
"""
EACH = f"""
import time
import bfenv, gymnasium
from bfenv.parallel.sweep import warm_up
for name in {COMPILED}:
    begin = time.process_time()
    if name == "environment":
        gymnasium.make("Backfill-v0").reset(seed=0)
    else:
        warm_up(bfenv.find_policy(name))
    print(time.process_time() - begin)
"""
FIRST_USES = {
    "import, make, reset, 200 steps": FIRST_STEPS,
    "3,000 jobs, six policies": FIRST_POLICIES,
}

# What takes one of them out. Nothing would compile without `_FieldsThatAreNone`.
WITHOUT = {
    "all of them": "",
    "separate code for kernels": """
compiled_kernel.CompiledKernel.get_call_template = compiled_kernel.CPUDispatcher.get_call_template
compiled_kernel.CompiledKernel.get_overload = compiled_kernel.CPUDispatcher.get_overload
""",
    "no optimization and no machine code of what is written out": """
numba_compiler.InlinedCompiler.library = numba_compiler.JITCodeLibrary
""",
    "NamedTuples passed as one value": """
numba_compiler.register_default(numba_compiler.types.NamedTuple)(numba_compiler.models.TupleModel)
""",
    "what is written out is optimized there only": """
numba_compiler._Inlined._optimize_final_module = (
    numba_compiler.JITCodeLibrary._optimize_final_module
)
""",
    "optimization in one go": """
numba_compiler._Called._optimize_final_module = numba_compiler.JITCodeLibrary._optimize_final_module
""",
    "no reference counts": 'del compiled_kernel.OPTIONS["_nrt"]',
    "kernels written out": 'compiled_kernel.OPTIONS["forceinline"] = False',
    "indices that are not negative": """
numba_compiler.arrayobj.fix_integer_index = numba_compiler._index_from_either_end
""",
}
PROGRAM = """
import time
import bfenv
from bfenv.core import compiled_kernel, numba_compiler
{without}
from bfenv.parallel.sweep import warm_up
trace = bfenv.load_workload("lublin:jobs=20000,load=0.9")
for name in {policies}:
    begin = time.process_time()
    warm_up(bfenv.find_policy(name))
    print(time.process_time() - begin)
    times = []
    for _ in range({repeat}):
        begin = time.process_time()
        bfenv.simulate(trace, name)
        times.append(time.process_time() - begin)
    print(min(times))
"""


def measure_compiling(repeat: int) -> Iterator[Measurement]:
    """Measure first uses in each mode, with nothing compiled, then what each compilation takes.

    A program that compiles meanwhile has a process beside it, whose time is not the program's.
    Compilations are in order: what a policy shares with those before it is compiled already.
    """
    for case, program in FIRST_USES.items():
        for mode in (NEVER, MEANWHILE, NOW):
            times = [sum(_run(program, mode)) for _ in range(1 if mode == NOW else repeat)]
            yield measurement("first use, CPU time", case, mode, 0, times)
    times = _run(EACH, NOW)
    for name, seconds in zip(COMPILED, times, strict=True):
        yield measurement("compiling, CPU time", "each after those before", name, 0, [seconds])
    yield measurement("compiling, CPU time", "all of them", "", 0, [sum(times)])


def measure_kernel_options(policies: Sequence[str], repeat: int) -> Iterator[Measurement]:
    """Measure policies with all changes to numba's compiler and without each, by CPU time."""
    for change, without in WITHOUT.items():
        program = PROGRAM.format(without=without, policies=tuple(policies), repeat=repeat)
        numbers = _run(program, NOW)
        subject = "with all of them" if not without else f"without: {change}"
        for policy, compiling, running in zip(policies, numbers[::2], numbers[1::2], strict=True):
            yield measurement("compiling", policy, subject, 0, [compiling])
            yield measurement("20,000 jobs", policy, subject, 20_000, [running])


def _run(program: str, mode: str) -> list[float]:
    """Return the numbers that a program prints in a new process with an empty cache."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        output = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"BFENV_CACHE": empty, "BFENV_COMPILE": mode},
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ).stdout
    return [float(line) for line in output.split()]
