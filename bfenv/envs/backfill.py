"""Backfill-v0: the machine and its queue as a Gymnasium environment."""

import operator
import sys
import textwrap
from copy import deepcopy
from types import FrameType
from typing import Any, SupportsIndex, Unpack

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import TimeLimit

import bfenv.envs.features as ft
import bfenv.envs.settings as st
from bfenv.core.errors import BfenvError
from bfenv.envs.batch import EnvBatch, Observation
from bfenv.envs.handle import EnvHandle
from bfenv.envs.rendering import render
from bfenv.envs.reward import OVERDUE, Info


class BackfillEnv(EnvHandle, gymnasium.Env[Observation, SupportsIndex]):
    """The waiting queue and the machine of an HPC cluster: decide what starts next, and when.

    ## Description

    Jobs arrive at a machine of P processors and wait in a queue. At each scheduling pass, after the
    ends and arrivals of an instant, the agent starts jobs one by one or lets the clock run. A job
    holds its `size` processors until it ends. Its runtime is hidden until then, and at its estimate
    it is killed. The machine is that of `bfenv.simulate`; `bfenv.core.cluster` states its rules.

    ## Action Space

    `Discrete(window + 1)`. Action i < window names the job in slot i: it starts if it can, and
    otherwise it becomes the head. Action `window` passes: the clock runs on to the next pass at
    which a start is legal. Slots are in order of submission, so the oldest job is in slot 0. If
    more jobs wait than there are slots, `window_order` chooses among them.

    The head has EASY's reservation (shadow time and extra nodes) until the clock runs on. While it
    has, only starts that do not delay it are legal, and no other head can be named. While any start
    is legal, a head may be named and passing is illegal. With these actions an agent can act as
    EASY under any queue order. `reservations` and `idle` set other rules: with `reservations=0`,
    `idle="every_pass"`, a policy without trials can act as itself, see `bfenv.PolicyAgent`.

    `env.unwrapped.action_masks()` (bool) and `info["action_mask"]` (int8) tell which actions are
    legal; at least one is. An illegal action counts as passing, sets `info["illegal_action"]`, and
    is counted in `info["illegal_actions"]`. If the agent passes when nothing runs or will arrive,
    the environment starts the oldest job, and counts it in `info["forced_starts"]`.

    ## Observation Space

    A `Dict` of three float32 boxes. The tables have version {version}. In them, machine = P, and t
    is in seconds:

    * log_time(t) = min(1, log(1 + t) / log(1 + 100 days)): 10 min is 0.40, 10 h is 0.66.
    * log_count(n) = min(1, log(1 + n) / log(1 + 10,000)).
    * log_expansion(x) = min(1, log10(x) / 4).

    "queue", shape (window, {queue_length} or more), has a row per slot:

    {queue}

    More columns follow, in groups that `job_features` chooses. "users" describes what ended jobs
    tell of a job's user. If none has ended, the estimate stands in for a runtime. The prediction is
    the mean of the user's last two runtimes, at most the estimate:

    {users}

    "priority" and "requested_start":

    {others}

    "cluster", shape ({cluster_length},); with `idle` other than "never" the last row is a column,
    too:

    {cluster}

    "profile", shape ({profile_length},), is the availability profile from the estimates of running
    jobs: free processors / machine, now and after these numbers of seconds:

    {profile}

    No observation depends on the true runtime of a job that has not ended. The environment holds
    these runtimes in `env.unwrapped.trace` and `env.unwrapped.batch`: an agent that reads them
    there cheats.

    ## Rewards

    The reward is the decrease of a cost since the last decision. The cost is a sum over the
    episode's jobs. Until a job ends, it counts with its estimate; the reward after its end corrects
    this, and the last reward settles the jobs that still run.

    * "penalized_product": (sum of bounded slowdowns / EASY's) x max(1, longest wait / E), over the
      jobs submitted so far. A bounded slowdown is max(1, (wait + runtime) / max(runtime, `tau`)).
      EASY schedules the same jobs from the same machine (conservative backfilling does if jobs have
      requested start times), and E is its longest wait, at least an hour. The rewards add up to
      minus the penalized slowdown, by which leaderboards rank: -1 for EASY.
    * "penalized_shaped", the default: the same cost, plus {overdue} x (wait / E - 1/2)^2 for each
      job that waits now and has waited for more than half of E. A job gets this charge back when it
      starts, so the rewards add up as those of "penalized_product".
    * "penalized": the square root of the cost of "penalized_product".
    * "log_ratio": log(sum of bounded slowdowns / EASY's), where a job to come has 1. The rewards
      add up to minus this: 0 for EASY.
    * "bounded_slowdown": the sum of bounded slowdowns, divided by the number of jobs.
    * "wait": the sum of waits in seconds, divided by the number of jobs.

    The first four contain EASY's score, which depends on runtimes that are not known yet.

    You can also give a function `reward(before, after) -> float` of two
    `bfenv.envs.reward.Totals`, or `reward(before, after, ended)`, where `ended` are the
    `bfenv.envs.reward.EndedJobs` since the last decision; or its name, "module:function".

    `info["dt"]` is how many seconds a step lasted: from 0 s to days. `gamma=1` fits the metric,
    because episodes end.

    ## Starting State

    An episode is `episode_jobs` consecutive jobs, drawn by seed from the split, and from one of the
    workloads and loads. `reset(options={{"first_job": j, "trace": k}})` chooses them. EASY has
    scheduled the `warmup_jobs` jobs before them, so the machine is warm. Jobs keep arriving after
    the episode's, to the end of the split.

    ## Episode End

    The episode terminates when its last job has started, and is truncated after `max_episode_steps`
    actions. `info["metrics"]` then holds its mean wait and mean bounded slowdown, its longest wait,
    the share of actions at which jobs waited outside the window, EASY's mean bounded slowdown and
    longest wait ("reference_..."), and how many jobs had not started ("charged_jobs").

    Truncation never pays: it charges each job that has not started as if it started at max(now, its
    submit time, its requested start time) + 2 W / P + L. W is the work, by estimates, of all
    running and waiting jobs and of the episode's jobs to come; L is the longest estimate among
    them.

    ## Planning

    `bfenv.envs.sampled_copy(env, seed)` returns a copy in which the runtimes of unfinished jobs are
    sampled and no more jobs arrive. A copy by `copy_with_foresight()`, `copy.deepcopy` or pickle
    continues with the true runtimes: a planner that uses it is clairvoyant.

    ## Arguments

    * `workload=None`: a name or path for `bfenv.load_workload`, a `bfenv.Trace` without outages, or
      a list of them. None is the embedded model, "{workload}": {training} traces of four seeds
      at the loads {loads}. Each split has seeds of its own, so that no training job is used to
      validate or test.
    {settings}

    A wrong argument raises a ValueError (`bfenv.BfenvError`) that names it.
    `gym.make_vec("Backfill-v0", num_envs=N)` steps N environments at once (`bfenv.envs.vector`);
    `bfenv.envs.sb3.BackfillVecEnv` does so for stable-baselines3.

    ## Version History

    * v0: initial version. Its observation tables have version {version}.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  declared by Gymnasium
        "render_modes": list(st.RENDER_MODES),
        "render_fps": st.FRAMES_PER_SECOND,
    }

    @st.lists_settings
    def __init__(
        self, workload: st.Workloads | None = None, **settings: Unpack[st.EnvSettings]
    ) -> None:
        batch = EnvBatch(1, workload, settings)
        super().__init__(batch, 0)
        self._actions = np.empty(1, dtype=np.int64)
        self._over = False  # whether the episode has ended
        self.action_space = batch.action_space
        self.observation_space = batch.observation_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Sample an episode, load the machine with the jobs before it, go to a decision.

        Args:
            seed: Of the generator that samples episodes; None keeps the present one.
            options: `{"first_job": j}` chooses the first job of the episode, `{"trace": k}` one of
                several workloads or loads.

        Returns:
            tuple:
            * `observation`: As described in the specification.
            * `info` (dict): With "action_mask", (actions,) int8, and counters.

        Raises:
            BfenvError: If an option does not exist, or the episode leaves the split.

        Examples:
            >>> import gymnasium
            >>> import bfenv
            >>> env = gymnasium.make("Backfill-v0", episode_jobs=20)
            >>> observation, info = env.reset(seed=0, options={"first_job": 1000})
            >>> observation["queue"].shape[0], info["action_mask"].shape
            (64, (65,))
        """
        super().reset(seed=seed)
        self.batch.generators[0] = self.np_random
        limits = self.batch.settings["max_episode_steps"], _time_limit(self)
        self.batch.most_steps = min(filter(None, limits), default=None)
        buffers = self.batch.new_buffers()
        self.batch.open_episodes({0: options}, buffers)
        self._over = False
        queue, profile, cluster = buffers.queue[0], buffers.profile[0], buffers.cluster[0]
        observation = {"queue": queue, "profile": profile, "cluster": cluster}
        return observation, self.batch.info(0, buffers)

    def step(self, action: SupportsIndex) -> tuple[Observation, float, bool, bool, Info]:
        """Start the job in slot `action`, or let the clock run.

        Args:
            action: Index of a slot, or `window` for the pass, see the specification. An illegal
                action counts as the pass.

        Returns:
            tuple:
            * `observation`: As described in the specification.
            * `reward` (float): For what happened since the last decision.
            * `terminated` (bool): Whether the episode has ended; `info` then holds its metrics.
            * `truncated` (bool): Whether it was cut off.
            * `info` (dict): With "action_mask", (actions,) int8, and counters.

        Raises:
            BfenvError: If the action is not an integer, or an array with one integer.
            ResetNeeded: If the episode is over.
        """
        if self._over:
            raise ResetNeeded("the episode is over: reset the environment")
        index = read_action(action)
        if not 0 <= index < self.batch.action_space.n:
            index = -1  # as illegal as any other, and small enough for an array
        self._actions[0] = index
        buffers = self.batch.step(self._actions)
        totals = self.batch.totals_of(0)
        reward = self.batch.reward_of(0, totals)
        terminated, truncated = self.batch.endings(totals)
        self._over = terminated or truncated
        info = self.batch.info(0, buffers, totals)
        queue, profile, cluster = buffers.queue[0], buffers.profile[0], buffers.cluster[0]
        observation = {"queue": queue, "profile": profile, "cluster": cluster}
        return observation, reward, terminated, truncated, info

    def render(self) -> Any:
        """Return a screen of text ("ansi") or an (h, w, 3) uint8 image ("rgb_array").

        Raises:
            BfenvError: If the environment was made without a render mode.
            ResetNeeded: Before the first `reset`.
        """
        return render(self)

    def copy_with_foresight(self) -> "BackfillEnv":
        """Return a copy that continues exactly as this environment will: it knows the runtimes.

        A plan made with it sees the future; its results are clairvoyant. The same holds for
        `copy.deepcopy` and for pickling, which are there to move environments. Planners that must
        not be clairvoyant use `bfenv.envs.sampled_copy`.
        """
        return deepcopy(self)


