"""The folder of an agent that the Hugging Face Hub expects."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bfenv.agents.agent_names import open_agent
from bfenv.agents.card import MODEL, MODELS, NETWORK, SUFFIX, Card, read_card
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.agents.replay import write_replay
from bfenv.analysis.formatting import duration, ratio, slowdown
from bfenv.baselines.registry import find_policy
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.names import parse_name
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import WORKLOAD, EnvSettings
from bfenv.evaluation.episodes import evaluate_agent, workload_of
from bfenv.evaluation.row import Row

AGENT, SETTINGS = "agent.json", "settings.yaml"  # of a folder of `bfenv train`
REPLAY, REPLAY_JOBS = "replay.gif", 48
README = """\
---
library_name: bfenv
pipeline_tag: reinforcement-learning
tags: [reinforcement-learning, Backfill-v0, scheduling, hpc, bfenv]
model-index:
- name: {title}
  results:
  - task: {{type: reinforcement-learning, name: reinforcement-learning}}
    dataset: {{type: Backfill-v0, name: {dataset}, split: test}}
    metrics:
    - {{type: mean_reward, name: mean_reward, value: {reward}, verified: false}}
    - {{type: slowdown_ratio, name: mean bounded slowdown over that of EASY, value: {ratio}}}
---

# {name}

{what} Division: {division}.

![The agent above, EASY below, on the same {jobs} jobs]({replay})

## Scores

{episodes} episodes of {each} jobs of the test split of `{workload}`. The reward of an episode is the logarithm of EASY's
mean bounded slowdown over the agent's, so above 0 is better than EASY.

| | mean reward | bounded slowdown | to EASY | mean wait | longest wait, to EASY |
|---|--:|--:|--:|--:|--:|
{table}

{failures}## Use

`{agent}` is JSON; opening it runs no code.

```text
pip install bfenv
hf download USER/{name} {agent} --local-dir .
bfenv evaluate {option}{agent} --workload {workload}
```

## Training

```text
{command}
```

The training saw these jobs:

{trained_on}

Written by `bfenv agents push`. To upload this folder: `hf upload USER/{name} {folder}`
"""


def write_hub_folder(
    run: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    workload: str | None = None,
    *,
    episodes: int = 16,
    seed: int = 0,
    watch: Callable[[Callable[[], float]], None] = lambda share: None,
) -> Row:
    """Write README.md with the scores of an agent, the agent, and an animation of it beside EASY.

    Args:
        run: Folder of `bfenv train`, the card of a network or policy (.json), or the name of an
            agent that bfenv comes with.
        folder: Where the files go; it is made if it does not exist. Its name is the agent's.
        workload: On whose test split the agent is scored; None for the first on its card.
        episodes, seed, watch: As of `evaluate_agent`.

    Returns:
        The agent's row.

    Raises:
        BfenvError: If there is no such agent, it is a saved model, whose file may run code, it was
            trained on jobs of the test split, or a file cannot be written.
    """
    folder, path = Path(folder), Path(run)
    path = path / AGENT if path.is_dir() else path
    if path.suffix == ".zip":
        raise BfenvError(f"{path}: opening a saved model runs code; share it with huggingface_sb3")
    if path.suffix == SUFFIX and not path.is_file():
        raise BfenvError(f"{path}: no such file; name a folder of `bfenv train`, or a card")
    name = str(path).removeprefix("agent:")
    card = read_card(name)
    agent, settings = _agent_of(name, card)
    where = workload or workload_of(name if path.is_file() else f"agent:{name}") or WORKLOAD
    rows = evaluate_agent(
        agent, where, episodes=episodes, seed=seed, watch=watch, split="test", **settings
    )
    opened = open_agent(agent)
    sides = {}
    shown: Any = {"split": "test", "episode_jobs": REPLAY_JOBS, "render_mode": "rgb_array"}
    for title, make in ((folder.name, opened.make), ("EASY", lambda e, s: PolicyAgent("easy", e))):
        env = BackfillEnv(where, **opened.settings_with({**shown, **settings}))
        sides[title] = env, make(env, seed)
    folder.mkdir(parents=True, exist_ok=True)
    write_replay(folder / REPLAY, sides, seed)
    source = MODELS.joinpath(name + SUFFIX) if not path.is_file() else path
    write_atomically(folder / AGENT, source.read_bytes())
    if (beside := path.with_name(SETTINGS)).is_file():
        write_atomically(folder / SETTINGS, beside.read_bytes())
    write_atomically(folder / "README.md", _readme(folder, card, where, episodes, rows).encode())
    return rows[0]


def _agent_of(name: str, card: Card) -> tuple[Any, EnvSettings]:
    """Return what `open_agent` takes, and the settings that the environment needs beyond those."""
    if card.kind == MODEL:
        raise BfenvError(f"{name}: is the card of a model; share it with huggingface_sb3")
    if card.kind == NETWORK:
        return (name if name.endswith(SUFFIX) else f"agent:{name}"), {}
    policy = find_policy(card.policy)

    def make(env: Any, seed: int) -> PolicyAgent:
        return PolicyAgent(policy, env, seed)

    make.trained_on = card.seen_jobs  # type: ignore[attr-defined]
    # under which no start of the policy is illegal
    settings: EnvSettings = {"reservations": 0, "guard": None}
    if policy.trials:
        settings["trial_limit"] = parse_name(card.policy).options["trial"]
    return make, settings


def _readme(folder: Path, card: Card, workload: str, episodes: int, rows: Sequence[Row]) -> str:
    lines, rewards = [], []
    for row in rows:
        own = row.metrics
        rewards.append(f"{own['mean_reward']:.2f} +/- {own['reward_deviation']:.2f}")
        cells = (
            folder.name if row is rows[0] else row.policy,
            rewards[-1],
            slowdown(own["mean_bounded_slowdown"]),
            ratio(own["slowdown_ratio"]),
            duration(own["mean_wait"]),
            ratio(own["longest_wait_ratio"]),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return README.format(
        title=json.dumps(folder.name),
        dataset=json.dumps(f"Backfill-v0, {workload}"),
        reward=json.dumps(rewards[0]),
        ratio=f"{rows[0].metrics['slowdown_ratio']:.4g}",
        name=folder.name,
        what=f"{card.what[:1].upper()}{card.what[1:].rstrip('.')}.",
        division=card.division,
        jobs=REPLAY_JOBS,
        replay=REPLAY,
        episodes=episodes,
        each=rows[0].jobs // episodes,
        workload=workload,
        table="\n".join(lines),
        failures="".join(f"{failure}\n\n" for failure in card.failures),
        agent=AGENT,
        option="--agent " if card.kind == NETWORK else "--policy agent:",
        command=card.found.get("command", "unknown"),
        trained_on="\n".join(f"* {line}" for line in card.training_lines()),
        folder=folder,
    )
