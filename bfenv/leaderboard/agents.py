"""Agents found by name, run on a whole trace, and what they do made a Schedule."""

import hashlib
import inspect
import json
import re
import time
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.agents import ALL
from bfenv.core.errors import BfenvError, PolicyError, UnknownNameError
from bfenv.core.jobs import Trace, make_trace
from bfenv.core.schedule import Schedule
from bfenv.envs.backfill import BackfillEnv

# The algorithm that a saved model is of, by the module of its policy class and a hyperparameter.
ALGORITHMS = (
    ("sb3_contrib.common.maskable.", "", "sb3_contrib:MaskablePPO"),
    ("sb3_contrib.common.recurrent.", "", "sb3_contrib:RecurrentPPO"),
    ("sb3_contrib.qrdqn.", "", "sb3_contrib:QRDQN"),
    ("stable_baselines3.dqn.", "", "stable_baselines3:DQN"),
    ("stable_baselines3.common.", "clip_range", "stable_baselines3:PPO"),
    ("stable_baselines3.common.", "", "stable_baselines3:A2C"),
)
OPTIONS = ("window", "reservation_depth", "every_pass")  # of the environment, integers
WORDS = ("window_order", "head", "idle", "max_age")  # others, text


class AgentName(NamedTuple):
    """What an agent's name says."""

    what: str  # a name of agents.ALL, "module:object", or the path of a saved model
    options: dict[str, int | str]  # of BackfillEnv

    @property
    def saved(self) -> bool:
        """Whether it is a saved model, to open which is to run whatever is in it."""
        return self.what.endswith(".zip")


def read_agent(name: str) -> AgentName:
    """What a name like "random", "module:object" or "model.zip:window=32" says.

    The options of the environment that may follow are those of OPTIONS and WORDS.
    Raises BfenvError for another option or a bad value, and for a saved model that is not there.
    """
    if not name:
        raise BfenvError("an agent needs a name; this one is empty")
    what, text = re.fullmatch(r"(.+?)(?::(\w+=.*))?", name, re.DOTALL).groups()
    options = {}
    for item in filter(None, (text or "").split(",")):
        option, _, value = (part.strip() for part in item.partition("="))
        if option in WORDS:
            options[option] = value
            continue
        if option not in OPTIONS:
            known = ", ".join(OPTIONS + WORDS)
            raise BfenvError(f"agent {name}: no option {option!r}; there are {known}")
        if not re.fullmatch(r"-?\d{1,9}", value):
            raise BfenvError(f"agent {name}: {option} is a whole number, not {value!r}")
        options[option] = int(value)
    agent = AgentName(what, options)
    if agent.saved and not Path(what).is_file():
        raise BfenvError(f"no such saved model: {what}")
    return agent


def code_hash(kind: str, name: str) -> str | None:
    """The hash of a saved model's file, or of the source of the module that "module:object" names.

    What is made with other code is another row. None for a policy or an agent of bfenv's own.
    """
    if kind == "agent" and read_agent(name).saved:
        file = Path(read_agent(name).what)
    else:
        module = re.match(r"([^\W\d][\w.]*):[^\W\d]", name)
        file = inspect.getsourcefile(import_module(module[1])) if module else None
    return f"sha256:{hashlib.sha256(Path(file).read_bytes()).hexdigest()}" if file else None


def find_agent(name: str) -> Any:
    """The object that a name of agents.ALL or "module:object" means; no saved model.

    Raises UnknownNameError for a name that nothing has, BfenvError for a module that cannot be
    imported.
    """
    what = read_agent(name).what
    known = ALL
    if what in known:
        return known[what]
    module, colon, attribute = what.partition(":")
    if not colon:
        raise UnknownNameError("agent", what, known)
    try:
        found = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever a module does when it is imported
        raise BfenvError(f"agent {what}: {type(error).__name__}: {error}") from error
    return found


def is_random(name: str) -> bool:
    """Whether a seed may change what the agent does: its `stochastic`, or that it is given one."""
    if read_agent(name).saved:
        return False
    found = find_agent(name)
    return bool(getattr(found, "stochastic", inspect.isclass(found) or callable(found)))


def warm_environment() -> None:
    """Compile what an episode needs, or load what was compiled."""
    env = BackfillEnv(make_trace([0], [1], [1], 1), split="all", episode_jobs=None, warmup_jobs=0)
    env.reset(seed=0)
    env.step(0)


def agent_schedule(trace: Trace, name: str, seed: int) -> tuple[Schedule, np.ndarray]:
    """The schedule an agent makes of a whole trace, and the seconds of each of its decisions.

    The machine is empty at first; there are no other jobs. The agent is an object with the
    predict() of stable-baselines3, given `action_masks` if it takes them and `deterministic=True`;
    anything without a predict is called with the environment and the seed to make one.

    Raises PolicyError at the first action that is illegal.
    """
    agent, env = _agent(trace, name, seed)
    window, masked = env.action_space.n - 1, _takes_masks(agent)
    seconds, state, first = [], None, True
    observation, info = env.reset(seed=seed)
    done = False
    while not done:
        masks = {"action_masks": env.action_masks()} if masked else {}
        begin = time.perf_counter()
        action, state = agent.predict(
            observation,
            state=state,
            episode_start=np.array([first]),
            deterministic=True,
            **masks,
        )
        seconds.append(time.perf_counter() - begin)
        action = int(np.asarray(action).reshape(()))
        now = info["now"]
        observation, _, done, _, info = env.step(action)
        if info["illegal_action"]:
            what = "the pass" if action == window else f"slot {action}"
            raise PolicyError(f"illegal action at {now} s: {what}")
        first = False
    start, nothing = env.cluster.start.copy(), np.full(len(trace), -1)
    schedule = Schedule(trace, name, seed, start, start + trace.runtime, nothing, nothing)
    return schedule, np.array(seconds)


def _agent(trace: Trace, name: str, seed: int) -> tuple[Any, BackfillEnv]:
    """The agent, and the environment that it acts in."""
    whole = {"episode_jobs": None, "warmup_jobs": 0, "split": "all"}
    what, options = read_agent(name)
    if what.endswith(".zip"):
        model = _load(what)
        seen = model.observation_space["queue"].shape[0]
        env = BackfillEnv(trace, **whole, **({"window": seen} | options))
        if env.observation_space != model.observation_space:
            raise BfenvError(f"{what}: was trained on other observations than these")
        return model, env
    found = find_agent(name)
    env = BackfillEnv(trace, **whole, **options)
    if hasattr(found, "predict") and not inspect.isclass(found):
        return found, env
    return found(env, seed), env


def _load(path: str) -> Any:
    """A saved model of stable-baselines3 or sb3-contrib; what is pickled in it is run."""
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
        module = data["policy_class"]["__module__"]
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise BfenvError(f"{path}: no saved model of stable-baselines3") from error
    for prefix, parameter, algorithm in ALGORITHMS:
        if module.startswith(prefix) and (not parameter or parameter in data):
            package, _, kind = algorithm.partition(":")
            break
    else:
        raise BfenvError(f"{path}: a model of {module}, which this does not know how to open")
    import torch

    torch.set_num_threads(1)  # one row, one core
    return getattr(import_module(package), kind).load(path, device="cpu")


def _takes_masks(agent: Any) -> bool:
    parameters = inspect.signature(agent.predict).parameters.values()
    return any(p.name == "action_masks" or p.kind is p.VAR_KEYWORD for p in parameters)
