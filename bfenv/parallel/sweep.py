"""Sweeps: many simulations in parallel, on the cores of this machine or on a Dask cluster.

Results and their order never depend on the number of workers. Workers of this machine receive names
and numbers, and load the workloads. A Trace that you pass is written once to files of its arrays,
which the workers read. `bfenv.parallel.cluster` describes the data for workers of a cluster.
"""

import os
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from typing import Any, TypeVar

from bfenv.baselines.registry import find_competitor, own_policies, simulate
from bfenv.core.arguments import check_integer
from bfenv.core.competitor import Competitor
from bfenv.core.errors import BfenvError, PolicyError, UnknownNameError
from bfenv.core.jobs import Trace, make_trace
from bfenv.core.policy import Policy, Watch
from bfenv.core.schedule import Schedule
from bfenv.core.simulator import ignore
from bfenv.parallel.failures import as_policy_error
from bfenv.parallel.worker_process import watch_parent
from bfenv.workloads.load import load_workload, log_behind

BACKENDS = ("loky", "dask")
SAFE_PATH = "PYTHONSAFEPATH"  # of Python's environment variables
_starting = threading.Lock()  # of workers
SHARED = "10K"  # bytes of an array above which a worker maps its file instead of a copy

T = TypeVar("T")
NamedWorkload = tuple[str, Mapping[str, Any]]  # name and options of `load_workload`


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
    """Simulate all policies on all traces: trace by trace, policy by policy, seed by seed.

    Args:
        traces: Traces, or names of workloads.
        policies: Policies, or their names.
        seeds: Seeds, or a number N for the seeds 0 to N - 1. A policy that is not stochastic runs
            only with the first seed.
        jobs, backend, scheduler: Where to run, see `run_tasks`.
        event_order: See `bfenv.simulate`.

    Returns:
        Yields schedules in order, each as soon as it is available. A schedule has its `trace`,
        `policy` and `seed`.

    Raises:
        BfenvError: If `seeds` is below 1, or if `simulate`, `find_policy`, `load_workload` or
            `run_tasks` raises it.

    Examples:
        >>> import bfenv
        >>> traces = ["lublin:jobs=200,load=0.7", "lublin:jobs=200,load=0.9"]
        >>> [schedule.policy for schedule in bfenv.simulate_many(traces, ["fcfs", "easy"])]
        ['fcfs', 'easy', 'fcfs', 'easy']
    """
    sources = [traces] if isinstance(traces, Trace | str) else list(traces)
    names = [policies] if isinstance(policies, Policy | str) else list(policies)
    resolved = [find_competitor(name) for name in names]
    if isinstance(seeds, Iterable):
        numbers = list(seeds)
    else:
        numbers = list(range(check_integer("seeds", seeds, 1)))
    loaded = [load_workload(source) if isinstance(source, str) else source for source in sources]
    trace_of_task, tasks = [], []
    for source, trace in zip(sources, loaded, strict=True):
        for name, policy in zip(names, resolved, strict=True):
            for seed in numbers if policy.stochastic else numbers[:1]:
                trace_of_task.append(trace)
                tasks.append((source, portable(name), seed, event_order))
    results = run_tasks(
        _simulate,
        tasks,
        jobs=jobs,
        backend=backend,
        scheduler=scheduler,
        competitors=resolved,
        workloads=[(source, {}) for source in sources if isinstance(source, str)],
        ordered=True,
    )
    return _attach_traces(results, trace_of_task)


def simulate_safely(
    trace: Trace, policy: str | Policy, seed: int, watch: Watch = ignore
) -> Schedule:
    """Simulate; any exception in the policy becomes a PolicyError of one line."""
    resolved = find_competitor(policy)
    with as_policy_error(resolved.name):
        return simulate(trace, resolved, seed, watch=watch)


def _simulate(
    source: Trace | str, policy: Policy | str, seed: int, event_order: str
) -> dict[str, Any]:
    """Return the fields of the schedule but its trace, which the caller has."""
    trace = load_workload(source) if isinstance(source, str) else source
    return simulate(trace, policy, seed, event_order=event_order).columns()


def _attach_traces(
    results: Generator[tuple[int, dict[str, Any]], None, None], traces: list[Trace]
) -> Iterator[Schedule]:
    with closing(results):
        for i, values in results:
            yield Schedule(trace=traces[i], **values)


def run_tasks(
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    *,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: Any = None,
    competitors: Iterable[Any] = (),
    warm: bool = True,
    workloads: Iterable[NamedWorkload] = (),
    ordered: bool = False,
) -> Generator[tuple[int, T], None, None]:
    """Call a function once per task, on several processes.

    Args:
        function: Called as `function(*task)`; must be picklable, and so must the tasks and results.
        tasks: The arguments of each call.
        jobs: Processes of this machine; 1 is this process alone, -1 is one per core.
        backend: "loky" for this machine, "dask" for a cluster.
        scheduler: Address of the Dask scheduler, or a `distributed.Client`; with "dask" only.
        competitors: The competitors of the tasks, as names or objects. A cluster gets the user's
            modules that define them.
        warm: Compile the competitors before several processes of this machine need their code. This
            imports them.
        workloads: The names and options of the workloads that the tasks load. A cluster gets the
            logs among them, so that it needs no files of this machine.
        ordered: Yield results in the order of tasks instead of as they are done.

    Returns:
        Yields (index of the task, result). Close it to stop the workers early. An exception raised
        by a task is raised here immediately.

    Raises:
        BfenvError: What `check_workers` raises, and if no Dask scheduler answers, or a worker has
            other versions than this machine.
    """
    check_workers(jobs, backend, scheduler)
    if backend == "dask":
        return _on_cluster(function, tasks, scheduler, competitors, workloads, ordered)
    return _on_this_machine(function, tasks, jobs, competitors if warm else (), ordered)


