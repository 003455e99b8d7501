"""Workers of a Dask cluster, which need nothing of this machine but bfenv in the same versions.

They are sent the tasks, each trace once, the logs that tasks load by name, and the user's modules.
"""

import hashlib
import pickle
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import cloudpickle

from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.core.versions import sources_hash, versions
from bfenv.parallel.modules import unpack
from bfenv.workloads.load import Logs, carrying

T = TypeVar("T")


@contextmanager
def connect(scheduler: Any) -> Iterator[Any]:
    """Open a Dask client of the scheduler at an address, and close it at the end.

    A client that you pass stays open.

    Raises BfenvError if no scheduler answers, or Dask is not installed.
    """
    try:
        from distributed import Client
    except ImportError:
        raise BfenvError(
            "the backend dask needs `pip install 'bfenv[cluster]'`, here and on the workers"
        ) from None
    if isinstance(scheduler, Client):
        yield scheduler
        return
    open_client: Any = Client  # it has no types
    try:
        client = open_client(scheduler, timeout=10, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise BfenvError(f"no Dask scheduler answers at {scheduler}: {error}") from error
    with client:
        yield client


def run_on_cluster(
    client: Any,
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    *,
    logs: Logs,
    modules: bytes,
    ordered: bool,
) -> Generator[tuple[int, T], None, None]:
    """Call a function once per task, on the workers of a Dask cluster.

    * `client`: a `distributed.Client`.
    * `function`, `tasks`, `ordered`: as of `bfenv.parallel.sweep.run_tasks`.
    * `logs`: what the tasks load by name.
    * `modules`: of the user, see `bfenv.parallel.modules.archive_of`.

    Yields (index of the task, result). Raises BfenvError if a worker has another version of what
    results depend on, or dies.
    """
    import distributed

    expected = _own_versions()
    _check_workers(client, expected)
    if modules:
        _send_modules(client, modules)
    futures = {}
    for i, task in enumerate(tasks):
        message = BytesIO()
        pickler = _Pickler(message)
        pickler.dump((function, task, dict(logs)))
        sent = [_send_trace(client, trace) for trace in pickler.traces.values()]
        futures[client.submit(_run, message.getvalue(), sent, expected, pure=False)] = i
    completed: Any = distributed.as_completed  # it has no types
    try:
        for future in futures if ordered else completed(futures, loop=client.loop):
            yield futures[future], future.result()
            future.release()
    except distributed.KilledWorker as error:
        raise BfenvError(f"a worker of the Dask cluster died: {error}") from error
    finally:
        client.cancel(list(futures))


def _run(message: bytes, traces: list[Trace], expected: dict[str, str]) -> Any:
    """Run a task on a worker."""
    check_versions("this worker", _own_versions(), expected)
    function, task, logs = _Unpickler(BytesIO(message), traces).load()
    with carrying(logs):
        return function(*task)


def _own_versions() -> dict[str, str]:
    return versions() | {"sources": sources_hash()}


def _check_workers(client: Any, expected: dict[str, str]) -> None:
    """Check the workers that are there; those that come later check themselves."""
    answers = client.run(_own_versions, on_error="return")
    if not answers:
        warnings.warn("the Dask cluster has no worker: the run waits for one", stacklevel=2)
    for worker, answer in answers.items():
        if isinstance(answer, BaseException):
            raise BfenvError(
                f"the worker {worker} cannot use bfenv: {type(answer).__name__}: {answer}"
            )
        check_versions(f"the worker {worker}", answer, expected)


def check_versions(worker: str, versions: dict[str, str], expected: dict[str, str]) -> None:
    """Check that a worker has the versions of this machine.

    Raises BfenvError if one differs; the message names the first.
    """
    for name, version in expected.items():
        if versions.get(name) != version:
            subject = "sources of bfenv" if name == "sources" else name
            raise BfenvError(
                f"{worker} has {subject} {versions.get(name)}, and this machine has {version}: "
                "results may differ, so install the same versions"
            )


class _Sent(NamedTuple):
    """What a client has sent to its cluster."""

    traces: dict[
        int, tuple[Trace, Any]
    ]  # by id, with the future; a trace that is kept keeps its id
    modules: set[str]  # names of plugins


_sent: WeakKeyDictionary[Any, _Sent] = WeakKeyDictionary()  # by client


def _sent_by(client: Any) -> _Sent:
    return _sent.setdefault(client, _Sent({}, set()))


def _send_trace(client: Any, trace: Trace) -> Any:
    """Send a trace to the cluster, once; return the future that is in its place in a task."""
    traces = _sent_by(client).traces
    if id(trace) not in traces:
        traces[id(trace)] = trace, client.scatter(trace, hash=False)
    return traces[id(trace)][1]


def _send_modules(client: Any, archive: bytes) -> None:
    """Let all workers import the modules of an archive, also those that come later."""
    from distributed import WorkerPlugin

    class Modules(WorkerPlugin):
        """Unpacks the modules where a worker keeps its files."""

        def setup(self, worker: Any) -> None:
            unpack(archive, Path(worker.local_directory, name))

    name = f"bfenv-{hashlib.sha256(archive).hexdigest()[:16]}"
    if name not in _sent_by(client).modules:
        client.register_plugin(Modules(), name=name)
        _sent_by(client).modules.add(name)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
    """Leaves out traces, which are sent by themselves."""

    def __init__(self, file: BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.traces: dict[int, Trace] = {}

    def persistent_id(self, value: Any) -> int | None:
        """Return the number of a trace in the list of traces; None for anything else."""
        if not isinstance(value, Trace):
            return None
        self.traces.setdefault(id(value), value)
        return list(self.traces).index(id(value))


class _Unpickler(pickle.Unpickler):
    """Puts the traces back in."""

    def __init__(self, file: BytesIO, traces: list[Trace]) -> None:
        super().__init__(file)
        self._traces = traces

    def persistent_load(self, number: int) -> Trace:
        """Return the trace of a number."""
        return self._traces[number]
