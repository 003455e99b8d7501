"""The folder of an agent that the Hugging Face Hub expects."""

import json
import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from string import Template

from bfenv.agents.agent_names import SHIPPED
from bfenv.agents.card import MODEL, MODELS, NETWORK, SUFFIX, read_card
from bfenv.agents.seen_jobs import check_unseen
from bfenv.analysis.formatting import duration, ratio, slowdown
from bfenv.analysis.plots.gantt import write_gantt
from bfenv.analysis.plots.gantt_interval import choose_begin
from bfenv.baselines.registry import find_policy
from bfenv.core.durations import DAY
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.simulator import simulate
from bfenv.envs.settings import WORKLOAD
from bfenv.evaluation.episodes import BASE, RANDOM, REFERENCES, evaluate_agent, workload_of
from bfenv.workloads.load import load_workload

AGENT, SETTINGS = "agent.json", "settings.yaml"  # of a folder of `bfenv train`
PICTURE = "beside_easy.png"


def write_hub_folder(
    run: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    workload: str | None = None,
    *,
    episodes: int = 16,
    watch: Callable[[Callable[[], float]], None] = lambda share: None,
) -> str:
    """Write README.md with the scores of an agent, the agent, and a picture of it beside EASY.

    Args:
        run: Folder of `bfenv train`, the card of a network or policy (.json), or "agent:NAME".
        folder: Where the files go; it is made if it does not exist. Its name is the agent's.
        workload: On whose test split the agent is scored; None for the first on its card.
        episodes, watch: As of `evaluate_agent`.

    Returns:
        The mean reward and its standard deviation, as the Hub shows them.

    Raises:
        BfenvError: If there is no such agent, it is a saved model, whose file may run code, it was
            trained on jobs of the test split, or a file cannot be written.
    """
    folder, path = Path(folder), Path(run)
    name = str(path / AGENT if path.is_dir() else run).removeprefix(SHIPPED)
    if name.endswith(".zip") or (card := read_card(name)).kind == MODEL:
        raise BfenvError(f"{name}: opening a saved model runs code; share it with huggingface_sb3")
    agent, is_network = SHIPPED + name, card.kind == NETWORK
    workload = workload or workload_of(agent) or WORKLOAD
    trace = load_workload(workload, split="test")
    check_unseen(agent, card.seen_jobs, trace)
    rows = evaluate_agent(
        agent if is_network else RANDOM,
        workload,
        episodes=episodes,
        watch=watch,
        references=REFERENCES if is_network else (*REFERENCES, agent),
        split="test",
    )
    rows.sort(key=lambda row: row.policy != agent)
    schedules = [simulate(trace, find_policy(policy)) for policy in (agent, BASE)]
    folder.mkdir(parents=True, exist_ok=True)
    write_gantt(schedules, folder / PICTURE, choose_begin(schedules, DAY), DAY)
    source = Path(name) if name.endswith(SUFFIX) else MODELS.joinpath(name + SUFFIX)
    write_atomically(folder / AGENT, source.read_bytes())
    if (made := Path(name).with_name(SETTINGS)).is_file():
        write_atomically(folder / SETTINGS, made.read_bytes())
    rewards, lines = [], []
    for row in rows:
        own = row.metrics
        rewards.append(f"{own['mean_reward']:.2f} +/- {own['reward_deviation']:.2f}")
        cells = slowdown(own["mean_bounded_slowdown"]), ratio(own["slowdown_ratio"])
        cells += duration(own["mean_wait"]), ratio(own["longest_wait_ratio"])
        title = row.policy if lines else folder.name
        lines.append(f"| {' | '.join((title, rewards[-1], *cells))} |")
    text = Template(files("bfenv.evaluation").joinpath("hub.md").read_text("utf-8")).substitute(
        vars(card),
        title=json.dumps(folder.name),
        dataset=json.dumps(f"Backfill-v0, {workload}"),
        reward=json.dumps(rewards[0]),
        ratio=f"{rows[0].metrics['slowdown_ratio']:.4g}",
        name=folder.name,
        what=f"{card.what[:1].upper()}{card.what[1:].rstrip('.')}.",
        picture=PICTURE,
        episodes=episodes,
        each=rows[0].jobs // episodes,
        workload=workload,
        table="\n".join(lines),
        failures="".join(f"{failure}\n\n" for failure in card.failures),
        agent=AGENT,
        option="--agent " if is_network else f"--policy {SHIPPED}",
        command=card.found.get("command", "unknown"),
        trained_on="\n".join(f"* {line}" for line in card.training_lines()),
        folder=folder,
    )
    write_atomically(folder / "README.md", text.encode())
    return rewards[0]
