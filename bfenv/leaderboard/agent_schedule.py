"""The schedule that an agent makes of a whole trace, in one episode of the environment."""

import inspect
import time
from typing import Any

import numpy as np

from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Trace, make_trace
from bfenv.core.schedule import Schedule
from bfenv.envs.backfill import BackfillEnv
from bfenv.leaderboard.agents import WHOLE_TRACE, find_agent, read_agent
from bfenv.leaderboard.saved_model import load_model


def agent_schedule(trace: Trace, name: str, seed: int) -> tuple[Schedule, np.ndarray]:
    """Run an agent on a whole trace, from an empty machine.

    The agent is an object with the `predict` of stable-baselines3. It is called with
    `deterministic=True`, and with `action_masks` if it takes them. An object without `predict` is
    called with the environment and the seed, and returns the agent.

    Parameters
    ----------
    trace
        The jobs; there are no others.
    name
        See `read_agent`.
    seed
        For the environment, and for agents that take one.

    Returns
    -------
    tuple
        The schedule, and the seconds that each decision took, (decisions,) float64.

    Raises
    ------
    PolicyError
        At the first illegal action.
    BfenvError
        If there is no such agent, or a saved model does not fit the environment.
    """
    agent, env = _open_agent(trace, name, seed)
    takes_masks = _takes_masks(agent)
    seconds, state, is_first = [], None, True
    observation, info = env.reset(seed=seed)
    done = False
    while not done:
        masks = {"action_masks": env.action_masks()} if takes_masks else {}
        begin = time.perf_counter()
        action, state = agent.predict(
            observation,
            state=state,
            episode_start=np.array([is_first]),
            deterministic=True,
            **masks,
        )
        seconds.append(time.perf_counter() - begin)
        slot = int(np.asarray(action).reshape(()))
        now = info["now"]
        observation, _, done, _, info = env.step(slot)
        if info["illegal_action"]:
            what = "the pass" if slot == env.window else f"slot {slot}"
            raise PolicyError(f"illegal action at {now} s: {what}")
        is_first = False
    start, no_trials = env.cluster.start.copy(), np.full(len(trace), -1)
    schedule = Schedule(trace, name, seed, start, start + trace.runtime, no_trials, no_trials)
    return schedule, np.array(seconds)


def warm_environment() -> None:
    """Compile what an episode needs, or load its compiled code."""
    env = BackfillEnv(make_trace([0], [1], [1], 1), **WHOLE_TRACE)
    env.reset(seed=0)
    env.step(0)


def _open_agent(trace: Trace, name: str, seed: int) -> tuple[Any, BackfillEnv]:
    """Return the agent and the environment that it acts in."""
    agent_name = read_agent(name)
    if agent_name.is_saved:
        model = load_model(agent_name.base)
        window = model.observation_space["queue"].shape[0]
        env = BackfillEnv(trace, **WHOLE_TRACE, **({"window": window} | agent_name.options))
        if env.observation_space != model.observation_space:
            raise BfenvError(f"{agent_name.base}: was trained on other observations than these")
        return model, env
    agent = find_agent(name)
    env = BackfillEnv(trace, **WHOLE_TRACE, **agent_name.options)
    is_factory = inspect.isclass(agent) or not hasattr(agent, "predict")
    return (agent(env, seed) if is_factory else agent), env


def _takes_masks(agent: Any) -> bool:
    parameters = inspect.signature(agent.predict).parameters.values()
    return any(p.name == "action_masks" or p.kind is p.VAR_KEYWORD for p in parameters)
