"""Record what a policy or an agent does in Backfill-v0, as a data set of Minari."""

import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

import gymnasium

from bfenv.agents.agent_names import OpenAgent, open_agent
from bfenv.agents.player import play_episode
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.core.arguments import check_integer
from bfenv.core.errors import BfenvError
from bfenv.core.policy import Policy
from bfenv.core.versions import versions
from bfenv.envs.settings import WORKLOAD, EnvSettings
from bfenv.parallel.failures import as_policy_error

FOLDER = "MINARI_DATASETS_PATH"  # the variable in which Minari finds its data sets
DATASET = re.compile(r"[-\w]+(/[-\w]+)*-v\d+")


def record_dataset(
    agent: Any,
    folder: str | os.PathLike[str],
    workload: str | None = None,
    *,
    episodes: int = 100,
    seed: int = 0,
    name: str | None = None,
    done: Callable[[int], None] = lambda count: None,
    **settings: Unpack[EnvSettings],
) -> str:
    """Play episodes and write them as a data set of Minari; return its name.

    `minari.load_dataset` finds it by this name if `MINARI_DATASETS_PATH` is the folder. Its infos
    are those of the environment, so `episode.infos["action_mask"][i]` is the mask of observation i.

    Args:
        agent: A policy, see `bfenv.find_policy`, or what `open_agent` takes, such as "random".
        folder: Folder of data sets; it is made if it does not exist.
        workload: As of `BackfillEnv`; None for its default.
        **settings: As of `BackfillEnv`. `split` is "train" by default.
        episodes, seed: How many; episode k has the seed `seed + k`.
        name: Of the data set; None for a name such as "backfill/lublin-easy-v0".
        done: Called with the number of episodes played, after each.

    Raises:
        BfenvError: If Minari is not installed, the name is not one of a data set or is taken, or a
            setting is wrong.
        PolicyError: If the policy or agent raises anything.
    """
    try:
        import minari
    except ImportError as error:
        raise BfenvError(f"recording needs {error.name}: pip install 'bfenv[minari]'") from error
    check_integer("episodes", episodes, 1)
    check_integer("seed", seed, 0)
    if isinstance(agent, Policy):
        opened = OpenAgent(agent.name, lambda env, one: PolicyAgent(agent, env, one), {}, None)
    else:
        opened = open_agent(agent)
    words = Path((workload or WORKLOAD).partition(":")[0]).name.partition(".swf")[0], opened.name
    plain = "-".join(re.sub(r"\W+", "-", word.removesuffix(".json")).strip("-") for word in words)
    name = name or f"backfill/{plain}-v0"
    if not DATASET.fullmatch(name):
        raise BfenvError(f"{name!r} is no name of a data set, such as backfill/lublin-easy-v0")
    if (path := Path(folder, name)).exists():
        raise BfenvError(f"{path} exists; give the data set another name, or delete it")
    given = {} if workload is None else {"workload": workload}
    env = gymnasium.make("Backfill-v0", **given, **opened.settings_with(settings))
    previous = os.environ.get(FOLDER)
    os.environ[FOLDER] = os.path.abspath(folder)
    try:
        collector = minari.DataCollector(env, record_infos=True)
        # of the environment, which a wrapper hides
        collector.window, collector.action_masks = env.unwrapped.window, env.unwrapped.action_masks
        try:
            for k in range(episodes):
                with as_policy_error(opened.name):
                    play_episode(collector, opened.make(env.unwrapped, seed + k), seed + k)
                done(k + 1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of authors, who add their own names
                collector.create_dataset(
                    name,
                    env.spec,
                    opened.name,
                    description=f"{opened.name} in Backfill-v0, episodes {seed} to "
                    f"{seed + episodes - 1}.",
                    requirements=[f"bfenv=={versions()['bfenv']}"],
                )
        finally:
            collector.close()  # which deletes its temporary files
    finally:
        os.environ.pop(FOLDER)
        os.environ |= {} if previous is None else {FOLDER: previous}
    return name
