"""Backfill-v0: the machine and its queue as a Gymnasium environment."""

import operator
from typing import Any, SupportsIndex, Unpack

import gymnasium
import numpy as np

from bfenv.core.errors import BfenvError
from bfenv.envs.batch import EnvBatch, Info, Observation, observations, totals_of
from bfenv.envs.batch_state import StepBuffers
from bfenv.envs.handle import EnvHandle
from bfenv.envs.observation import CLUSTER, PROFILE, QUEUE, Feature
from bfenv.envs.settings import (
    FRAMES_PER_SECOND,
    RENDER_MODES,
    WORKLOAD,
    EnvSettings,
    Workloads,
    lists_settings,
    settings_page,
)


class BackfillEnv(EnvHandle, gymnasium.Env[Observation, SupportsIndex]):
    """The waiting queue and the machine of an HPC cluster: decide what starts next, and when.

    ## Description

    Jobs of a workload arrive at a machine of P processors and wait in a queue in order of
    submission. At every scheduling pass, after the ends and the arrivals of an instant, the agent
    starts jobs one by one, or lets the clock run. A job takes its `size` processors until it ends.
    It runs for its true runtime, which is hidden until it ends, and is killed at its estimate. The
    semantics are those of `bfenv.core.cluster`; `bfenv.simulate` drives the same machine.

    ## Action Space

    `Discrete(window + 1)`. Action i < window starts the job in slot i, the i-th waiting job, now.
    Action `window` passes: the clock runs on to the next scheduling pass at which a start is legal.
    A start is legal when a job is in the slot, it fits now, its requested start time has come, and
    it delays, by estimates, none of the reservations of the first `reservation_depth` waiting jobs
    (0: no reservations, 1: as in EASY, -1: every waiting job has one). The pass is always legal.

    The mask of legal actions is `env.unwrapped.action_masks()` (bool, for sb3-contrib) and
    `info["action_mask"]` (int8, for `Discrete.sample`). An illegal action raises no error: it
    changes nothing, its reward is 0, it is counted in `info["illegal_actions"]`, and
    `info["illegal_action"]` is True. If an agent passes while nothing runs and no job is still to
    arrive, it would wait forever: the environment then starts the head of the queue, and counts it
    in `info["forced_starts"]`.

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

    Nothing in the observation is derived from the true runtime of a job that has not ended.

    ## Rewards

    Minus the growth, since the last decision (for the first, since the episode began), of a sum
    over the episode's jobs, divided by their number: of the bounded slowdown max(1, (wait +
    runtime) / max(runtime, 10 s)) ("bounded_slowdown"), or of the wait in seconds ("wait"). A
    waiting job counts with its wait so far, so the rewards of an episode add up to minus the mean
    in `info["metrics"]`. For any other reward, give a function `reward(before, after) -> float` of
    two `bfenv.envs.reward.Totals`, or its name as "module:function". Rewards are computed from true
    runtimes; do not feed them back into observations.

    ## Starting State

    `episode_jobs` consecutive jobs, drawn by seed from the split; `reset(options={{"first_job":
    j}})` chooses the first of them. The machine is warm: the `warmup_jobs` jobs before them have
    been scheduled by EASY (by conservative backfilling, if jobs have requested start times) from an
    empty machine. Jobs keep arriving after the episode's, to the end of the split, and the agent
    schedules them, too. With several workloads or loads, one trace is drawn by seed;
    `options={{"trace": k}}` chooses it. All loads of the first workload come first.

    ## Episode End

    The episode terminates when the last of its jobs has started; `info["metrics"]` then holds their
    mean wait and mean bounded slowdown. It is truncated only by `max_episode_steps`: without it, an
    agent that is not masked and repeats an illegal action never ends its episode.

    ## Arguments

    * `workload={workload!r}`: name or path for `bfenv.load_workload`, or a `bfenv.Trace`; with a
      list, every episode is taken from one workload drawn by seed.
    {settings}

    A wrong argument raises a ValueError (`bfenv.BfenvError`) that names it; an unknown one is a
    TypeError, too.

    `gym.make_vec("Backfill-v0", num_envs=N)` makes N environments that are stepped at once
    (`bfenv.envs.vector`); `bfenv.envs.sb3.BackfillVecEnv` is the same for stable-baselines3.

    ## Version History

    * v0: initial version.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  declared by Gymnasium
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
    }

    @lists_settings
    def __init__(self, workload: Workloads = WORKLOAD, **settings: Unpack[EnvSettings]) -> None:
        batch = EnvBatch(1, workload, settings)
        super().__init__(batch, 0)
        self.render_mode = batch.render_mode
        self.action_space = batch.action_space
        self.observation_space = batch.observation_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Sample an episode, load the machine with the jobs before it, go to a decision.

        Parameters
        ----------
        seed
            Of the generator that samples episodes; None keeps the present one.
        options
            `{"first_job": j}` chooses the first job of the episode, `{"trace": k}` one of several
            workloads or loads.

        Raises
        ------
        BfenvError
            If an option does not exist, or the episode leaves the split.
        """
        super().reset(seed=seed)
        self.batch.generators[0] = self.np_random
        buffers = self.batch.new_buffers()
        self.batch.open_episode(0, buffers, options)
        return _observation(buffers), self.batch.info(0, totals_of(buffers, 0))

    def step(self, action: SupportsIndex) -> tuple[Observation, float, bool, bool, Info]:
        """Start the job in slot `action`, or, with `window`, let the clock run.

        Raises
        ------
        BfenvError
            If the action is not an integer.
        """
        try:
            index = operator.index(action)
        except TypeError:
            raise BfenvError(f"action must be an integer, got {action!r}") from None
        if not 0 <= index <= self.window:
            index = -1  # as illegal as any other, and small enough for an array
        buffers = self.batch.step(np.array([index], dtype=np.int64))
        totals = totals_of(buffers, 0)
        reward = self.batch.reward_of(0, totals)
        terminated, truncated = self.batch.endings(totals)
        return _observation(buffers), reward, terminated, truncated, self.batch.info(0, totals)


def _observation(buffers: StepBuffers) -> Observation:
    return {key: part[0] for key, part in observations(buffers).items()}


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
        workload=WORKLOAD,
        settings=settings_page().replace("\n", "\n    "),
        queue=_table(QUEUE),
        queue_length=len(QUEUE),
        cluster=_table(CLUSTER),
        cluster_length=len(CLUSTER),
        profile=_table(PROFILE),
        profile_length=len(PROFILE),
    )
