"""The command `bfenv train`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfenv.cli import show
from bfenv.cli.options import check_output_folder
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
            "--preset", "-p", metavar="PRESET", help="Name, FILE.yaml or FILE.yaml:NAME; see above."
        ),
    ] = "scorer",
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; repeat for several."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of actions, in all environments together."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="Random seed.")] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Train with N seeds, from --seed on, in FOLDER/seed-K."
        ),
    ] = None,
    algo: Annotated[
        str | None, typer.Option(metavar="ALGO", help="ppo, or maskable-ppo of sb3-contrib.")
    ] = None,
    network: Annotated[
        str | None, typer.Option(metavar="NETWORK", help="scorer, attention or ranker.")
    ] = None,
    warm_start: Annotated[
        str | None,
        typer.Option("--warm-start", metavar="POLICY", help="Imitate this policy before training."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="cpu, or cuda for a GPU.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the training in the folder, if there is one.")
    ] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write FOLDER/tensorboard for TensorBoard.")
    ] = False,
) -> None:
    """Train a network that schedules.

    The folder contains settings.yaml, progress.csv, checkpoint.npz, and agent.json, the best
    network so far on the validation split. Score it with `bfenv evaluate --agent
    FOLDER/agent.json`. On the CPU, the same settings give the same weights, even if the training is
    interrupted and resumed.

    The progress bar shows the mean bounded slowdown and the longest wait on validation, both
    divided by EASY's.

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

    check_output_folder(out)
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
    if out.exists() and any(not each.name.startswith("seed-") for each in out.iterdir()):
        raise BfenvError(f"{out} holds other things than seeds: choose another folder")
    for k in range(settings.seed, settings.seed + seeds):
        _train(replace(settings, seed=k), out / f"seed-{k}", resume, tensorboard)


def _train(settings: "TrainSettings", out: Path, resume: bool, tensorboard: bool) -> None:
    """Train once with a progress bar; print the best score."""
    learner = _learner(settings.algo)
    last: dict[str, Any] = {}
    with show.progress("rows") as progress:
        bar = progress.add_task("preparing", total=settings.steps, rows="")

        def report(row: dict[str, Any]) -> None:
            last.update(row)
            speed = f"{row['steps_per_second']:,} steps/s"
            progress.update(
                bar, completed=row["steps"], description=speed, rows=_score(row) + "  left"
            )

        try:
            agent = learner(settings, out, resume=resume, tensorboard=tensorboard, report=report)
        except KeyboardInterrupt:
            _say_how_to_go_on(out)
            raise
    if not last:
        print(f"{agent}: this training is complete")
        return
    print(
        f"{agent}: mean bounded slowdown on validation {last['best']:.3f} of EASY's; "
        f"after the last step {_score(last)} of EASY's; {last['steps_per_second']:,} steps/s"
    )


def _say_how_to_go_on(out: Path) -> None:
    """Say what --resume would do after a training was stopped."""
    if (out / "checkpoint.npz").is_file():
        then = "with --resume, the same command goes on from the last checkpoint"
    else:
        then = "no checkpoint yet: with --resume, the same command begins again"
    show.lines([f"{out}: {then}"], sys.stderr)


def _score(row: dict[str, Any]) -> str:
    ratio, wait = row["ratio"], row["wait_ratio"]
    return f"slowdown {ratio:.3f}, longest wait {wait:.2f}"


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
            "scorer: 24 traces of the embedded model; any job may become the head",
            "attention: as scorer, with attention between jobs; half as fast",
            "imitated: as scorer, but starts as a copy of easy-wfp3",
            "whole-log: as scorer, with one long episode per trace and average rewards",
            "constrained: as scorer, with a growing penalty on the longest wait",
            "archive: five real logs; starts as a copy of an order of jobs",
            "archive-trials: as archive, and starts are trials by a rule",
            "toy: one small trace, done in seconds",
        )
    ),
)
