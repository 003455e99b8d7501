"""Fleet: N environments of one configuration, stepped by one kernel call.

Settings, episodes and rewards are here; the interfaces of Gymnasium and of stable-baselines3 are
put on it in `backfill`, `vector` and `sb3`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random

from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import HORIZON, LAST_JOB, reset
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.jobs import FOREVER, Trace
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
LARGEST_WINDOW = 2**20  # slots; an observation then has 46 MB


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
        max_episode_steps: int | None = None,
    ):
        whole("number of environments", count, 1)
        if max_episode_steps is not None:
            whole("max_episode_steps", max_episode_steps, 1)
        whole("window", window, 1, LARGEST_WINDOW)
        whole("reservation_depth", reservation_depth, -1)
        whole("warmup_jobs", warmup_jobs, 0)
        if episode_jobs is not None:
            whole("episode_jobs", episode_jobs, 1)
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
        longest = max(map(len, self.traces))
        self._rules = episode.Rules(min(reservation_depth, longest), self.every_pass)
        self.batch = episode.new_batch(self.traces, count, window)
        self._set_up()
        self.jobs = np.zeros(count, dtype=np.int64)  # of the episode in every environment
        self.generators: list[Any] = [None] * count  # numpy's, that draw the episodes
        self.seeds: list[int | None] = [None] * count  # of these
        self._most_steps = np.inf if max_episode_steps is None else max_episode_steps
        self.ready = False  # an episode has been opened in every environment
        self.action_space = spaces.Discrete(window + 1)
        self.observation_space = spaces.Dict(
            {"queue": _box(QUEUE, window), "profile": _box(PROFILE), "cluster": _box(CLUSTER)}
        )

    def __len__(self) -> int:
        return len(self.jobs)

    def _set_up(self) -> None:
        """What follows from the rest, in the form in which the kernels are called."""
        self._tables = episode.new_tables(self.traces)
        self._state = tuple(self.batch), tuple(self._tables), tuple(self._rules)

    def __getstate__(self) -> dict:
        """Without the tables, copies of the traces; unpickled, they would be writeable."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_tables", "_state")}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._set_up()

    def seed(self, i: int, seed: int | None) -> None:
        """Give environment i a new generator if it is given a seed or has none."""
        if seed is not None or self.generators[i] is None:
            self.generators[i], self.seeds[i] = np_random(seed)

    def open(self, i: int, view: View, options: dict | None = None) -> None:
        """Open an episode in environment i, and write what it shows into its row of the view.

        Its window of jobs is drawn and the machine loaded with the jobs before it. Raises
        BfenvError on an unknown option or a window that leaves the split.
        """
        options, generator = _options(options), self.generators[i]
        k = options.get("trace")
        if k is None:
            k = int(generator.integers(len(self.traces))) if len(self.traces) > 1 else 0
        whole("trace", k, 0, len(self.traces) - 1)
        trace, (begin, end), length = self.traces[k], self.splits[k], self._lengths[k]
        earliest = begin + self.warmup_jobs
        first = options.get("first_job")
        if first is None:
            latest = max(earliest, end - 2 * length)
            first = int(generator.integers(earliest, latest + 1))
        whole("first_job", first, 0)
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
        self.ready = self.ready or bool(self.jobs.all())
        episode.look(self.batch, self._tables, i, view)

    def new_view(self) -> View:
        """Fresh room for observations, for those once shown must not change, and the reports."""
        count = len(self.jobs)
        return View(
            np.empty((count, self.window, len(QUEUE)), dtype=np.float32),
            np.empty((count, len(PROFILE)), dtype=np.float32),
            np.empty((count, len(CLUSTER)), dtype=np.float32),
            np.empty((count, len(Report._fields))),
        )

    def step(self, actions: np.ndarray) -> View:
        """Act, (N,) int64, in every environment; what they show then.

        Raises ResetNeeded as long as some environment has no episode.
        """
        if not self.ready:
            raise ResetNeeded("step needs a reset before it")
        view = self.new_view()
        episode.step_and_look(*self._state, actions, tuple(view))
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

    def ends(self, report: Report) -> tuple[Any, Any]:
        """Whether episodes are over, and whether they have been given all their steps."""
        return report.unstarted == 0, report.steps >= self._most_steps

    def info(self, i: int, report: Report) -> dict[str, Any]:
        """The info of environment i; at the end of its episode with the metrics."""
        info = _info(self.batch.mask[i], report, int)
        if report.unstarted == 0:
            jobs = int(self.jobs[i])
            info["metrics"] = {
                "mean_wait": report.wait / jobs,
                "mean_bounded_slowdown": report.bounded_slowdown / jobs,
            }
        return info

    def infos(self, report: Report) -> dict[str, np.ndarray]:
        """What `info` gives of all environments but the metrics, in (N,) and (N, ...) arrays."""
        return _info(self.batch.mask, report, lambda column: column.astype(np.int64))

    def _warm_up(self, i: int, trace: Trace, opening: int, first: int, end: int) -> None:
        """Schedule the jobs from `opening` to the first of the episode on an empty machine."""
        cluster = episode.cluster_of(self.batch, i)
        truth = episode.truth_of(self.batch, self._tables, i)
        reset(cluster, truth, trace.processors, opening, end)
        if opening < first:
            jobs = trace.jobs
            cluster.state[LAST_JOB] = first
            cluster.state[HORIZON] = jobs.submit[first]
            policy = find_policy(WARM_UP_WISHES if jobs.requested_start.any() else WARM_UP)
            memory = policy.memory(jobs, trace.processors, np.random.default_rng(0))
            policy.run(cluster, jobs, truth, memory)
            cluster.state[LAST_JOB] = end
            cluster.state[HORIZON] = FOREVER


