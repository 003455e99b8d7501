"""The command `bfenv train`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfenv.cli import show
from bfenv.core.errors import BfenvError

if TYPE_CHECKING:
    from bfenv.agents.training import TrainSettings


def train(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the training."),
    ],
    preset: Annotated[
        str,
        typer.Option(
            "--preset", "-p", metavar="PRESET", help="A name, or FILE.yaml, or FILE.yaml:NAME."
        ),
    ] = "scorer",
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; repeat for several."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Actions, over all environments.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="Random seed.")] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Train N times, from --seed on, in FOLDER/seed-K."),
    ] = None,
    algo: Annotated[
        str | None, typer.Option(metavar="ALGO", help="ppo, or maskable-ppo of sb3-contrib.")
    ] = None,
    network: Annotated[
        str | None, typer.Option(metavar="NETWORK", help="scorer or attention.")
    ] = None,
    warm_start: Annotated[
        str | None,
        typer.Option("--warm-start", metavar="POLICY", help="Imitate a policy before training."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="cpu, or cuda for a GPU.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted training.")
    ] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write FOLDER/tensorboard.")
    ] = False,
) -> None:
    """Train a network that schedules.

    The folder gets settings.yaml, progress.csv, checkpoint.npz, and agent.json: the network that
    was best on the validation split so far, which `--agent FOLDER/agent.json` opens. On the CPU a
    training gives the same weights every time, also if it is interrupted and resumed.

    The line on the right is the mean bounded slowdown on validation over EASY's, and the longest
    wait over EASY's.

    \b
    Presets:
      {presets}

    \b
    Examples:
      bfenv train --preset toy --out run
      bfenv train --preset scorer --set environment.window=64 --seeds 5 --out runs
      bfenv train --preset toy --warm-start easy-sjf --set learning_rate=3e-4 --out run
      bfenv train --preset toy --algo maskable-ppo --out run
    """
    from dataclasses import replace

    from bfenv.agents.training.settings import change as changed
    from bfenv.agents.training.settings import find_settings, read_changes

    settings = changed(find_settings(preset), read_changes(change or ()))
    given = {
        "steps": steps,
        "seed": seed,
        "algo": algo,
        "network": network,
        "warm_start": warm_start,
        "device": device,
    }
    settings = changed(settings, {name: v for name, v in given.items() if v is not None})
    if seeds is None:
        _train(settings, out, resume, tensorboard)
        return
    for k in range(settings.seed, settings.seed + seeds):
        _train(replace(settings, seed=k), out / f"seed-{k}", resume, tensorboard)


def _train(settings: "TrainSettings", out: Path, resume: bool, tensorboard: bool) -> None:
    """Train once with a progress bar; print the best score."""
    learner = _learner(settings.algo)
    last: dict[str, Any] = {}
    with show.progress(show.ROWS) as progress:
        bar = progress.add_task("preparing", total=settings.steps, rows="")

        def report(row: dict[str, Any]) -> None:
            last.update(row)
            speed = f"{row['steps_per_second']:,} steps/s"
            progress.update(
                bar, completed=row["steps"], description=speed, rows=_score(row) + "  left"
            )

        agent = learner(settings, out, resume=resume, tensorboard=tensorboard, report=report)
    if not last:
        print(f"{agent}: there is nothing left to train")
        return
    print(
        f"{agent}: {last['best']:.3f} of EASY's mean bounded slowdown on validation at best, "
        f"{_score(last)} at last; {last['steps_per_second']:,} steps/s"
    )


def _score(row: dict[str, Any]) -> str:
    ratio, wait = row["ratio"], row["wait_ratio"]
    return f"{ratio:.3f} of EASY, longest wait {wait:.2f}"


def _learner(algo: str) -> Any:
    try:
        if algo == "ppo":
            from bfenv.agents.training.ppo import train
        else:
            from bfenv.agents.training.maskable_ppo import train
    except ImportError as error:
        raise BfenvError(f"training needs {error.name}: pip install 'bfenv[agents]'") from error
    return train


train.__doc__ = train.__doc__ and train.__doc__.replace(
    "{presets}",
    "\n      ".join(
        (
            "scorer: any job may become the head; 24 traces of the embedded model",
            "attention: the same with jobs that attend to each other; half as fast",
            "imitated: starts as a copy of easy-wfp3",
            "whole-log: one long episode per trace, average rewards",
            "constrained: a penalty on the longest wait grows until no job starves",
            "toy: one small trace, done in seconds",
        )
    ),
)
