"""The command `bfenv agents push`."""

from pathlib import Path

import typer

from bfenv.cli import show
from bfenv.cli.options import ForceOption, check_new, check_output_folder, option


def push(
    run: str = typer.Argument(
        ..., metavar="RUN", help="Folder of `bfenv train`, a card (.json), or agent:NAME."
    ),
    to: Path = option(..., "DIR", "Folder to write; its name is the agent's."),
    workload: str | None = option(
        None, "WORKLOAD", "[default: the first on the agent's card]", "--workload", "-w"
    ),
    episodes: int = option(16, "N", "Episodes to score the agent on.", min=1),
    force: ForceOption = False,
) -> None:
    """Write the folder of an agent for the Hugging Face Hub.

    DIR gets README.md, whose metadata has the mean reward on the test split with its standard
    deviation; agent.json, which opens without running code; the settings of the training; and
    beside_easy.png, the day in which it differs most from EASY (pip install 'bfenv[plot]'). Nothing
    is uploaded: `hf upload USER/NAME DIR` of huggingface_hub does that.

    \b
    Examples:
      bfenv agents push run --to my-scheduler
      bfenv agents push agent:scorer-lublin --to scorer -w lublin:jobs=3000 --episodes 4
    """
    from bfenv.evaluation.hub import write_hub_folder

    check_output_folder(to)
    if to.exists():
        check_new(to / "README.md", force)
    with show.share_done("playing") as watch:
        reward = write_hub_folder(run, to, workload, episodes=episodes, watch=watch)
    print(f"{to}: mean reward {reward}; to upload it: hf upload USER/{to.name} {to}")
