"""The command `bfenv agents push`."""

from pathlib import Path

import typer

from bfenv.cli import show
from bfenv.cli.options import ForceOption, check_new, check_output_folder, option


def push(
    run: str = typer.Argument(..., metavar="RUN", help="Folder of `bfenv train`, or see above."),
    to: Path = option(..., "DIR", "Folder to write; its name is the agent's."),
    workload: str | None = option(None, "WORKLOAD", "Default: see above.", "--workload", "-w"),
    episodes: int = option(16, "N", "Episodes to score the agent on.", min=1),
    force: ForceOption = False,
) -> None:
    """Write an agent's folder for the Hugging Face Hub.

    DIR gets three files. README.md has the mean reward on the test split and its standard deviation
    as metadata. agent.json opens without running code. replay.mp4 shows the first episode above
    EASY's on the same jobs (pip install "bfenv[judge]"). RUN may also be a card or "agent:NAME".
    The default of --workload is the first on the card that is here, or else the default workload of
    the environment. The command uploads nothing. To upload the folder, run `hf upload USER/NAME
    DIR` of huggingface_hub.

    \b
    Examples:
      bfenv agents push run --to my-scheduler
      bfenv agents push agent:network --to mine -w lublin:jobs=3000 --episodes 4
    """
    from bfenv_judge.hub import write_hub_folder

    check_output_folder(to)
    if to.exists():
        check_new(to / "README.md", force)
    with show.share_done("playing") as watch:
        reward = write_hub_folder(run, to, workload, episodes, watch)
    show.text(f"{to}: mean reward {reward}; to upload it: hf upload USER/{to.name} {to}")
