"""The folder of an agent that the Hugging Face Hub expects."""

import shlex
from functools import partial
from importlib.resources import files
from pathlib import Path
from string import Template

from bfenv.agents.card import MODEL, MODELS, NETWORK, SHIPPED, SUFFIX, read_card
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.agents.seen_jobs import check_unseen
from bfenv.analysis.formatting import duration, ratio, slowdown
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.policy import Watch
from bfenv.envs.episode_source import default_workload
from bfenv.evaluation.agent_scores import REFERENCES, evaluate_agent, workload_of
from bfenv.evaluation.cases import short_length
from bfenv.evaluation.episodes import DEFAULT, RANDOM
from bfenv.evaluation.replay import draw_replay, make_video
from bfenv.evaluation.summary import REFERENCE
from bfenv.workloads.load import load_workload

FRAMES = 200  # of the video


def write_hub_folder(
    run: str, folder: Path, workload: str | None, episodes: int, watch: Watch
) -> str:
    """Write README.md with the scores of an agent, the agent, and a video of it beside EASY.

    * `run`: folder of `bfenv train`, a file with a network or a card, or "agent:NAME".
    * `folder`: is made if it does not exist; its name is the agent's.
    * `workload`: on whose test split the agent is scored; None for the first on its card, or the
      default workload of the environment if none on the card is here.
    * `episodes`, `watch`: as of `evaluate_agent`.

    Returns the mean reward and its standard deviation, as the Hub shows them.

    Raises BfenvError if there is no such agent, it is a saved model, whose file may run code, it
    was trained on jobs of the test split, Pillow or ffmpeg is missing, or a file cannot be written.
    """
    name = str(Path(run, "agent.json") if Path(run).is_dir() else run).removeprefix(SHIPPED)
    if name.endswith(".zip") or (card := read_card(name)).kind == MODEL:
        raise BfenvError(f"{name}: opening a saved model runs code; share it with huggingface_sb3")
    agent, is_network = SHIPPED + name, card.kind == NETWORK
    workload = workload or workload_of(agent)
    split = {"split": "test"} if workload else {}  # the default workload has other seeds instead
    for jobs in [workload] if workload else default_workload("test"):
        check_unseen(agent, card.seen_jobs, load_workload(jobs, **split), source=jobs)
    length = short_length(load_workload(workload) if workload else None, "test")
    sides = agent if is_network else partial(PolicyAgent, agent), partial(PolicyAgent, REFERENCE)
    free = {} if is_network else {"reservations": 0}
    titled = dict(zip((folder.name, "EASY"), sides, strict=True))
    episode = {"split": "test", "episode_jobs": length}
    video = make_video(draw_replay(titled, 0, FRAMES, workload, **episode, **free))
    player, added = (agent, ()) if is_network else (RANDOM, (agent,))
    references = (*REFERENCES, *added)
    rows = evaluate_agent(
        player, workload, episodes=episodes, references=references, watch=watch, episode_jobs=length
    )
    rows.sort(key=lambda row: row.policy != agent)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "replay.mp4", video)
    source = Path(name) if name.endswith(SUFFIX) else MODELS.joinpath(name + SUFFIX)
    write_atomically(folder / "agent.json", source.read_bytes())
    lines: list[str] = []
    rewards: list[str] = []
    for row in rows:
        metrics, title = row.metrics, row.policy if lines else folder.name
        reward = f"{metrics['mean_reward']:.2f} +/- {metrics['reward_deviation']:.2f}"
        rewards.append(reward)
        cells = [
            reward,
            slowdown(metrics["mean_bounded_slowdown"]),
            ratio(metrics["relative_slowdown"]),
        ]
        cells += [duration(metrics["mean_wait"]), ratio(metrics["longest_wait_ratio"])]
        lines.append(f"| {' | '.join((title, *cells))} |")
    beside = "" if workload else "--agent random "  # without an agent, policies play no episodes
    values = vars(card) | {
        "name": folder.name,
        "workload": f"`{workload}`" if workload else DEFAULT,
        "dataset": f"{DEFAULT}, {workload}" if workload else DEFAULT,
        "given": f"--workload {shlex.quote(workload)} " if workload else "",
        "episodes": episodes,
        "each": rows[0].jobs // episodes,
        "reward": rewards[0],
        "table": "\n".join(lines),
        "ratio": f"{rows[0].metrics['relative_slowdown']:.4g}",
        "what": f"{card.what[:1].upper()}{card.what[1:].rstrip('.')}.",
        "failures": "".join(f"{failure}\n\n" for failure in card.failures),
        "option": "--agent " if is_network else f"{beside}--policy {SHIPPED}",
        "command": card.found.get("command", "unknown"),
        "jobs": "\n".join(f"* {line}" for line in card.training_lines()),
    }
    page = files("bfenv_judge").joinpath("hub.md").read_text("utf-8")
    write_atomically(folder / "README.md", Template(page).substitute(values).encode())
    return rewards[0]