def _on_cluster(
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    scheduler: Any,
    competitors: Iterable[Any],
    workloads: Iterable[NamedWorkload],
    ordered: bool,
) -> Generator[tuple[int, T], None, None]:
    from bfenv.parallel.cluster import connect, run_on_cluster
    from bfenv.parallel.modules import archive_of

    with connect(scheduler) as client:
        logs: dict[Any, Trace] = {}
        for name, options in workloads:
            logs |= log_behind(name, **options)
        modules = archive_of(competitors)
        with closing(
            run_on_cluster(client, function, tasks, logs=logs, modules=modules, ordered=ordered)
        ) as results:
            yield from results


def _on_this_machine(
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    jobs: int,
    competitors: Iterable[Any],
    ordered: bool,
) -> Generator[tuple[int, T], None, None]:
    from joblib import Parallel, cpu_count, delayed

    yields = "generator" if ordered else "generator_unordered"
    options: dict[str, Any] = {"batch_size": 1, "return_as": yields}
    folder = None
    workers = min(cpu_count() if jobs == -1 else jobs, max(1, len(tasks)))
    if workers > 1:
        for named in competitors:
            competitor = find_competitor(named)
            if competitor.is_compiled:
                warm_up(competitor)
        own_path = os.environ.get(SAFE_PATH)
        options |= {"initializer": _begin_worker, "initargs": (os.getpid(), own_path)}
        folder = os.getcwd()
    parallel = Parallel(n_jobs=workers, backend="loky", max_nbytes=SHARED, **options)
    with _safe_path():
        results = parallel(
            delayed(_run_task)(folder, function, i, *task) for i, task in enumerate(tasks)
        )
    try:
        for result in results:  # noqa: UP028  # `yield from` would close the results itself
            yield result
    finally:
        with warnings.catch_warnings():
            # joblib advises those who stop early to hand it fewer tasks; to close it is our way.
            warnings.filterwarnings("ignore", ".* adjusting the input task iterator", UserWarning)
            results.close()


@contextmanager
def _safe_path() -> Iterator[None]:
    """Let processes that are started here find Python's own modules before the user's.

    joblib starts workers in a way that puts the current folder first on their path. A file
    `queue.py` there would take the place of Python's module.
    """
    with _starting:
        before = os.environ.get(SAFE_PATH)
        os.environ[SAFE_PATH] = "1"
        try:
            yield
        finally:
            _set_safe_path(before)


def _set_safe_path(value: str | None) -> None:
    if value is None:
        os.environ.pop(SAFE_PATH, None)
    else:
        os.environ[SAFE_PATH] = value


def _begin_worker(parent: int, safe_path: str | None) -> None:
    """Let a worker end with its parent, from its first moment on.

    Its tasks may start processes. These find modules as the processes of the parent do.
    """
    watch_parent(parent)
    _set_safe_path(safe_path)


def _run_task(folder: str | None, function: Callable[..., T], i: int, *task: Any) -> tuple[int, T]:
    if folder is not None:  # a worker may have been started elsewhere, and paths may be relative
        os.chdir(folder)
    return i, function(*task)


def check_workers(jobs: int = 1, backend: str = "loky", scheduler: Any = None) -> None:
    """Check where to run before anything is done; see `run_tasks`.

    Raises BfenvError if the backend is unknown, a scheduler is missing or not used, or `jobs` is
    out of range.
    """
    if backend not in BACKENDS:
        raise UnknownNameError("backend", backend, BACKENDS)
    if (backend == "dask") != (scheduler is not None):
        raise BfenvError(
            "the backend dask, and no other, needs the address of a scheduler; "
            f"got backend {backend} and scheduler {scheduler}"
        )
    if jobs != -1 and jobs < 1:
        raise BfenvError(
            f"jobs must be a number of processes >= 1, or -1 for all cores, got {jobs}"
        )


def portable(policy: str | Policy | Competitor) -> str | Policy | Competitor:
    """Return the policy's name if another process can find it by that, else the policy."""
    if not isinstance(policy, Policy):
        return policy
    return policy.name if own_policies().get(policy.name) is policy else policy


@cache
def warm_up(policy: Policy | Competitor) -> None:
    """Load the compiled code of a policy, once per process, or have it compiled.

    If the policy fails, nothing is raised: it fails again when it is run, with an error that names
    the jobs of that run.
    """
    with suppress(PolicyError), as_policy_error(policy.name):
        simulate(make_trace([0], [1], [1], 1), policy)
