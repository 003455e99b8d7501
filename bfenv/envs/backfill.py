"""Backfill-v0: the machine and its queue as a Gymnasium environment."""

import operator
import sys
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
from bfenv.envs.batch_state import StepBuffers
from bfenv.envs.infos import Info
from bfenv.envs.rendering import render
from bfenv.envs.snapshot import PlanningHandle


class BackfillEnv(PlanningHandle, gymnasium.Env[Observation, SupportsIndex]):
    """The waiting queue and the machine of an HPC cluster: decide what starts next, and when.

    ## Description

    Jobs of a workload arrive at a machine of P processors and wait in a queue in order of
    submission. At every scheduling pass, after the ends and the arrivals of an instant, the agent
    starts jobs one by one, or lets the clock run. A job takes its `size` processors until it ends.
    It runs for its true runtime, which is hidden until it ends, and is killed at its estimate.
    `bfenv.core.cluster` states the semantics; `bfenv.simulate` drives the same machine.

    ## Action Space

    `Discrete(window + 1)`, or `Discrete(2 * window + 1)` with actions for trials. Action i < window
    names the job in slot i: if it may start now, it does, else it becomes the head. Action `window`
    passes: the clock runs on to the next scheduling pass at which a start is legal. If no more jobs
    wait than the window has slots, they all are in slots; else `window_order` says which of them.
    Slots are in order of submission, so the oldest waiting job is in slot 0, except before an
    outage (see below).

    The head has the reservation of EASY (shadow time and extra nodes) until the clock runs on.
    After it has been named, only starts that do not delay it are legal, and no other head can be
    named. A head can be named wherever some start is legal. The pass is illegal while a start is.
    This expresses EASY with the queue in any order, and to start what fits before reserving.

    A start is legal when a job is in the slot, it fits now, its requested start time has come, it
    leaves outages to come their processors, and it delays, by estimates, no reservation.

    The guard bounds waits. A job that has waited longer than its limit comes first: while it fits,
    its start is the only legal action; while it does not, only starts that do not delay its
    reservation are legal, and no other head can be named. The limit is `guard` times the sum of a
    day and the largest backlog since the episode began; the backlog is the sum of size x predicted
    runtime over the waiting jobs, divided by P (`bfenv.baselines.age_guard`). `easy(guard=...)` has
    the same guard.

    Settings express the rules of other schedulers:

    * `reservations=k`: the k oldest waiting jobs have reservations (1 as in EASY, 0 for none, "all"
      for every job), and no head can be named. These jobs are in the first slots.
    * `idle="allowed"`: the pass is legal unless the start of a job with a reservation is. With
      "every_pass", the environment also stops where no start is legal.

    `window_order` may be an expression in what a scheduler may know of a waiting job, such as
    "-(wait + likely_runtime) / likely_runtime". The quantities are those of
    `bfenv.knowledge.user_history.QUANTITIES`. The job with the smallest value comes first, the
    older one of two with the same value; undefined values (NaN) come last, as infinite ones do.

    With `trial_limit`, there are `window` actions more: action `window` + 1 + i starts the job in
    slot i for a trial. If the job has not ended after `trial_limit` seconds, it is killed and waits
    again in its old place, as if it had never run. A job may be tried once, if its estimate is
    above the limit, and if the trial delays no reservation, its own included. Trials do not make
    the pass illegal. A job counts as started for the episode's end when it has ended on trial or
    has started without one.

    With `trial_limit="5min above 35min"`, there are no such actions: a job with an estimate above
    35 min that has had no trial starts for one, and its start is legal if the trial delays no
    reservation. These are the trials of `easy(trial=..., trial_above=...)`. Outages still count
    with the estimate.

    If the workload has outages (`Trace.outages`), all of them are known in advance, as in
    `bfenv.simulate`. An outage takes its processors when it begins. It is not a job: it is in no
    slot, metric or reward. A start is illegal if the job could then, by its estimate, still hold
    processors that an outage needs:

    * A job that would hold too many even if it started alone is set aside until the next pass.
    * The head is the oldest job that is not set aside. With reservations, a job before it that
      could start, but not beside the jobs that run by now, is set aside, too.
    * If a job with a reservation may start now, other starts must leave it what it needs.

    A job that is set aside has no reservation and cannot become the head. If more jobs wait than
    the window has slots, other jobs get slots first. EASY's starts under `bfenv.simulate` are
    always legal.

    The mask of legal actions is `env.unwrapped.action_masks()` (bool, for sb3-contrib) and
    `info["action_mask"]` (int8, for `Discrete.sample`). At least one action is always legal. An
    illegal action raises no error: it counts as the pass, with all that the pass costs, and is
    counted in `info["illegal_actions"]`; `info["illegal_action"]` is True. If an agent passes while
    nothing runs, no job is still to arrive and no outage is to come or to end, it would wait
    forever: the environment then starts the head of the queue, and counts it in
    `info["forced_starts"]`. So every episode ends.

    ## Observation Space

    A `Dict` of three float32 boxes. For libraries that expect vectors, Gymnasium's wrapper
    FlattenObservation puts them in a row; the mask is in the column "legal" of "queue". The tables
    below are version {version}.

    log_time(t) = min(1, log(1 + t) / log(1 + 100 days)), t in seconds: 10 min is 0.40, 10 h is
    0.66, 100 h is 0.80. log_count(n) = min(1, log(1 + n) / log(1 + 10,000)). log_expansion(x) =
    min(1, log10(x) / 4). machine = P.

    "queue", shape (window, {queue_length} or more), one row per slot:

    {queue}

    Behind them stand groups of columns that are constant in some workloads. By default
    (`job_features=None`) each is there if it varies in one of the workloads; a model that is used
    on other workloads needs the groups named, such as `job_features=["users"]`. "users", for logs
    that name users: what is said of runtimes changes only when a job of the user ends. Where
    nothing of a user has ended, or the user is unknown, the estimate stands in for a runtime, and
    the accuracy is 1. The prediction is the mean of the user's last two runtimes, at most the
    estimate:

    {users}

    "priority" and "requested_start", for workloads that have them:

    {others}

    With a guard, there is another column:

    {age}

    With `trial_limit`, the last two columns are these; without actions for trials, the first:

    {trial}

    "cluster", shape ({cluster_length},) or ({cluster_length} + 1,):

    {cluster}

    Where the pass can be legal beside a start (with `idle` other than "never", or with actions for
    trials), the last column is:

    {pass_}

    "profile", shape ({profile_length},): the availability profile, from the running jobs'
    estimates, now and at 31 logarithmically spaced times up to 5 days ahead. Processors that are
    then out of service are not free. Beyond the longest estimate of a workload, columns are 1
    unless there are outages: in the default workload, whose longest is 18 h, the last seven. They
    are there for logs with longer jobs:

    {profile}

    In "queue", "fits" is 0 for jobs that an outage to come keeps from starting now. The end of an
    outage in force counts as an expected end, in the head's reservation and in "next_end".

    Nothing in the observation is derived from the true runtime of a job that has not ended. The
    environment itself holds them, in `env.unwrapped.trace` and `env.unwrapped.batch`, to simulate
    and to score: an agent that reads them there cheats.

    ## Rewards

    Minus the growth, since the last decision (for the first, since the episode began), of a sum
    over the episode's jobs. A waiting job counts with its wait so far. Until a job has ended, its
    estimate stands in for its runtime; the reward after its end corrects that, and the last reward
    settles the jobs that still run. So no reward tells the runtime of a job that has not ended,
    and the sum is still exact.

    * "log_ratio", the default: log(sum of bounded slowdowns max(1, (wait + runtime) / max(runtime,
      10 s)) / EASY's sum). Jobs not yet submitted count with a bounded slowdown of 1. EASY is
      simulated on the same jobs and the same warm machine, once per episode window (conservative
      backfilling, if jobs have requested start times). The rewards add up to minus the value at the
      end: positive if the agent beats EASY. It is what the leaderboard ranks by. What EASY makes of
      the jobs depends on all their runtimes, and the first reward brings it in: an agent that is
      fed past rewards can read this one number.
    * "bounded_slowdown": the sum of bounded slowdowns, divided by the number of jobs. The rewards
      add up to minus the mean in `info["metrics"]`.
    * "wait": the same of the waits, in seconds.

    For any other reward, give a function `reward(before, after) -> float` of two
    `bfenv.envs.reward.Totals`, or `reward(before, after, ended)`, where `ended` are the episode's
    jobs that ended since the last decision (`bfenv.envs.reward.EndedJobs`); or give its name as
    "module:function".

    A step lasts from 0 s to days, 510 s on average, so a discount per step weighs decisions, not
    time. `gamma=1` fits the metric: episodes end. To discount time, as in a semi-Markov decision
    process, use gamma ** (info["dt"] / 510), where `dt` is how many seconds the step lasted.

    ## Starting State

    `episode_jobs` consecutive jobs, drawn by seed from the split; `reset(options={{"first_job":
    j}})` chooses the first of them. The machine is warm: the `warmup_jobs` jobs before them have
    been scheduled by EASY (by conservative backfilling, if jobs have requested start times) from an
    empty machine, around outages. Jobs keep arriving after the episode's, to the end of the split,
    and the agent schedules them, too. With several workloads or loads, one trace is drawn by seed;
    `options={{"trace": k}}` chooses it. All loads of the first workload come first.

    ## Episode End

    The episode terminates when the last of its jobs has started, and is truncated after
    `max_episode_steps` actions. `info["metrics"]`, zeros until then, holds the mean wait and mean
    bounded slowdown of its jobs, their longest wait, the share of actions at which jobs waited
    outside the window ("outside_window"), EASY's mean bounded slowdown and longest wait
    ("reference_..."), and how many jobs had not started ("charged_jobs", 0 if the episode
    terminated).

    Truncation charges the jobs that have not started, in the last reward and in the metrics, as if
    each started at max(now, its submit time, its requested start time) + 2 W / P + E, where W is
    the work, by estimates, of all running and waiting jobs and of the episode's jobs still to come,
    and E the longest estimate among them. For each outage that begins less than E after that time,
    its length and E are added. Any scheduler that leaves no job waiting that may start is faster,
    so truncation never pays. This holds for the wrapper TimeLimit, too, which
    `gymnasium.make(..., max_episode_steps=n)` adds.

    ## Planning

    `env.unwrapped.snapshot()` holds what is known at a decision, without any true runtime of a job
    that has not ended. `env.unwrapped.restore(snapshot, seed)` goes into a future of it, in which
    the runtimes of running and waiting jobs are sampled from the history of their users, no more
    jobs arrive, and outages come as announced; it returns observation and info.
    `env.unwrapped.resume()` goes back to the episode. A copy of the environment itself, by
    `copy_with_foresight()`, `copy.deepcopy` or pickle, continues with the true runtimes: a planner
    that uses it is clairvoyant.

    ## Arguments

    * `workload=None`: name or path for `bfenv.load_workload`, or a `bfenv.Trace`; with a list,
      every episode is taken from one workload drawn by seed. None is the embedded model: for
      split="train" {training} generated traces, "{workload},seed=s" for the seeds {seeds} at each
      of the loads {loads} (or at those of `load`); for the other splits "{workload}", which has
      another seed. So no job that you validate or test on is one of training.
    {settings}

    A wrong argument raises a ValueError (`bfenv.BfenvError`) that names it; an unknown one is a
    TypeError, too.

    `gym.make_vec("Backfill-v0", num_envs=N)` makes N environments that are stepped at once
    (`bfenv.envs.vector`); `bfenv.envs.sb3.BackfillVecEnv` is the same for stable-baselines3.

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
        self._over: EnvBatch | None = None  # the batch whose episode, or future of it, has ended
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
        self.resume()
        super().reset(seed=seed)
        self.batch.generators[0] = self.np_random
        limits = [self.batch.settings["max_episode_steps"], _time_limit(self)]
        self.batch.most_steps = min((each for each in limits if each is not None), default=None)
        buffers = self.batch.new_buffers()
        self.batch.open_episode(0, buffers, options)
        self._over = None
        return self._observation(buffers), self.batch.info(0, buffers)

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
        if self._over is self.batch:
            raise ResetNeeded("the episode is over: reset the environment")
        index = read_action(action)
        if not 0 <= index < self.batch.action_space.n:
            index = -1  # as illegal as any other, and small enough for an array
        self._actions[0] = index
        buffers = self.batch.step(self._actions)
        totals = self.batch.totals_of(0)
        reward = self.batch.reward_of(0, totals)
        terminated, truncated = self.batch.endings(totals)
        if terminated or truncated:
            self._over = self.batch
        info = self.batch.info(0, buffers, totals)
        return self._observation(buffers), reward, terminated, truncated, info

    def render(self) -> Any:
        """Return a screen of text ("ansi") or an (h, w, 3) uint8 image ("rgb_array").

        Raises:
            BfenvError: If the environment was made without a render mode.
            ResetNeeded: Before the first `reset`.
        """
        return render(self)

    def _observation(self, buffers: StepBuffers) -> Observation:
        queue, profile, cluster = buffers[:3]
        return {"queue": queue[0], "profile": profile[0], "cluster": cluster[0]}


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


def _enumeration(values: tuple[float, ...]) -> str:
    return ", ".join(map(str, values[:-1])) + f" and {values[-1]}"


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
        workload=st.WORKLOAD,
        training=len(st.TRAINING_SEEDS) * len(st.TRAINING_LOADS),
        seeds=_enumeration(st.TRAINING_SEEDS),
        loads=_enumeration(st.TRAINING_LOADS),
        settings=st.settings_page().replace("\n", "\n    "),
        queue=_table(ft.QUEUE),
        queue_length=len(ft.QUEUE),
        users=_table(ft.USERS),
        others=_table((*ft.PRIORITY, *ft.REQUESTED_START)),
        age=_table(ft.AGE),
        trial=_table(ft.TRIAL),
        version=ft.VERSION,
        cluster=_table(ft.CLUSTER),
        cluster_length=len(ft.CLUSTER),
        pass_=_table(ft.PASS),
        profile=_table(ft.PROFILE),
        profile_length=len(ft.PROFILE),
    )
