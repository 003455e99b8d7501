"""The command `bfenv agents push`."""

from pathlib import Path

import typer

from bfenv.cli import show
from bfenv.cli.options import ForceOption, check_output_folder, option
from bfenv.core.errors import BfenvError


def push(
    run: str = typer.Argument(
        ..., metavar="RUN", help="Folder of `bfenv train`, a card (.json), or agent:NAME."
    ),
    to: Path = option(..., "DIR", "Folder to write; its name is the agent's."),
    workload: str | None = option(
        None, "WORKLOAD", "Score on its test split.  [default: the first on the agent's card]",
        "--workload", "-w",
    ),
    episodes: int = option(16, "N", "Episodes to score the agent on.", min=1),
    force: ForceOption = False,
) -> None:  # fmt: skip
    """Write the folder of an agent for the Hugging Face Hub.

    DIR gets README.md, whose metadata has the mean reward on the test split and its standard
    deviation; agent.json, which opens without running code; the settings of the training; and
    replay.gif, the agent beside EASY (Pillow: pip install 'bfenv[render]'). Nothing is uploaded:
    `hf upload USER/NAME DIR` of huggingface_hub does that.

    \b
    Examples:
      bfenv agents push run --to my-scheduler
      bfenv agents push agent:scorer-lublin --to scorer --workload lublin:jobs=3000 --episodes 4
    """
    from bfenv.evaluation.hub import write_hub_folder

    check_output_folder(to)
    if (to / "README.md").exists() and not force:
        raise BfenvError(f"{to}: has a README.md; use --force to overwrite its files")
    with show.share_done("playing") as watch:
        row = write_hub_folder(run, to, workload, episodes=episodes, watch=watch)
    reward, deviation = row.metrics["mean_reward"], row.metrics["reward_deviation"]
    print(f"{to}: mean reward {reward:.2f} +/- {deviation:.2f}; hf upload USER/{to.name} {to}")
