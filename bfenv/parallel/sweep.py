"""Sweeps: many simulations at once, on the cores of this machine or a Dask cluster.

What is done, and in which order it is handed back, never depends on the number of workers. They
are given names and numbers and load the workloads themselves; a Trace that is handed over goes to
this machine's workers as files of its arrays, written once.
"""

import ctypes
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from typing import Any

from bfenv.baselines.registry import ALL, find_policy, simulate
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.jobs import Trace, make_trace
from bfenv.core.policy import Policy
from bfenv.core.schedule import Schedule
from bfenv.workloads.load import load_workload

BACKENDS = ("loky", "dask")
SHARED = "10K"  # bytes of an array above which a worker maps its file instead of a copy
DIE = 1  # PR_SET_PDEATHSIG of Linux's prctl


def simulate_many(
    traces: Trace | str | Iterable[Trace | str],
    policies: Policy | str | Iterable[Policy | str],
    seeds: int | Iterable[int] = 1,
    *,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: Any = None,
    event_order: str = "standard",
) -> Iterator[Schedule]:
    """The schedules of all policies on all traces: trace by trace, policy by policy, seed by seed.

    Each schedule knows its `trace`, `policy` and `seed`, and comes as soon as those before it have
    come. `traces` are Traces or names of workloads, `seeds` are numbers, or how many from 0 on; a
    policy that is not stochastic runs for the first of them only. Where and how: see `sweep`.

    Raises what `simulate`, `find_policy` and `load_workload` raise.
    """
    traces = [traces] if isinstance(traces, Trace | str) else list(traces)
    policies = [policies] if isinstance(policies, Policy | str) else list(policies)
    found = [find_policy(policy) for policy in policies]
    seeds = list(range(seeds) if isinstance(seeds, int) else seeds)
    whole = [load_workload(trace) if isinstance(trace, str) else trace for trace in traces]
    places, tasks = [], []
    for given, trace in zip(traces, whole, strict=True):
        for name, policy in zip(policies, found, strict=True):
            for seed in seeds if policy.stochastic else seeds[:1]:
                places.append(trace)
                tasks.append((given, portable(name), seed, event_order))
    results = sweep(
        _simulated, tasks, jobs=jobs, backend=backend, scheduler=scheduler, warm=found, ordered=True
    )
    return _attached(results, places)


def _attached(results: Iterator, traces: list[Trace]) -> Iterator[Schedule]:
    with closing(results):
        for place, schedule in results:
            yield replace(schedule, trace=traces[place])


def _simulated(trace: Trace | str, policy: Policy | str, seed: int, event_order: str) -> Schedule:
    """The schedule without its trace, which the asker has."""
    trace = load_workload(trace) if isinstance(trace, str) else trace
    return replace(simulate(trace, policy, seed, event_order=event_order), trace=None)


def sweep(
    function: Callable,
    tasks: Sequence[tuple],
    *,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: Any = None,
    warm: Iterable[Policy | str] = (),
    ordered: bool = False,
) -> Iterator[tuple[int, Any]]:
    """The place of each task and `function(*task)`, as they are done, or in order if `ordered`.

    `jobs` processes of this machine (-1: one per core; 1: this process alone), or with
    `backend="dask"` the cluster whose scheduler is at the address `scheduler`, or is that of the
    `distributed.Client` given for it. `warm` are policies to compile before the workers start,
    lest each of them do it. Close the iterator to end the workers early.

    Raises BfenvError where there is no such place to work, and at once what a task raises.
    """
    check_where(jobs, backend, scheduler)
    return _sweep(function, tasks, jobs, backend, scheduler, warm, ordered)


def _sweep(function, tasks, jobs, backend, scheduler, warm, ordered) -> Iterator[tuple[int, Any]]:
    from joblib import Parallel, cpu_count, delayed, parallel_config

    kind = {"batch_size": 1, "return_as": "generator" if ordered else "generator_unordered"}
    client = None
    if backend == "dask":
        client = connect(scheduler)
        with parallel_config(backend="dask", client=client):
            parallel = Parallel(n_jobs=-1, **kind)
    else:
        workers = min(cpu_count() if jobs == -1 else jobs, max(1, len(tasks)))
        if workers > 1:
            for policy in warm:
                warm_up(find_policy(policy))
        parallel = Parallel(n_jobs=workers, backend="loky", max_nbytes=SHARED, **kind)
    own = backend == "loky" and parallel.n_jobs > 1
    calls = (delayed(_task)(function, place, own, *task) for place, task in enumerate(tasks))
    results = parallel(calls)
    try:
        yield from results
    finally:
        results.close()
        if client is not None and client is not scheduler:
            client.close()


def _task(function: Callable, place: int, own: bool, *task) -> tuple[int, Any]:
    if own:
        die_with_parent()
    return place, function(*task)


def share(tasks: Sequence, shard: tuple[int, int]) -> list:
    """The part that is shard i of n, counted from 1: all shards together are the whole."""
    part, parts = shard
    return list(tasks[part - 1 :: parts])


def read_shard(text: str) -> tuple[int, int]:
    """(3, 20) of "3/20"; BfenvError for anything else, 0/20 and 21/20 included."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
    part, parts = map(int, match.groups()) if match else (0, 0)
    if not 1 <= part <= parts:
        raise BfenvError(f"a shard is like 3/20, the third share of twenty, not {text!r}")
    return part, parts


def check_where(jobs: int = 1, backend: str = "loky", scheduler: Any = None) -> None:
    """Raise BfenvError for a place to work that is none, before anything is done."""
    if backend not in BACKENDS:
        raise UnknownNameError("backend", backend, BACKENDS)
    if (backend == "dask") != (scheduler is not None):
        raise BfenvError("the backend dask, and no other, needs the address of a scheduler")
    if jobs != -1 and jobs < 1:
        raise BfenvError(
            f"jobs is a number of processes from 1 up, or -1 for all cores, not {jobs}"
        )


def connect(scheduler: Any) -> Any:
    """A Dask client of the scheduler at an address, or the client that is given.

    Raises BfenvError if there is none, or Dask is not installed.
    """
    try:
        from distributed import Client
    except ImportError:
        raise BfenvError(
            "the backend dask needs `pip install 'bfenv[cluster]'`, here and there"
        ) from None
    if isinstance(scheduler, Client):
        return scheduler
    try:
        return Client(scheduler, timeout=10, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise BfenvError(f"no Dask scheduler answers at {scheduler}: {error}") from error


def portable(policy: Policy | str) -> Policy | str:
    """The policy's name where that is enough to find it in another process, else the policy."""
    if isinstance(policy, str):
        return policy
    return policy.name if ALL.get(policy.name) is policy else policy


@cache
def warm_up(policy: Policy) -> None:
    """Compile a policy, or load what was compiled: once per process."""
    simulate(make_trace([0], [1], [1], 1), policy)


def die_with_parent() -> None:
    """End this process when its parent ends, however that ends; on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIE, signal.SIGKILL)
