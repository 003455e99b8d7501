"""Score an agent on drawn episodes, beside policies on the very same jobs."""

import inspect
from typing import Any, NamedTuple, Unpack

import numpy as np

from bfenv.agents.random import RandomAgent
from bfenv.core.arguments import check_integer
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.episode_source import EpisodeWindow
from bfenv.envs.settings import WORKLOAD, EnvSettings, Workloads
from bfenv.envs.warm_up import Reference

REFERENCES = ("easy", "easy-saf")  # the first is what the others are compared with
STARVES = 2.0  # a longest wait beyond this multiple of EASY's


class EvaluationRow(NamedTuple):
    """How an agent or a policy did on all episodes together."""

    name: str
    mean_bounded_slowdown: float
    longest_wait: float  # seconds
    slowdown_ratio: float  # mean bounded slowdown over EASY's
    wait_ratio: float  # longest wait over EASY's
    starves: bool  # wait_ratio is beyond STARVES, so the mean is bought by starved jobs
    outside_window: float  # share of actions at which jobs waited outside the window; 0 of policies
    illegal_actions: int


def evaluate_agent(
    agent: Any,
    workload: Workloads = WORKLOAD,
    *,
    episodes: int = 16,
    seed: int = 0,
    deterministic: bool = True,
    **settings: Unpack[EnvSettings],
) -> list[EvaluationRow]:
    """Play episodes, and score random actions, EASY and easy-saf on the same jobs.

    Parameters
    ----------
    agent
        An object with the `predict` of stable-baselines3, or a function that makes one from an
        environment. Masks are passed if `predict` takes them.
    workload, settings
        As of `BackfillEnv`; give those that the agent was trained with. `split` is "test" by
        default; `episode_jobs=None` plays all of it.
    episodes, seed
        How many; episode k has the seed `seed + k`.
    deterministic
        Passed to `predict`.

    Returns
    -------
    list[EvaluationRow]
        The agent, "random", then REFERENCES. Policies see every waiting job and need no masks.

    Raises
    ------
    BfenvError
        If a setting is wrong.
    """
    check_integer("episodes", episodes, 1)
    chosen: EnvSettings = {"split": "test", **settings}
    env = BackfillEnv(workload, **chosen)
    seeds = range(seed, seed + episodes)
    player = agent if hasattr(agent, "predict") and not inspect.isclass(agent) else agent(env)
    played = {
        "agent": [_play(env, player, each, deterministic) for each in seeds],
        "random": [_play(env, RandomAgent(env, each), each, False) for each in seeds],
    }
    references: dict[str, tuple[float, float]] = {}
    windows = [_window(env, each) for each in seeds]
    for name in REFERENCES:
        totals = [Reference(name, env.batch.source).totals(window) for window in windows]
        jobs = [window.last - window.first for window in windows]
        means = [t.slowdown / n for t, n in zip(totals, jobs, strict=True)]
        references[name] = float(np.mean(means)), max(t.longest_wait for t in totals)
    rows = []
    for name, infos in played.items():
        metrics = [info["metrics"] for info in infos]
        slowdown = float(np.mean([m["mean_bounded_slowdown"] for m in metrics]))
        longest = max(m["longest_wait"] for m in metrics)
        outside = float(np.mean([m["outside_window"] for m in metrics]))
        illegal = sum(info["illegal_actions"] for info in infos)
        rows.append(_row(name, slowdown, longest, references["easy"], outside, illegal))
    rows += [_row(name, *values, references["easy"]) for name, values in references.items()]
    return rows


def _row(
    name: str,
    slowdown: float,
    longest: float,
    easy: tuple[float, float],
    outside: float = 0.0,
    illegal: int = 0,
) -> EvaluationRow:
    ratio = longest / max(easy[1], 1.0)
    starves = ratio > STARVES
    return EvaluationRow(
        name, slowdown, longest, slowdown / easy[0], ratio, starves, outside, illegal
    )


def _window(env: BackfillEnv, seed: int) -> EpisodeWindow:
    """Return the window of jobs that the seed draws."""
    env.reset(seed=seed)
    window = env.batch.windows[0]
    assert window is not None, "the environment has been reset"
    return window


def _play(env: BackfillEnv, agent: Any, seed: int, deterministic: bool) -> dict[str, Any]:
    """Play one episode; return its last info."""
    parameters = inspect.signature(agent.predict).parameters
    masked = "action_masks" in parameters
    observation, info = env.reset(seed=seed)
    state, over = None, False
    start = np.array([True])
    while not over:
        masks = {"action_masks": env.action_masks()} if masked else {}
        action, state = agent.predict(
            observation, state=state, episode_start=start, deterministic=deterministic, **masks
        )
        observation, _, terminated, truncated, info = env.step(action)
        over, start = terminated or truncated, np.array([False])
    return info
