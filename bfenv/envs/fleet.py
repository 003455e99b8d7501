"""Fleet: N environments of one configuration, stepped by one kernel call (envs layer).

Settings, episodes and rewards are here; the interfaces of Gymnasium and of stable-baselines3 are
put on it in `backfill`, `vector` and `sb3`.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from bfenv.core.cluster import HORIZON, LAST_JOB, empty
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import FOREVER, Trace
from bfenv.core.policy import find_policy
from bfenv.envs import episode
from bfenv.envs.episode import Report, View
from bfenv.envs.observation import CLUSTER, PROFILE, QUEUE, Feature
from bfenv.envs.reward import REWARDS, Reward, Totals, find_reward
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import split_range, with_load

WARM_UP = "easy"  # the policy that loads the machine before an episode
WARM_UP_WISHES = "conservative"  # where jobs ask to start at a certain time
RENDER_MODES = ("ansi", "rgb_array")
FRAMES_PER_SECOND = 8
LARGEST_WINDOW = 100_000  # slots; an observation then has 4.4 MB


class Fleet:
    """N machines side by side and what they share; for the settings see `BackfillEnv`."""

    def __init__(
        self,
        count: int,
        *,
        workload: str | Trace | Sequence[str | Trace] = "lublin",
        window: int = 64,
        reservation_depth: int = 0,
        reward: str | Reward = "bounded_slowdown",
        episode_jobs: int | None = 256,
        warmup_jobs: int = 256,
        split: str = "train",
        load: float | Sequence[float] | None = None,
        every_pass: bool = False,
        render_mode: str | None = None,
    ):
        _whole("number of environments", count, 1)
        _whole("window", window, 1, LARGEST_WINDOW)
        _whole("reservation_depth", reservation_depth, -1)
        _whole("warmup_jobs", warmup_jobs, 0)
        if episode_jobs is not None:
            _whole("episode_jobs", episode_jobs, 1)
        if render_mode not in (None, *RENDER_MODES):
            raise BfenvError(f"render_mode is one of {list(RENDER_MODES)}, not {render_mode!r}")
        self.traces = _traces(workload, load)
        self.splits = [split_range(trace, split) for trace in self.traces]
        self.window = window
        self.every_pass = bool(every_pass)
        self.render_mode = render_mode
        self.reward = find_reward(reward)
        self.warmup_jobs = warmup_jobs
        self._lengths = [
            _episode_length(trace, bounds, split, warmup_jobs, episode_jobs)
            for trace, bounds in zip(self.traces, self.splits, strict=True)
        ]
        self._rules = episode.Rules(reservation_depth, self.every_pass)
        self._tables = episode.new_tables(self.traces)
        self.batch = episode.new_batch(self.traces, count, window)
        self.jobs = np.zeros(count, dtype=np.int64)  # of the episode in every environment
        self.action_space = spaces.Discrete(window + 1)
        self.observation_space = spaces.Dict(
            {"queue": _box(QUEUE, window), "profile": _box(PROFILE), "cluster": _box(CLUSTER)}
        )

    def __len__(self) -> int:
        return len(self.jobs)

    def open(self, i: int, generator: np.random.Generator, options: dict | None = None) -> None:
        """Open an episode in environment i: draw its window of jobs, load the machine before it.

        Raises BfenvError on an unknown option or a window that leaves the split.
        """
        options = _options(options)
        k = options.get("trace")
        if k is None:
            k = int(generator.integers(len(self.traces))) if len(self.traces) > 1 else 0
        _whole("trace", k, 0, len(self.traces) - 1)
        trace, (begin, end), length = self.traces[k], self.splits[k], self._lengths[k]
        earliest = begin + self.warmup_jobs
        first = options.get("first_job")
        if first is None:
            latest = max(earliest, end - 2 * length)
            first = int(generator.integers(earliest, latest + 1))
        _whole("first_job", first, 0)
        if not earliest <= first <= end - length:
            raise BfenvError(
                f"first_job {first} is not in {earliest} .. {end - length}, "
                "where the split has room for the warm-up before and the episode after it"
            )
        self.batch.counters[i, episode.TRACE] = k
        self.jobs[i] = length
        opening = first - self.warmup_jobs
        self._warm_up(i, trace, opening, first, end)
        episode.begin(self.batch, self._tables, self._rules, i, opening, first, first + length)

    def look(self, i: int, view: View) -> None:
        """Write what environment i shows into its row of the view."""
        episode.look(self.batch, self._tables, i, view)

    def new_view(self) -> View:
        """Room for what the environments show; fresh, for what was shown must not change."""
        return episode.new_view(len(self), self.window)

    def step(self, actions: np.ndarray) -> View:
        """Act, (N,) int64, in every environment; what they show then."""
        view = self.new_view()
        episode.step_and_look(self.batch, self._tables, self._rules, actions, view)
        return view

    def rewards(self, reports: np.ndarray) -> np.ndarray:
        """(N,) float64: what the last actions earned; 0 for an illegal one."""
        report = Report(*reports.T)
        if self.reward in REWARDS.values():
            return np.where(report.offence, 0.0, self.reward(*totals(report, self.jobs)))
        rows = zip(reports.tolist(), self.jobs.tolist(), strict=True)
        return np.array([self.rewarded(Report(*row), jobs) for row, jobs in rows])

    def rewarded(self, report: Report, jobs: int) -> float:
        """What the last action earned in an environment whose episode has so many jobs."""
        return 0.0 if report.offence else float(self.reward(*totals(report, jobs)))

    def _warm_up(self, i: int, trace: Trace, opening: int, first: int, end: int) -> None:
        """Schedule the jobs from `opening` to the first of the episode on an empty machine."""
        cluster = episode.cluster_of(self.batch, i)
        truth = episode.truth_of(self.batch, self._tables, i)
        empty(cluster, truth, trace.processors, opening, end)
        if opening < first:
            jobs = trace.jobs
            cluster.clock[LAST_JOB] = first
            cluster.clock[HORIZON] = jobs.submit[first]
            policy = find_policy(WARM_UP_WISHES if jobs.requested_start.any() else WARM_UP)
            memory = policy.memory(jobs, trace.processors, np.random.default_rng(0))
            policy.run(cluster, jobs, truth, memory)
            cluster.clock[LAST_JOB] = end
            cluster.clock[HORIZON] = FOREVER


def totals(report: Report, jobs: Any) -> tuple[Totals, Totals]:
    """The two arguments of a reward, of one environment or, in arrays, of all."""
    before = Totals(report.before_now, jobs, report.before_wait, report.before_bounded_slowdown)
    return before, Totals(report.now, jobs, report.wait, report.bounded_slowdown)


def metrics(report: Report, jobs: int) -> dict[str, float]:
    """The metrics of an episode that has ended."""
    return {
        "mean_wait": report.wait / jobs,
        "mean_bounded_slowdown": report.bounded_slowdown / jobs,
    }


def _traces(workload: Any, load: Any) -> list[Trace]:
    """Every workload at every load."""
    several = isinstance(workload, Sequence) and not isinstance(workload, str)
    workloads = list(workload) if several and not isinstance(workload, Trace) else [workload]
    loads = list(load) if isinstance(load, Sequence | np.ndarray) else [load]
    if not workloads or not loads:
        raise BfenvError("an environment needs a workload; the list is empty")
    return [_trace(each, wanted) for each in workloads for wanted in loads]


def _trace(workload: Any, load: float | None) -> Trace:
    if isinstance(workload, Trace):
        return workload if load is None else with_load(workload, load)
    if not isinstance(workload, str | os.PathLike):
        raise BfenvError(f"a workload is a name, a path or a Trace, not {workload!r}")
    return load_workload(workload, **({} if load is None else {"load": load}))


def _episode_length(
    trace: Trace, bounds: tuple[int, int], split: str, warmup_jobs: int, episode_jobs: int | None
) -> int:
    room = bounds[1] - bounds[0] - warmup_jobs
    if room < (episode_jobs or 1):
        raise BfenvError(
            f"{trace.name}: the split {split!r} has {bounds[1] - bounds[0]} jobs, too few for "
            f"warmup_jobs={warmup_jobs} and episode_jobs={episode_jobs}"
        )
    return room if episode_jobs is None else episode_jobs


def _options(options: dict | None) -> dict:
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise BfenvError(f"reset options are a dict, not {options!r}")
    for option in options:
        if option not in ("first_job", "trace"):
            raise BfenvError(f"unknown reset option {option!r}; there are first_job and trace")
    return dict(options)


def _whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limits = f"from {least} on" if most is None else f"from {least} to {most}"
        raise BfenvError(f"{name} is a whole number {limits}, not {value!r}")


def _box(features: tuple[Feature, ...], *rows: int) -> spaces.Box:
    low = np.broadcast_to([f.low for f in features], (*rows, len(features)))
    high = np.broadcast_to([f.high for f in features], (*rows, len(features)))
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
