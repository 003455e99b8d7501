"""Cases: the jobs that candidates of a search are scored on.

A case is a part of a workload at a load, with shaken submit times. Candidates are compared on
slices of the training split. The best of them are compared on the training and the validation
splits as a whole, or on all slices of both if other jobs run before and after a slice. A search on
the split "train" has no case with a job of the test split.
"""

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bfenv.baselines.registry import find_policy
from bfenv.core.durations import MINUTE
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.core.names import parse_name
from bfenv.core.partitions import is_partitioned
from bfenv.core.policy import check_plans_for
from bfenv.envs.episode_source import EpisodeWindow, machines_of
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import split_range, transformed

SPLITS = ("train", "all")  # to search on


class Case(NamedTuple):
    """Some jobs of a workload, in names and numbers that a worker loads them from."""

    workload: str
    split: str
    first_job: int  # of the split
    job_count: int
    load: float | None  # of the whole split; None for the workload's own
    shake_seconds: int  # by which a job may be submitted earlier or later
    seed: int  # of the shaking
    # Jobs before the slice that EASY schedules; the jobs after the slice arrive as well. With 0,
    # the slice runs alone, on a machine that is empty at first.
    warmup_jobs: int = 0

    def trace(self) -> Trace:
        """Load the slice, or the whole split if the jobs around the slice run as well."""
        first_job, job_count = (
            (None, None) if self.warmup_jobs else (self.first_job, self.job_count)
        )
        return _load(
            self.workload,
            self.split,
            self.load,
            first_job,
            job_count,
            self.shake_seconds,
            self.seed,
        )

    def window(self) -> EpisodeWindow:
        """Return the jobs as a window of the split, which begins where EASY begins."""
        last = self.first_job + self.job_count
        opening = self.first_job - self.warmup_jobs
        return EpisodeWindow(0, opening, self.first_job, last, len(self.trace()))


class CaseSet(NamedTuple):
    """The cases of a search."""

    slices: dict[str, list[Case]]  # by workload, to compare candidates on
    validation: list[Case]  # on which each generation's best is scored
    final: list[Case]  # on which the last candidates are scored

    def draw(self, generator: np.random.Generator, count: int) -> list[Case]:
        """Draw `count` cases of each workload; candidates are compared on the same ones."""
        return [
            cases[i]
            for cases in self.slices.values()
            for i in sorted(generator.choice(len(cases), min(count, len(cases)), replace=False))
        ]


@lru_cache(maxsize=64)
def _load(
    workload: str,
    split: str,
    load: float | None,
    first_job: int | None,
    job_count: int | None,
    shake_seconds: int,
    seed: int,
) -> Trace:
    """Make jobs, each once; `load_workload` would give the seed to the workload.

    The whole split is scaled, so that its slices differ in load as the episodes of a trace do.
    """
    return transformed(
        _scaled(workload, split, load),
        first_job=first_job,
        job_count=job_count,
        shake_seconds=shake_seconds,
        seed=seed,
    )


@lru_cache(maxsize=64)
def _scaled(workload: str, split: str, load: float | None) -> Trace:
    return transformed(load_workload(workload), split=split, load=load)


def make_cases(
    workloads: tuple[str, ...],
    loads: tuple[float | None, ...],
    *,
    split: str = "train",
    slice_jobs: int = 10_000,
    shakes: int = 4,
    shake_seconds: int = 5 * MINUTE,
    warmup_jobs: int = 0,
) -> CaseSet:
    """List the cases of workloads.

    * `workloads`: what `load_workload` takes, without a split, a seed that shakes, or a load. A
      part given by `first_job` and `job_count` goes with the split "all".
    * `loads`: offered loads to scale to; None keeps a workload's own.
    * `split`: "train" searches on the training split and selects on it and the validation split;
      "all" does both on all jobs.
    * `slice_jobs`: about how many jobs a slice has.
    * `shakes`: how many shaken copies of each slice there are; the cases of the selection have half
      as many.
    * `shake_seconds`: how much earlier or later a job of a case may be submitted.
    * `warmup_jobs`: jobs before each slice that EASY schedules, at most a quarter of the split. If
      there are any, the jobs after a slice arrive as well, at least as many, and candidates are
      selected on slices. Otherwise slices run alone, and candidates are selected on whole splits.

    Raises BfenvError if a workload is unknown, names a split or a load, or is given twice, the
    split is not one to search on, or slices with a warm-up are asked for of several machines, of
    jobs that wait for others or request start times, or with outages.
    """
    if split not in SPLITS:
        raise BfenvError(f"a search takes the split {' or '.join(SPLITS)}, not {split!r}")
    if len(set(workloads)) < len(workloads) or not workloads:
        raise BfenvError("a search needs workloads, each given once")
    selected = ("all",) if split == "all" else ("train", "validation")
    cases = CaseSet({}, [], [])
    for workload in workloads:
        options = parse_name(workload).options
        not_taken = ("split",) if split == "all" else ("split", "first_job", "job_count")
        for option in not_taken:
            if option in options:
                hint = "" if option == "split" else ", unless the split is all"
                raise BfenvError(f"{workload}: a search takes workloads without {option}{hint}")
        trace = load_workload(workload)
        if warmup_jobs:  # slices are simulated like episodes
            if is_partitioned(trace):
                raise BfenvError(
                    f"{trace.name} has partitions, which slices with a warm-up do not follow"
                )
            machines_of(trace)  # refuses what no episode can have
            check_plans_for(find_policy("easy"), trace)
        wholes = {}
        for name in (split, *selected):
            begin, end = split_range(trace, name)
            warmup = min(warmup_jobs, (end - begin) // 4)
            jobs = end - begin - 2 * warmup
            wholes[name] = Case(workload, name, warmup, jobs, None, shake_seconds, 0, warmup)
        cases.slices[workload] = _copies(wholes[split], slice_jobs, loads, range(shakes))
        for name in selected:
            part_jobs = slice_jobs if warmup_jobs else wholes[name].job_count
            seeds = range(shakes, shakes + max(1, shakes // 2))
            copies = _copies(wholes[name], part_jobs, loads, seeds)
            cases.final.extend(copies)
            if name == selected[-1]:
                cases.validation.extend(copies)
    return cases


def _copies(
    whole: Case, part_jobs: int, loads: tuple[float | None, ...], seeds: range
) -> list[Case]:
    """Divide the case of a whole split evenly into parts of about `part_jobs`, with copies of each.

    * `loads`, `seeds`: a part has a copy for each load and each seed of the shaking.
    """
    parts = max(1, round(whole.job_count / part_jobs))
    bounds = [whole.first_job + whole.job_count * i // parts for i in range(parts + 1)]
    return [
        whole._replace(first_job=first, job_count=last - first, load=load, seed=seed)
        for first, last in pairwise(bounds)
        for load in loads
        for seed in seeds
    ]
