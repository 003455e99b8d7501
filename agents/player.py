"""Play with an agent: one episode, or one in each of many environments at once."""

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.envs.backfill import BackfillEnv, read_action
from bfenv.envs.handle import EnvHandle
from bfenv.envs.vector import BackfillVectorEnv

NOTES = ("decisions", "outside_window", "replaced_actions")


class Played(NamedTuple):
    """An episode that an agent has played."""

    info: dict[str, Any]  # the last one, with the metrics
    start: np.ndarray  # (n,) int64 seconds, of the jobs
    seconds: np.ndarray  # (decisions,) float64, how long each took
    replaced_actions: int  # illegal choices of a model without masks, replaced by legal ones

    @property
    def notes(self) -> dict[str, float]:
        """Numbers for the metrics of a row; "outside_window" is the share of the decisions."""
        share = self.info["metrics"]["outside_window"]
        return dict(zip(NOTES, (len(self.seconds), share, self.replaced_actions), strict=True))

    def schedule(self, trace: Trace, name: str, seed: int) -> Schedule:
        """Return the schedule of a trace that was played as one episode."""
        none = np.full(len(trace), -1, dtype=np.int64)  # the environment has no trials
        end = self.start + trace.runtime
        return Schedule(trace, name, seed, self.start, end, none, none.copy())


def play(
    env: BackfillEnv,
    agent: Any,
    seed: int,
    *,
    deterministic: bool = True,
    strict: bool = False,
    options: dict[str, Any] | None = None,
) -> Played:
    """Play one episode, and return when its jobs started.

    * `env`: the environment, which is reset.
    * `agent`, `seed`, `deterministic`, `strict`, `options`: see `play_episode`.

    Raises PolicyError at the first illegal action, with `strict`.
    """
    replaced = getattr(agent, "replaced_actions", 0)
    info, seconds = play_episode(
        env, agent, seed, deterministic=deterministic, strict=strict, options=options
    )
    count = getattr(agent, "replaced_actions", 0) - replaced
    return Played(info, starts_of(env), seconds, count)


def starts_of(env: EnvHandle) -> np.ndarray:
    """Return when the jobs of an episode that is over started, (n,) int64 seconds."""
    jobs = slice(env.episode_jobs.start, env.episode_jobs.stop)
    start: np.ndarray = env.cluster.start[jobs].copy()
    return start


def play_episode(
    env: Any,
    agent: Any,
    seed: int,
    *,
    deterministic: bool = True,
    strict: bool = False,
    options: dict[str, Any] | None = None,
) -> tuple[dict[str, Any], np.ndarray]:
    """Play one episode; return its last info, and how long each decision took, in seconds.

    * `env`: an environment of Gymnasium with `window` and `action_masks`, which is reset.
    * `agent`: an object with the `predict` of stable-baselines3. Masks are passed if `predict`
      takes them.
    * `seed`: of the episode, and of torch's generator, from which models sample actions.
    * `deterministic`: passed to `predict`.
    * `strict`: raise at an illegal action; else it counts as the pass.
    * `options`: of the environment's `reset`.

    Raises PolicyError if an action is not an integer, or an array with one integer, and with
    `strict` at the first illegal action.
    """
    parameters = inspect.signature(agent.predict).parameters.values()
    takes_masks = any(p.name == "action_masks" or p.kind is p.VAR_KEYWORD for p in parameters)
    with _sampling(agent, deterministic, seed):
        seconds, state, is_first, done = [], None, True, False
        observation, info = env.reset(seed=seed, options=options)
        while not done:
            masks = {"action_masks": env.action_masks()} if takes_masks else {}
            begin = time.perf_counter()
            answer = agent.predict(
                observation,
                state=state,
                episode_start=np.array([is_first]),
                deterministic=deterministic,
                **masks,
            )
            seconds.append(time.perf_counter() - begin)
            if not isinstance(answer, tuple) or len(answer) != 2:
                name = type(agent).__name__
                raise PolicyError(
                    f"{name}.predict must return an action and a state, got {answer!r}"
                )
            action, state = answer
            try:
                slot, now = read_action(np.asarray(action)), info["now"]
            except BfenvError as error:  # the agent is at fault, and others go on
                raise PolicyError(str(error)) from None
            observation, _, terminated, truncated, info = env.step(slot)
            if strict:
                check_legal(info, slot, env.window, now)
            done, is_first = terminated or truncated, False
    return info, np.array(seconds)


