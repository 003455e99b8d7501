"""EpisodeSource: the traces that episodes are taken from, and the sampling of their jobs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bfenv.core.arguments import check_integer, check_number
from bfenv.core.dependencies import dependencies_of
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.jobs import Trace, check_no_outages
from bfenv.core.partitions import check_apart, is_partitioned, traces_of_machines
from bfenv.envs.settings import LOADS, MODEL, SEEDS, Workloads
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import split_range, with_load

OPTIONS = ("first_job", "trace")


class EpisodeWindow(NamedTuple):
    """The jobs of an episode, by their indices in the trace."""

    k: int  # index of the trace in EpisodeSource.traces
    opening: int  # the first job of the warm-up
    first: int  # the first job of the episode
    last: int  # one past the last job of the episode
    end: int  # one past the last job that arrives: the end of the split


class EpisodeSource:
    """Every workload at every load, and the part of each that episodes come from."""

    def __init__(
        self,
        workload: Workloads | None,
        load: float | Sequence[float] | None,
        split: str,
        warmup_jobs: int,
        episode_jobs: int | None,
    ) -> None:
        part = split
        if workload is None:
            workload, part = default_workload(split), "all"
            load = LOADS if load is None else load
        self.traces = _load_traces(workload, load)
        self.split = split
        self.warmup_jobs = warmup_jobs
        self.episode_jobs = episode_jobs
        self.narrow([split_range(trace, part) for trace in self.traces])

    def narrow(self, splits: Sequence[tuple[int, int]]) -> None:
        """Take episodes only from these jobs of each trace: the first, and one past the last.

        Raises BfenvError if they are too few for the warm-up and an episode.
        """
        self.splits = list(splits)
        self._lengths = [
            _episode_length(trace, bounds, self.split, self.warmup_jobs, self.episode_jobs)
            for trace, bounds in zip(self.traces, self.splits, strict=True)
        ]

    def sample(
        self, generator: np.random.Generator, options: Mapping[str, Any] | None = None
    ) -> EpisodeWindow:
        """Sample a trace and a window of its jobs, as far as the options leave them open.

        * `generator`: is drawn from only for what the options leave open.
        * `options`: `{"trace": k}` fixes the trace, `{"first_job": j}` the first job of the
          episode.

        Raises BfenvError if an option does not exist, or the window leaves the split.
        """
        options = check_options(options)
        for option in options:
            if option not in OPTIONS:
                raise UnknownNameError("reset option", option, OPTIONS)
        k = options.get("trace")
        if k is None:
            k = int(generator.integers(len(self.traces))) if len(self.traces) > 1 else 0
        k = check_integer("trace", k, 0, len(self.traces) - 1)
        (begin, end), length = self.splits[k], self._lengths[k]
        earliest = begin + self.warmup_jobs
        first = options.get("first_job")
        if first is None:
            first = int(generator.integers(earliest, end - length + 1))
        first = check_integer("first_job", first, 0)
        if not earliest <= first <= end - length:
            raise BfenvError(
                f"first_job must be from {earliest} to {end - length}, where the split has room "
                f"for the warm-up before and the episode after it, got {first}"
            )
        return EpisodeWindow(k, first - self.warmup_jobs, first, first + length, end)


def default_workload(split: str) -> list[str]:
    """Return the names of the default workload's traces, at their own load, in a split.

    Raises UnknownNameError if there is no such split.
    """
    if not isinstance(split, str) or split not in (*SEEDS, "all"):
        raise UnknownNameError("split", str(split), (*SEEDS, "all"))
    seeds = SEEDS.get(split) or sum(SEEDS.values(), ())
    return [f"{MODEL},seed={seed}" for seed in seeds]


def _load_traces(workload: Any, load: Any) -> list[Trace]:
    workloads = list(workload) if isinstance(workload, list | tuple) else [workload]
    several = isinstance(load, list | tuple) or (isinstance(load, np.ndarray) and load.ndim > 0)
    loads = list(load) if several else [load]
    for name, values in (("workload", workloads), ("load", loads)):
        if not values:
            raise BfenvError(f"{name} must not be an empty list")
    for value in loads:
        if value is not None:
            check_number("load", value, positive=True)
    traces = []
    for source in workloads:
        for target in loads:
            if isinstance(source, Trace):
                trace = source if target is None else with_load(source, target)
            else:
                trace = load_workload(source, **({} if target is None else {"load": target}))
            traces += machines_of(trace)
    return traces


def machines_of(trace: Trace) -> list[Trace]:
    """Return the traces that episodes come from: one for each partition of a trace.

    Raises BfenvError if the trace has outages, some nodes are in several partitions, or jobs wait
    for others.
    """
    check_no_outages(trace)
    if dependencies_of(trace) is not None:
        raise BfenvError(
            f"{trace.name} has jobs that wait for others, which environments do not follow; load "
            "it with dependencies=ignore"
        )
    if not is_partitioned(trace):
        return [trace]
    check_apart(trace, "the environment")
    return [part for _, part in traces_of_machines(trace)]


def _episode_length(
    trace: Trace, bounds: tuple[int, int], split: str, warmup_jobs: int, episode_jobs: int | None
) -> int:
    room = bounds[1] - bounds[0] - warmup_jobs
    if room < (episode_jobs or 1):
        raise BfenvError(
            f"{trace.name}: the split {split!r} has {bounds[1] - bounds[0]} jobs, too few for "
            f"warmup_jobs={warmup_jobs} and episode_jobs={episode_jobs}; "
            "choose a longer workload, another split, or fewer jobs for an episode"
        )
    return room if episode_jobs is None else episode_jobs


def check_options(options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the options of a reset; None is an empty dict.

    Raises BfenvError if they are not a dict.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise BfenvError(f"reset options must be a dict, got {options!r}")
    return options
