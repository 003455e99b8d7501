"""Backfill-v0: the machine and its queue as a Gymnasium environment."""

import operator
from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np

from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.envs.batch import FRAMES_PER_SECOND, RENDER_MODES, new_fleet, observation
from bfenv.envs.episode import Report, View
from bfenv.envs.handle import Machine
from bfenv.envs.observation import CLUSTER, PROFILE, QUEUE, Feature


class BackfillEnv(Machine, gymnasium.Env):
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
    are scheduled by the agent, too. Of several workloads or loads one is drawn by seed, or taken
    by its place among them, `options={{"trace": k}}`; all loads of the first workload come first.

    ## Episode End

    The episode terminates when the last of its jobs has started; `info["metrics"]` then holds their
    mean wait and mean bounded slowdown. It is truncated by `max_episode_steps` alone: without,
    an agent that is neither masked nor learns from its illegal actions would go on for ever.

    ## Arguments

    * `workload="lublin"`: name or path for `bfenv.load_workload`, or a `bfenv.Trace`; of several in
      a list, every episode is taken from one drawn by seed.
    * `window=64`: how many waiting jobs the agent sees and can start.
    * `reservation_depth=0`: how many waiting jobs no start may delay; -1 for all.
    * `reward="bounded_slowdown"`: see above.
    * `episode_jobs=256`: jobs per episode; None for all of the split after the warm-up.
    * `warmup_jobs=256`: jobs before them, scheduled by EASY.
    * `split="train"`: the part of the workload, by time, that episodes come from: "train" the first
      half, "validation" the next tenth, "test" the last 40 %, "all" everything.
    * `load=None`: offered load to bring the workload to; None leaves it as it is. Of several in a
      list, every episode is at one drawn by seed.
    * `every_pass=False`: stop at every scheduling pass, even if no start is legal.
    * `max_episode_steps=None`: after how many actions an episode is truncated; None for never.
    * `render_mode=None`: "ansi", "rgb_array", or "human", which Gymnasium makes of the latter.

    A wrong argument raises a ValueError (`bfenv.BfenvError`) that names it.

    `gym.make_vec("Backfill-v0", num_envs=N)` makes N of them that are stepped at once
    (`bfenv.envs.vector`), `bfenv.envs.sb3.BackfillVecEnv` the same for stable-baselines3.

    ## Version History

    * v0: initial version.
    """

    metadata: ClassVar = {"render_modes": list(RENDER_MODES), "render_fps": FRAMES_PER_SECOND}

    def __init__(self, workload: str | Trace | Sequence[str | Trace] = "lublin", **settings: Any):
        fleet = new_fleet(1, {"workload": workload, **settings})
        super().__init__(fleet, 0)
        self.render_mode = fleet.render_mode
        self.action_space = fleet.action_space
        self.observation_space = fleet.observation_space

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        """Draw a window of jobs, load the machine with the jobs before it, go to a decision.

        options={"first_job": k} opens the window at job k of the trace instead of a random one,
        {"trace": k} takes the k-th of several workloads or loads. Raises BfenvError on another
        option or a window that leaves the split.
        """
        super().reset(seed=seed)
        self.fleet.generators[0] = self.np_random
        view = self.fleet.new_view()
        self.fleet.open(0, view, options)
        return _observation(view), self.fleet.info(0, Report(*view.reports[0].tolist()))

    def step(self, action):
        """Start the job in slot `action`, or, with `window`, let the clock run."""
        try:
            action = operator.index(action)
        except TypeError:
            raise BfenvError(f"an action is one whole number, not {action!r}") from None
        if not 0 <= action <= self.window:
            action = -1  # as illegal as any other, and small enough for an array
        view = self.fleet.step(np.array([action], dtype=np.int64))
        report = Report(*view.reports[0].tolist())
        reward = self.fleet.rewarded(report, int(self.fleet.jobs[0]))
        terminated, truncated = self.fleet.ends(report)
        return _observation(view), reward, terminated, truncated, self.fleet.info(0, report)


def _observation(view: View) -> dict[str, np.ndarray]:
    return {key: part[0] for key, part in observation(view).items()}


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
