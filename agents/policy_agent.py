"""PolicyAgent: any policy as an agent with the predict() of stable-baselines3."""

from typing import Any

import numpy as np

from bfenv.baselines.easy import EASY
from bfenv.baselines.easy_pass import takes_trial
from bfenv.baselines.fcfs import FCFS
from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import now
from bfenv.core.errors import PolicyError
from bfenv.core.policy import Policy, new_memory
from bfenv.core.profile import shadow
from bfenv.envs.handle import EnvHandle, PlannedStart, handles_of
from bfenv.parallel.failures import as_policy_error


class PolicyAgent:
    """A policy that acts in Backfill-v0 environments.

    It reads the machine from the environments themselves, not from observations. While no more jobs
    wait than the window has slots, its schedule is that of `bfenv.simulate`. When more wait, the
    policy plans on the jobs in slots, as if no others waited, and plans again after each start,
    which brings another job into a slot. So it misses only the starts of jobs that no slot shows.

    In an environment with `head="chosen"` it chooses a head where the pass is illegal otherwise.

    Parameters
    ----------
    policy
        A policy or its name.
    env
        One environment, or a vector of them in this process, see `bfenv.envs.handles_of`.
    seed
        Random seed (stochastic policies only).

    Raises
    ------
    PolicyError
        If `env` is anything else, if the policy starts jobs for a trial and the environment has no
        such actions (`trial_limit`), or if it must see every pass and the environment does not stop
        at each (`every_pass=True`): a policy with a memory of passes, and one whose starts the
        environment may forbid.

    Examples
    --------
    Play an episode as EASY would.

    >>> import gymnasium
    >>> import bfenv
    >>> env = gymnasium.make("Backfill-v0", episode_jobs=50)
    >>> agent = bfenv.PolicyAgent("easy", env)
    >>> observation, info = env.reset(seed=0)
    >>> over = False
    >>> while not over:
    ...     action, _ = agent.predict(observation)
    ...     observation, reward, terminated, truncated, info = env.step(action)
    ...     over = terminated or truncated
    >>> info["illegal_actions"]
    0
    """

    samples = False  # `deterministic` changes nothing

    def __init__(self, policy: str | Policy, env: Any, seed: int = 0) -> None:
        self.policy = find_policy(policy)
        self.seed = seed
        self.handles = handles_of(env)
        for handle in self.handles:
            if self.policy.trials and handle.batch.settings["trial_limit"] is None:
                raise PolicyError(
                    f"{self.policy.name} starts jobs for a trial: make the environment with the "
                    "trial_limit of the policy"
                )
            if not handle.every_pass and (self.policy.stateful or not self._respects(handle)):
                raise PolicyError(
                    f"{self.policy.name} must see every pass: make the environment with "
                    "every_pass=True"
                )
        count = len(self.handles)
        self._memory: list[Any] = [None] * count
        self._starts: list[list[PlannedStart]] = [[] for _ in range(count)]  # left of this pass
        self._partial = [False] * count  # whether to plan again after these starts
        self._pass_ids: list[tuple[int, int]] = [(-1, -1)] * count

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
        action_masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Any]:
        """Choose the next action in every environment.

        The parameters are those of stable-baselines3.

        Parameters
        ----------
        observation
            Of one environment or of a batch; only its shape is read.
        state
            Is returned unchanged.
        episode_start, action_masks
            Are not read.
        deterministic
            Is not read: a stochastic policy draws from its seed in any case.

        Returns
        -------
        actions : np.ndarray
            One integer, or (num_envs,) int64 for a batch.
        state
            As it was given.

        Raises
        ------
        PolicyError
            If the environment forbids a start or a pass of the policy, or a policy that must see
            every pass cannot see every waiting job, or the policy raises anything.
        """
        actions = np.array([self._act(i, handle) for i, handle in enumerate(self.handles)])
        return (actions if is_batch(observation) else actions[0]), state

    def _respects(self, handle: EnvHandle) -> bool:
        """Tell whether no start of the policy can be illegal, so that none is lost unseen."""
        rules = handle.batch.rules
        guarded = rules.max_age is not None or rules.guard_code is not None
        if self.policy is FCFS or (rules.reservation_depth == 0 and not guarded):
            return True
        return self.policy is EASY and rules.reservation_depth in (0, 1)

    def _act(self, i: int, handle: EnvHandle) -> int:
        if handle.unstarted == 0:
            return handle.window
        if handle.pass_id != self._pass_ids[i] or (self._partial[i] and not self._starts[i]):
            self._plan(i, handle)
        mask = handle.action_masks()
        if self._starts[i]:
            return self._start(handle, mask, self._starts[i].pop(0))
        if mask[handle.window]:
            return handle.window
        return self._choose_head(handle, mask)

    def _plan(self, i: int, handle: EnvHandle) -> None:
        """Let the policy decide on the starts of this pass."""
        trace, beyond = handle.trace, handle.outside > 0
        if handle.pass_id[0] != self._pass_ids[i][0]:  # another episode
            self._memory[i] = self._new_memory(handle)
        if beyond and self.policy.stateful:
            raise PolicyError(
                f"{self.policy.name} must see every waiting job: at {now(handle.cluster)} s of "
                f"{trace.name} {handle.outside} wait outside the window of {handle.window}"
            )
        # A memory of waiting jobs would not hold for those that leave the window unstarted.
        memory = self._new_memory(handle) if beyond else self._memory[i]
        with as_policy_error(self.policy.name):
            starts = handle.starts_of(self.policy, memory)
        self._pass_ids[i] = handle.pass_id
        self._starts[i] = starts[:1] if beyond else starts
        self._partial[i] = beyond and bool(starts)  # a start brings another job into a slot

    def _new_memory(self, handle: EnvHandle) -> Any:
        return new_memory(self.policy, handle.jobs, handle.trace.processors, self.seed)

    def _start(self, handle: EnvHandle, mask: np.ndarray, start: PlannedStart) -> int:
        job, trial = start
        rules = handle.batch.rules
        action = np.flatnonzero(handle.slots == job)
        if rules.first_trial is not None:  # the environment decides which starts are trials
            tries = takes_trial(handle.cluster, handle.jobs, rules.first_trial, job)
            known = trial == (rules.first_trial[0] if tries else 0)
        else:
            action += handle.window + 1 if trial else 0
            known = trial in (0, rules.trial_limit or 0)
        if not known or not len(action) or not mask[action[0]]:
            what = f"starts job {job}" + (f" for a trial of {trial} s" if trial else "")
            raise PolicyError(
                f"{self.policy.name} {what} at {now(handle.cluster)} s of "
                f"{handle.trace.name}, which is illegal in this environment: see its "
                "reservation_depth, age guard and trials"
            )
        return int(action[0])

    def _choose_head(self, handle: EnvHandle, mask: np.ndarray) -> int:
        """Return the slot of a job whose reservation allows no further start."""
        cluster, jobs, slots = handle.cluster, handle.jobs, handle.slots
        startable = handle.startable()
        left = slots[startable]
        first_trial = handle.batch.rules.first_trial
        length = jobs.estimate[left]
        if first_trial is not None:
            tries = [takes_trial(cluster, jobs, first_trial, job) for job in left]
            length = np.where(tries, first_trial[0], length)
        for slot in np.flatnonzero(mask[: handle.window] & ~startable).tolist():
            shadow_time, extra_nodes = shadow(cluster, jobs, slots[slot])
            over = now(cluster) + length <= shadow_time
            if not (over | (jobs.size[left] <= extra_nodes)).any():
                return int(slot)
        raise PolicyError(
            f"{self.policy.name} starts nothing more at {now(cluster)} s of {handle.trace.name}, "
            f"where idle={handle.batch.settings['idle']!r} makes the pass illegal"
        )


def is_batch(observation: Any) -> bool:
    """Tell whether an observation is of several environments."""
    if isinstance(observation, dict):
        return bool(np.ndim(observation["cluster"]) == 2)
    return bool(np.ndim(observation) == 2)