def _time_limit(env: BackfillEnv) -> int | None:
    """Return the lowest limit of the wrappers TimeLimit that are resetting `env`; None for none.

    `gymnasium.make(..., max_episode_steps=n)` makes this wrapper and tells the environment nothing.
    An environment that did not know would not charge for what it leaves waiting.
    """
    limits = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is TimeLimit.reset.__code__:
            wrapper: Any = frame.f_locals["self"]
            if wrapper.unwrapped is env:
                limits.append(int(wrapper._max_episode_steps))
        frame = frame.f_back
    return min(limits, default=None)


def read_action(action: Any) -> int:
    """Return an action as an int.

    Raises BfenvError if it is not an integer, or an array with one integer.
    """
    if isinstance(action, np.ndarray) and action.size == 1:
        action = action.item()
    try:
        return operator.index(action)
    except TypeError:
        raise BfenvError(f"action must be an integer, got {action!r}") from None


def _table(features: tuple[ft.Feature, ...]) -> str:
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
        workload=st.MODEL,
        training=len(st.SEEDS["train"]) * len(st.LOADS),
        loads=", ".join(map(str, st.LOADS)),
        settings=st.settings_page().replace("\n", "\n    "),
        queue=_table(ft.QUEUE),
        queue_length=len(ft.QUEUE),
        users=_table(ft.USERS),
        others=_table((*ft.PRIORITY, *ft.REQUESTED_START)),
        version=ft.VERSION,
        overdue=OVERDUE,
        cluster=_table(ft.CLUSTER + ft.PASS),
        cluster_length=len(ft.CLUSTER),
        profile=textwrap.fill(", ".join(map(str, ft.AHEAD[1:].tolist())), 94).replace(
            "\n", "\n    "
        ),
        profile_length=len(ft.PROFILE),
    )
