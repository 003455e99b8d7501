"""Backfill-v0: the machine and its queue as a Gymnasium environment (envs layer)."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from bfenv.core.cluster import (
    HORIZON,
    LAST_JOB,
    NOW,
    OFFENDER,
    PASSES,
    QUEUE_BEGIN,
    QUEUE_END,
    WAKE,
    Cluster,
    empty,
    retract,
    started,
    waiting,
)
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import FOREVER, Trace
from bfenv.core.policy import find_policy
from bfenv.envs import episode
from bfenv.envs.observation import AHEAD, CLUSTER, PROFILE, QUEUE, Feature
from bfenv.envs.reward import Reward, Totals, find_reward
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import split_range, with_load

WARM_UP = "easy"  # the policy that loads the machine before an episode
WARM_UP_WISHES = "conservative"  # where jobs ask to start at a certain time
WIDEST = 2**20  # window: one observation is then 46 MB


class BackfillEnv(gymnasium.Env):
    """The waiting queue and the machine of an HPC cluster: decide what starts next, and when.

    ## Description

    Jobs of a workload arrive at a machine of P processors and wait in a queue in order of
    submission. At every scheduling pass, after the ends and the arrivals of an instant, the agent
    starts jobs one by one, or lets the clock run. A job takes its `size` processors until it ends;
    it runs for its true runtime, which nobody sees before, and is killed at its estimate. The
    semantics are those of `bfenv.core.cluster`; `bfenv.simulate` drives the same machine.

    ## Action Space

    `Discrete(window + 1)`. Action i < window starts the job in slot i, the i-th waiting job, now.
    Action `window` passes: the clock runs on to the next scheduling pass at which a start is legal.
    A start is legal when a job is in the slot, it fits now, its requested start time has come, and
    it delays, by estimates, none of the reservations of the first `reservation_depth` waiting jobs
    (0: no reservations, 1: as in EASY, -1: every waiting job has one). The pass is always legal.

    The mask of legal actions is `env.unwrapped.action_masks()` (bool, as sb3-contrib asks for it)
    and `info["action_mask"]` (int8, as `Discrete.sample` asks for it). An illegal action raises
    nothing: it changes nothing, its reward is 0, it is counted in `info["illegal_actions"]`, and
    `info["illegal_action"]` is True. When an agent passes while nothing runs and nothing is still
    to arrive, it would wait for ever: the environment then starts the head of the queue, and counts
    it in `info["forced_starts"]`.

    ## Observation Space

    A `Dict` of three float32 boxes. squash(x, c) = x / (x + c); machine = P; AHEAD are 32 instants
    from now to 5 days ahead, logarithmically spaced.

    "queue", shape (window, {queue_length}), one row per slot:

    {queue}

    "cluster", shape ({cluster_length},):

    {cluster}

    "profile", shape ({profile_length},): the availability profile, from the running jobs'
    estimates:

    {profile}

    Nothing in it is derived from the true runtime of a job that has not ended.

    ## Rewards

    Minus the growth, since the last decision (for the first, since the episode began), of a sum
    over the episode's jobs, divided by their number: of the bounded slowdown max(1, (wait +
    runtime) / max(runtime, 10 s)) ("bounded_slowdown"), or of the wait in seconds ("wait"). A
    waiting job counts with its wait so far, so the rewards of an episode add up to minus the mean
    that is reported. A function `reward(before, after) -> float` of two `bfenv.envs.reward.Totals`,
    or its name as "module:function", does anything else. Rewards are computed from true runtimes;
    do not feed them back into observations.

    ## Starting State

    `episode_jobs` consecutive jobs, drawn by seed from the split, or those that begin at
    `reset(options={{"first_job": k}})`. The machine is warm: the `warmup_jobs` jobs before them
    have been scheduled by EASY (by conservative backfilling, if jobs have requested start times)
    from an empty machine. Jobs go on arriving after the episode's, to the end of the split, and
    are scheduled by the agent, too.

    ## Episode End

    The episode terminates when the last of its jobs has started; `info["metrics"]` then holds their
    mean wait and mean bounded slowdown. It is never truncated: an agent that takes illegal actions
    for ever is in an episode that never ends, against which masks or the `max_episode_steps` of
    `gymnasium.make` help.

    ## Arguments

    * `workload="lublin"`: name or path for `bfenv.load_workload`, or a `bfenv.Trace`.
    * `window=64`: how many waiting jobs the agent sees and can start.
    * `reservation_depth=0`: how many waiting jobs no start may delay; -1 for all.
    * `reward="bounded_slowdown"`: see above.
    * `episode_jobs=256`: jobs per episode; None for all of the split after the warm-up.
    * `warmup_jobs=256`: jobs before them, scheduled by EASY.
    * `split="train"`: the part of the workload, by time, that episodes come from: "train" the first
      half, "validation" the next tenth, "test" the last 40 %, "all" everything.
    * `load=None`: offered load to bring the workload to; None leaves it as it is.
    * `every_pass=False`: stop at every scheduling pass, even if no start is legal.
    * `render_mode=None`: "ansi", "rgb_array", or "human", which Gymnasium makes of the latter.

    A wrong argument raises a ValueError (`bfenv.BfenvError`) that names it.

    ## Version History

    * v0: initial version.
    """

    metadata: ClassVar = {"render_modes": ["ansi", "rgb_array"], "render_fps": 8}

    def __init__(
        self,
        workload: str | Trace = "lublin",
        *,
        window: int = 64,
        reservation_depth: int = 0,
        reward: str | Reward = "bounded_slowdown",
        episode_jobs: int | None = 256,
        warmup_jobs: int = 256,
        split: str = "train",
        load: float | None = None,
        every_pass: bool = False,
        render_mode: str | None = None,
    ):
        _whole("window", window, 1)
        if window > WIDEST:
            raise BfenvError(f"window is at most {WIDEST:,} slots, a row each in every observation")
        _whole("reservation_depth", reservation_depth, -1)
        _whole("warmup_jobs", warmup_jobs, 0)
        if episode_jobs is not None:
            _whole("episode_jobs", episode_jobs, 1)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise BfenvError(
                f"render_mode is one of {self.metadata['render_modes']}, not {render_mode!r}"
            )
        if not isinstance(workload, Trace):
            self.trace = load_workload(workload, **({} if load is None else {"load": load}))
        else:
            self.trace = workload if load is None else with_load(workload, load)
        self.window = window
        self.every_pass = bool(every_pass)
        self.reward = find_reward(reward)
        self.render_mode = render_mode
        self._split = split_range(self.trace, split)
        self._warmup_jobs = warmup_jobs
        self._episode_jobs = self._fit_episode(episode_jobs, split)
        depth = min(reservation_depth, len(self.trace))
        self._rules = episode.Rules(depth, self.every_pass, self.trace.time_of_day)
        self._batch = episode.new_batch(self.trace, 1, window)
        self._totals = Totals(0, self._episode_jobs, 0.0, 0.0)
        self._episodes = 0
        self._screen: Any = None
        self.action_space = spaces.Discrete(window + 1)
        self.observation_space = spaces.Dict(
            {
                "queue": _box(QUEUE, window),
                "profile": _box(PROFILE),
                "cluster": _box(CLUSTER),
            }
        )

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        """Draw a window of jobs, load the machine with the jobs before it, go to a decision.

        options={"first_job": k} opens the window at job k of the trace instead of a random one.
        Raises BfenvError on another option or a window that leaves the split.
        """
        super().reset(seed=seed)
        begin, end = self._split
        if not isinstance(options, Mapping | None):
            raise BfenvError(f"reset options are a dict, not {options!r}")
        options = dict(options or {})
        earliest = begin + self._warmup_jobs
        latest = max(earliest, end - 2 * self._episode_jobs)
        first = options.pop("first_job", None)
        if first is None:
            first = int(self.np_random.integers(earliest, latest + 1))
        if options:
            raise BfenvError(f"unknown reset option {next(iter(options))!r}; there is first_job")
        _whole("first_job", first, 0)
        if not earliest <= first <= end - self._episode_jobs:
            raise BfenvError(
                f"first_job {first} is not in {earliest} .. {end - self._episode_jobs}, "
                "where the split has room for the warm-up before and the episode after it"
            )
        self._episodes += 1
        jobs, runtime, cluster = self.trace.jobs, self.trace.runtime, self.cluster
        truth = episode.truth_of(self._batch, runtime, 0)
        empty(cluster, truth, self.trace.processors, first - self._warmup_jobs, end)
        if self._warmup_jobs:
            cluster.clock[LAST_JOB] = first
            cluster.clock[HORIZON] = jobs.submit[first]
            policy = find_policy(WARM_UP_WISHES if jobs.requested_start.any() else WARM_UP)
            memory = policy.memory(jobs, self.trace.processors, np.random.default_rng(0))
            policy.run(cluster, jobs, truth, memory)
            cluster.clock[LAST_JOB] = end
            cluster.clock[HORIZON] = FOREVER
        episode.begin(
            self._batch,
            jobs,
            runtime,
            self._rules,
            0,
            first - self._warmup_jobs,
            first,
            first + self._episode_jobs,
        )
        observation, totals = self._look()
        # What came before the first decision is in the first reward, so that nothing is missing.
        self._totals = totals._replace(wait=0.0, bounded_slowdown=0.0)
        return observation, self._info(illegal=False)

    def step(self, action):
        """Start the job in slot `action`, or, with `window`, let the clock run.

        Raises BfenvError if the action is not one whole number.
        """
        if not self._episodes:
            raise ResetNeeded("step needs a reset before it")
        try:
            action = operator.index(action)
        except TypeError:
            raise BfenvError(f"an action is one whole number, not {action!r}") from None
        action = action if 0 <= action <= self.window else -1  # any other is as illegal
        before = self._totals
        illegal_before = self._batch.counters[0, episode.ILLEGAL]
        observation, self._totals = self._look(np.array([action], dtype=np.int64))
        illegal = bool(self._batch.counters[0, episode.ILLEGAL] > illegal_before)
        if illegal:
            self._totals = before
            return observation, 0.0, False, False, self._info(illegal)
        terminated = bool(self._batch.counters[0, episode.UNSTARTED] == 0)
        info = self._info(illegal)
        if terminated:
            info["metrics"] = {
                "mean_wait": self._totals.wait / self._episode_jobs,
                "mean_bounded_slowdown": self._totals.bounded_slowdown / self._episode_jobs,
            }
        return observation, float(self.reward(before, self._totals)), terminated, False, info

    def action_masks(self) -> np.ndarray:
        """(window + 1,) bool: which actions are legal now; the last, the pass, always is."""
        return self._batch.mask[0].astype(bool)

    @property
    def cluster(self) -> Cluster:
        """The machine as a scheduler sees it; arrays of the environment itself, not copies."""
        return episode.cluster_of(self._batch, 0)

    @property
    def pass_id(self) -> tuple[int, int]:
        """Number of the episode and of the scheduling pass in it, warm-up included."""
        return self._episodes, int(self._batch.clock[0, PASSES])

    @property
    def episode_jobs(self) -> range:
        """The jobs, by index in the trace, that the episode's reward is about."""
        counters = self._batch.counters[0]
        return range(int(counters[episode.FIRST]), int(counters[episode.LAST]))

    def plan(self, decide: Callable, memory: Any) -> list[int]:
        """The actions by which a policy's starts of this pass are made; nothing is started.

        A wake-up that it asks for will come. The policy is shown the window of the queue, as an
        agent is. After these actions, as long as `pass_id` is the same, it would pass. Raises
        PolicyError on an illegal start.
        """
        cluster, jobs = self.cluster, self.trace.jobs
        queue_end = int(cluster.clock[QUEUE_END])
        cluster.clock[QUEUE_END] = min(queue_end, cluster.clock[QUEUE_BEGIN] + self.window)
        try:
            decide(cluster, jobs, memory)
            slots = waiting(cluster).tolist()
            actions = []
            for job in started(cluster).tolist():
                actions.append(slots.index(job))
                slots.remove(job)
            return actions
        except ValueError as error:
            job = int(cluster.clock[OFFENDER])
            if job < 0:  # not the machine's complaint but a fault of the policy's own
                raise
            cluster.clock[OFFENDER] = -1
            raise PolicyError(f"illegal start of job {job}: it {error}") from error
        finally:
            wake = cluster.clock[WAKE]
            retract(cluster, jobs)
            cluster.clock[WAKE] = wake
            cluster.clock[QUEUE_END] = queue_end

    def render(self):
        """A compact screen of text ("ansi") or an (h, w, 3) uint8 picture ("rgb_array")."""
        if self.render_mode is None:
            raise BfenvError("render needs render_mode='ansi' or 'rgb_array' at gym.make")
        from bfenv.envs import render

        if self.render_mode == "ansi":
            return render.text(self)
        if self._screen is None:
            self._screen = render.Screen()
        return self._screen.draw(self)

    def close(self):
        """Forget the picture; may be called more than once."""
        self._screen = None

    def __getstate__(self) -> dict:
        """Everything but the picture, which is drawn anew."""
        return {**self.__dict__, "_screen": None}

    def _look(self, actions: np.ndarray | None = None) -> tuple[dict[str, np.ndarray], Totals]:
        """The observation and the totals, after these actions if there are any; fresh arrays."""
        state = self._batch, self.trace.jobs, self.trace.runtime, self._rules
        queue = np.empty((1, self.window, len(QUEUE)), dtype=np.float32)
        profile = np.empty((1, len(AHEAD)), dtype=np.float32)
        machine = np.empty((1, len(CLUSTER)), dtype=np.float32)
        totals = np.empty((1, 2))
        if actions is None:
            episode.look(*state, queue, profile, machine, totals)
        else:
            episode.step_and_look(*state, actions, queue, profile, machine, totals)
        observation = {"queue": queue[0], "profile": profile[0], "cluster": machine[0]}
        wait, bounded_slowdown = totals[0].tolist()
        clock = int(self._batch.clock[0, NOW])
        return observation, Totals(clock, self._episode_jobs, wait, bounded_slowdown)

    def _info(self, illegal: bool) -> dict[str, Any]:
        counters = self._batch.counters[0]
        return {
            "action_mask": self._batch.mask[0].copy(),
            "now": self._totals.now,
            "illegal_action": illegal,
            "illegal_actions": int(counters[episode.ILLEGAL]),
            "forced_starts": int(counters[episode.FORCED]),
        }

    def _fit_episode(self, episode_jobs: int | None, split: str) -> int:
        begin, end = self._split
        room = end - begin - self._warmup_jobs
        if room < (episode_jobs or 1):
            raise BfenvError(
                f"{self.trace.name}: the split {split!r} has {end - begin} jobs, too few for "
                f"warmup_jobs={self._warmup_jobs} and episode_jobs={episode_jobs}"
            )
        return room if episode_jobs is None else episode_jobs


def _table(features: tuple[Feature, ...]) -> str:
    rows = [("index", "name", "unit", "min", "max", "meaning")]
    rows += [
        (str(i), f.name, f.unit, f"{f.low}", f"{f.high}", f.formula) for i, f in enumerate(features)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n    ".join(lines)


if BackfillEnv.__doc__:  # python -OO has none
    BackfillEnv.__doc__ = BackfillEnv.__doc__.format(
        queue=_table(QUEUE),
        queue_length=len(QUEUE),
        cluster=_table(CLUSTER),
        cluster_length=len(CLUSTER),
        profile=_table(PROFILE),
        profile_length=len(PROFILE),
    )


def _whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise BfenvError(f"{name} is a whole number from {least} on, not {value!r}")


def _box(features: tuple[Feature, ...], *rows: int) -> spaces.Box:
    low = np.broadcast_to([f.low for f in features], (*rows, len(features)))
    high = np.broadcast_to([f.high for f in features], (*rows, len(features)))
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