def check_legal(info: dict[str, Any], slot: int, window: int, now: int) -> None:
    """Check that the last action was legal.

    Raises PolicyError if it was not; the message names the action and the time.
    """
    if info["illegal_action"]:
        action = "the pass" if slot == window else f"slot {slot}"
        raise PolicyError(f"illegal action at {now} s: {action}")


class Totals(NamedTuple):
    """What an agent did in several episodes."""

    starts: list[np.ndarray]  # (n,) int64 seconds, of the jobs of each episode
    decisions: int
    outside_window: float  # at how many of the decisions jobs waited outside the window
    replaced_actions: int  # illegal choices that were replaced by legal ones
    illegal_actions: int  # those that counted as the pass


def play_at_once(
    envs: BackfillVectorEnv,
    agent: Any,
    seeds: Sequence[int],
    options: Sequence[dict[str, Any] | None],
    deterministic: bool,
) -> Totals:
    """Play an episode in each environment, all at the same time.

    * `envs`: with autoreset "disabled".
    * `agent`: an object with the `predict` of stable-baselines3 that takes masks and observations
      of many environments, and remembers nothing.
    * `seeds`, `options`: of the `reset` of each environment; the first seed is also that of torch's
      generator, from which models sample actions.
    * `deterministic`: passed to `predict`.
    """
    count, replaced = envs.num_envs, getattr(agent, "replaced_actions", 0)
    starts: dict[int, np.ndarray] = {}
    decisions, outside, illegal = 0, 0.0, 0
    steps = np.zeros(count, dtype=np.int64)
    with _sampling(agent, deterministic, seeds[0]):
        observation, _ = envs.reset(seed=list(seeds))
        for i, chosen in enumerate(options):
            if chosen:
                only = {"reset_mask": np.arange(count) == i, **chosen}
                observation, _ = envs.reset(seed=list(seeds), options=only)
        mask = envs.action_masks()
        while len(starts) < count:
            actions = mask.argmax(axis=1)
            left = [i for i in range(count) if i not in starts]
            seen = {name: part[left] for name, part in observation.items()}
            actions[left], _ = agent.predict(
                seen, deterministic=deterministic, action_masks=mask[left]
            )
            steps[left] += 1
            observation, _, over, _, infos = envs.step(actions)
            mask = infos["action_mask"].astype(bool)
            for i in np.flatnonzero(over).tolist():
                if i not in starts:
                    starts[i] = starts_of(envs.handles[i])
                    decisions += int(steps[i])
                    outside += float(infos["metrics"]["outside_window"][i]) * int(steps[i])
                    illegal += envs.handles[i].illegal_actions
            if over.any():  # they are played again, to no effect, until all are over
                observation, _ = envs.reset(options={"reset_mask": over})
                mask = envs.action_masks()
    replaced = getattr(agent, "replaced_actions", 0) - replaced
    return Totals([starts[i] for i in range(count)], decisions, outside, replaced, illegal)


def play_in_turn(
    env: BackfillEnv,
    make: Callable[[BackfillEnv, int], Any],
    seeds: Sequence[int],
    options: Sequence[dict[str, Any] | None],
    deterministic: bool,
    done: Callable[[], None] = lambda: None,
) -> Totals:
    """Play episodes one after the other, each with an agent that is made for it.

    * `env`: the environment.
    * `make`: returns an agent for the environment and a seed.
    * `seeds`, `options`: of the environment's `reset` for each episode.
    * `deterministic`: passed to `predict`.
    * `done`: called after each episode.
    """
    episodes = []
    for seed, chosen in zip(seeds, options, strict=True):
        agent = make(env, seed)
        episodes.append(play(env, agent, seed, deterministic=deterministic, options=chosen))
        done()
    return Totals(
        [episode.start for episode in episodes],
        sum(len(episode.seconds) for episode in episodes),
        sum(
            episode.info["metrics"]["outside_window"] * len(episode.seconds) for episode in episodes
        ),
        sum(episode.replaced_actions for episode in episodes),
        sum(episode.info["illegal_actions"] for episode in episodes),
    )


@contextmanager
def _sampling(agent: Any, deterministic: bool, seed: int) -> Iterator[None]:
    """Let a model sample its actions from a seed, and leave torch's own generator as it was."""
    if not getattr(agent, "samples", False) or deterministic:
        yield
        return
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