def new_fleet(count: int, settings: Mapping[str, Any]) -> Fleet:
    """A fleet with these settings; UnknownNameError for one that there is not."""
    known = list(inspect.signature(Fleet).parameters)[1:]
    for name in settings:
        if name not in known:
            raise UnknownNameError("setting", name, known)
    return Fleet(count, **settings)


def observation(view: View) -> dict[str, np.ndarray]:
    """What is shown of all environments, by the keys of the observation space."""
    return {"queue": view.queue, "profile": view.profile, "cluster": view.cluster}


def shown(view: View, i: int) -> dict[str, np.ndarray]:
    """A copy of what is shown of environment i, whose next episode is to be written over it."""
    return {key: part[i].copy() for key, part in observation(view).items()}


def _info(mask: np.ndarray, report: Report, whole: Callable) -> dict[str, Any]:
    """What an agent is told besides, of one environment or, in arrays, of all."""
    return {
        "action_mask": mask.copy(),
        "now": whole(report.now),
        "illegal_action": report.offence > 0,
        "illegal_actions": whole(report.illegal),
        "forced_starts": whole(report.forced),
    }


def totals(report: Report, jobs: Any) -> tuple[Totals, Totals]:
    """The two arguments of a reward, of one environment or, in arrays, of all."""
    before = Totals(report.before_now, jobs, report.before_wait, report.before_bounded_slowdown)
    return before, Totals(report.now, jobs, report.wait, report.bounded_slowdown)


def _traces(workload: Any, load: Any) -> list[Trace]:
    """Every workload at every load."""
    several = isinstance(workload, list | tuple)
    workloads = list(workload) if several else [workload]
    loads = list(load) if isinstance(load, list | tuple | np.ndarray) else [load]
    for name, values in (("workload", workloads), ("load", loads)):
        if not values:
            raise BfenvError(f"{name} is an empty list")
    for value in loads:
        if value is not None and not isinstance(value, int | float | np.number):
            raise BfenvError(f"load is a number, or several in a list, not {value!r}")
    return [_trace(each, wanted) for each in workloads for wanted in loads]


def _trace(workload: Any, load: float | None) -> Trace:
    if isinstance(workload, Trace):
        return workload if load is None else with_load(workload, load)
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


def whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise BfenvError unless the value is a whole number within its limits."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        limits = f"from {least} on" if most is None else f"from {least} to {most}"
        raise BfenvError(f"{name} is a whole number {limits}, not {value!r}")


def _box(features: tuple[Feature, ...], *rows: int) -> spaces.Box:
    low = np.broadcast_to([f.low for f in features], (*rows, len(features)))
    high = np.broadcast_to([f.high for f in features], (*rows, len(features)))
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
