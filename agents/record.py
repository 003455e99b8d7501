"""Record what a policy or an agent does in Backfill-v0, as a data set of Minari."""

import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

import gymnasium

import bfenv.envs.batch_state as at
from bfenv.agents.agent_names import open_agent
from bfenv.agents.player import play_episode
from bfenv.core.errors import BfenvError
from bfenv.core.policy import Policy
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import MODEL, EnvSettings
from bfenv.parallel.failures import as_policy_error


class NotedEnv(BackfillEnv):
    """Notes actions where the environment would stop without a `PolicyAgent`, which sees more."""

    actions: list[int]

    def step(self, action: Any) -> Any:
        """Note an action and take it."""
        starts = self._counter(at.LEGAL_STARTS)
        if starts or self.batch.settings["idle"] == "every_pass":
            self.actions.append(int(action))
        return super().step(action)


def record_dataset(
    agent: Any,
    folder: Path,
    workload: str | None = None,
    episodes: int = 100,
    name: str | None = None,
    done: Callable[[], None] = lambda: None,
    **settings: Unpack[EnvSettings],
) -> str:
    """Play episodes with the seeds 0, 1, ... into a data set of Minari; return its name.

    The function sets MINARI_DATASETS_PATH, where `minari.load_dataset` looks. An episode keeps the
    infos of the environment: the mask of observation i is `episode.infos["action_mask"][i]`.

    * `agent`: a policy, see `bfenv.find_policy`, or what `open_agent` takes, such as "random".
    * `folder`: of data sets; it is made if it does not exist.
    * `workload`, `settings`: as of `BackfillEnv`; a workload of None is the default.
    * `name`: of the data set; None for a name such as "backfill/lublin-easy-v0".
    * `done`: called after each episode.

    Raises BfenvError if Minari is not installed, the name is not one of a data set or is taken, a
    setting is wrong, or the agent raises anything.
    """
    try:
        import minari
    except ImportError as error:
        raise BfenvError(f"recording needs {error.name}: pip install 'bfenv[minari]'") from error
    opened = open_agent(agent)
    title = agent.name if isinstance(agent, Policy) else opened.name
    log = Path((workload or MODEL).partition(":")[0]).name.partition(".swf")[0]
    plain = re.sub("[^-0-9A-Za-z]+", "-", f"{log}-{title}").strip("-")
    name = name or f"backfill/{plain}-v0"
    if not re.fullmatch(r"([-\w]+/)*[-\w]+-v\d+", name):
        raise BfenvError(f"{name!r} is no name of a data set, such as backfill/lublin-easy-v0")
    if (path := Path(folder, name)).exists():
        raise BfenvError(f"{path} exists; give the data set another name, or delete it")
    keywords: dict[str, Any] = {"workload": workload, **opened.settings_with(settings)}
    noting_env, env = NotedEnv(**keywords), gymnasium.make("Backfill-v0", **keywords)
    os.environ["MINARI_DATASETS_PATH"] = os.path.abspath(folder)
    with (
        minari.DataCollector(env, record_infos=True) as collector,
        warnings.catch_warnings(action="ignore", category=UserWarning),  # no author
    ):
        for seed in range(episodes):
            noting_env.actions = []
            with as_policy_error(opened.name):
                play_episode(noting_env, opened.make(noting_env, seed), seed)
            collector.reset(seed=seed)
            for action in noting_env.actions:
                collector.step(action)
            done()
        collector.create_dataset(name, env.spec, title)
    return name
