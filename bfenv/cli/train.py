"""The command `bfenv train`."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bfenv.cli import show
from bfenv.cli.options import check_output_folder, option
from bfenv.core.errors import BfenvError

if TYPE_CHECKING:
    from bfenv.agents.training import TrainSettings


def train(
    out: Path = option(..., "FOLDER", "Folder of the training.", "--out", "-o"),
    preset: str = option(
        "evolved", "PRESET", "Name, FILE.yaml or FILE.yaml:NAME; see above.", "--preset", "-p"
    ),
    change: list[str] | None = option(
        None, "NAME=VALUE", "Change a setting; repeat for several.", "--set"
    ),
    steps: int | None = option(
        None, "N", "Number of actions of ppo, in all environments together.", min=1
    ),
    seed: int | None = option(None, "N", "Random seed.", min=0),
    seeds: int | None = option(
        None, "N", "Train with N seeds, from --seed on, in FOLDER/seed-K.", min=1
    ),
    algo: str | None = option(None, "ALGO", "ppo, or es: evolution of a small score."),
    network: str | None = option(None, "NETWORK", "scorer or ranker."),
    warm_start: str | None = option(None, "order:FORMULA", "Imitate this order before training."),
    device: str | None = option(None, "DEVICE", "cpu, or cuda for a GPU."),
    resume: bool = typer.Option(
        False, "--resume", help="Continue the training in the folder, if there is one."
    ),
    tensorboard: bool = typer.Option(
        False, "--tensorboard", help="Also write FOLDER/tensorboard for TensorBoard."
    ),
) -> None:
    """Train an agent: a small score by evolution, or a network by PPO.

    The folder contains settings.yaml, progress.csv, what --resume needs, and agent.json, the best
    agent so far on the validation split. Score a network with `bfenv evaluate --agent
    FOLDER/agent.json`, and a score, which is a policy, with `--policy agent:FOLDER/agent.json`. On
    the CPU, the same settings give the same agent, even if the training is interrupted and resumed.

    The progress bar shows the mean bounded slowdown and the longest wait on validation, both
    divided by EASY's. An agent whose longest wait is at most 1.8 times EASY's is preferred to any
    other.

    \b
    Presets:
      {presets}

    \b
    Examples:
      bfenv train --seeds 3 --out runs
      bfenv train --preset toy --out run
      bfenv train --preset scorer --set environment.window=64 --seeds 5 --out runs
      bfenv train --preset toy --warm-start order:estimate --set learning_rate=3e-4 --out run
      bfenv train --preset toy --algo es --out run
    """
    from dataclasses import replace

    _check_installed(algo or "")
    from bfenv.agents.training.settings import change as changed
    from bfenv.agents.training.settings import find_settings, read_changes

    check_output_folder(out)
    settings = changed(find_settings(preset), read_changes(change or ()))
    given = {
        "steps": steps, "seed": seed, "algo": algo, "network": network,
        "warm_start": warm_start, "device": device,
    }  # fmt: skip
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
    _check_installed(settings.algo)
    if settings.algo == "es":
        from bfenv.agents.training.es import train as learner
    else:
        from bfenv.agents.training.ppo import train as learner
    last: dict[str, Any] = {}
    total = settings.generations if settings.algo == "es" else settings.steps
    with show.progress("rows") as progress:
        bar = progress.add_task("preparing", total=total, rows="")

        def report(row: dict[str, Any]) -> None:
            last.update(row)
            speed = f"{row['steps_per_second']:,} steps/s"
            done = row["update" if settings.algo == "es" else "steps"]
            progress.update(bar, completed=done, description=speed, rows=_score(row) + "  left")

        try:
            agent = learner(settings, out, resume=resume, tensorboard=tensorboard, report=report)
        except KeyboardInterrupt:
            then = "no checkpoint yet: with --resume, the same command begins again"
            if any((out / name).is_file() for name in ("checkpoint.npz", "journal.jsonl")):
                then = "with --resume, the same command goes on from the last checkpoint"
            show.lines([f"{out}: {then}"], sys.stderr)
            raise
    if not last:
        show.text(f"{agent}: this training is complete")
        return
    show.text(
        f"{agent}: mean bounded slowdown on validation {last['best']:.3f} of EASY's; "
        f"after the last step {_score(last)} of EASY's; {last['steps_per_second']:,} steps/s"
    )


def _score(row: dict[str, Any]) -> str:
    ratio, wait = row["ratio"], row["wait_ratio"]
    return f"slowdown {ratio:.3f}, longest wait {wait:.2f}"


def _check_installed(algo: str) -> None:
    """Check that all packages of an algorithm are installed; the error names those that are not."""
    needs = {"yaml": "PyYAML"} | {"es": {"cma": "cma"}, "ppo": {"torch": "torch"}}.get(algo, {})
    missing = [name for module, name in needs.items() if find_spec(module) is None]
    if missing:
        extra = "search" if algo == "es" else "agents"
        raise BfenvError(f"training needs {' and '.join(missing)}: pip install 'bfenv[{extra}]'")


train.__doc__ = train.__doc__ and train.__doc__.replace(
    "{presets}",
    "\n      ".join(
        (
            "evolved: a score of 19 weights for 18 traces of the model, by evolution",
            "scorer: a network for 24 traces of the model, by PPO",
            "archive: five real logs; starts as a copy of an order of jobs",
            "archive-trials: as archive, and starts are trials by a rule",
            "toy: one small trace, done in seconds",
        )
    ),
)
