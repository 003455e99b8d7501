"""The command `bfenv train`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bfenv.cli.options as o
from bfenv.cli import show
from bfenv.core.errors import BfenvError

if TYPE_CHECKING:
    from bfenv_lab.search.objective import Score
    from bfenv_lab.search.search_run import Progress
    from bfenv_lab.search.search_settings import SearchSettings


def train(
    out: Path = o.option(..., "FOLDER", "Folder of the training.", "--out", "-o"),
    algo: str = o.option("es", "ALGO", "Algorithm; es, evolution, is the only one."),
    workload: list[str] | None = o.option(
        None, "WORKLOAD", "Workload to train on; repeat for several.", "--workload", "-w"
    ),
    load: list[str] | None = o.option(
        None, "LOAD", "own, or an offered load; repeat for several.  [default: 0.9, 1, 1.1]"
    ),
    generations: int = o.option(24, "N", "Number of generations.", min=1),
    population: int = o.option(16, "N", "Candidates per generation.", min=4),
    order: str | None = o.option(
        None, "FORMULA", "Formula whose numbers are tuned; see the default above."
    ),
    units: int = o.option(
        0, "N", "Tune a network of N hidden units, at most 6, instead of a formula.", min=0
    ),
    options: str | None = o.option(
        None, "OPTIONS", "Other options of easy, as for `bfenv search`; see the default above."
    ),
    seed: int = o.option(0, "N", "Random seed.", min=0),
    seeds: int | None = o.option(
        None, "N", "Train with N seeds, from --seed on, in FOLDER/seed-K.", min=1
    ),
    jobs: o.JobsOption = 1,
    backend: o.BackendOption = "loky",
    scheduler: o.SchedulerOption = None,
) -> None:
    """Train an agent: evolve an order of EASY's queue.

    CMA-ES tunes the numbers of a formula. The default formula puts small areas first, until a job
    has waited for days; the more work waits, the longer that is. Sizes count for less where
    processors are free or much work waits, and for more in long jobs. Small jobs are backfilled as
    if they ran shorter than estimated. CMA-ES also tunes which jobs are small, and how much shorter
    they run. With --units, it tunes the weights of a network instead of a formula.

    All candidates of a generation are scored on the same slices of the training splits, by their
    penalized slowdowns. Half of the score is the mean over workloads, and half is the worst
    workload; seeds of a model are one workload. The default workloads are the environment's for
    training, and twelve more seeds of its model. The result is FOLDER/agent.json, the best policy
    on the training and validation splits. Compare it with `bfenv evaluate --agent random -p
    agent:FOLDER/agent.json`.

    The progress bar shows the penalized slowdown on validation, and the mean bounded slowdown and
    the longest wait divided by EASY's. Run the same command again to continue an interrupted
    training; the result is the same.

    \b
    Default formula and options:
      estimate * size ** (1.7 - 0.5 * free / processors
      - 0.03 * backlog / 86400) * max(1, size / 64)
      * (estimate / 3000) ** (0.03 * log(size / 7)) / expansion ** 0.08
      / (1.3 + (wait * size ** 0.09 * estimate ** 0.07
      / (9000 * (30000 + backlog) ** 0.34)) ** 5.3) ** 3
      reservations=8,
      backfill_estimate='estimate * (1 - {0.1:0.5} * (size < {8:32}))'
    With --units:
      guard={1.1:1.5}, reservations=0

    To train a neural network, use stable-baselines3: `python -m bfenv.train_sb3 --help`.

    \b
    Examples:
      bfenv train --seeds 3 --jobs 2 --out runs
      bfenv train -w lublin:jobs=600,procs=32 --load 0.9 --generations 3 --population 4 --out run
      bfenv train curves runs --out curves.png
    """
    from bfenv.envs.settings import LOADS
    from bfenv_lab.cli.search import read_loads
    from bfenv_lab.search.training import WORKLOADS, training_settings

    if algo != "es":
        raise BfenvError(
            f"algo must be es, got {algo!r}; to train a network, use python -m bfenv.train_sb3"
        )
    o.check_output_folder(out)
    if seeds is not None and out.exists():
        if any(not path.name.startswith("seed-") for path in out.iterdir()):
            raise BfenvError(f"{out} holds other things than seeds: choose another folder")
    workers = {"jobs": jobs, "backend": backend, "scheduler": scheduler}
    for number in range(seed, seed + (seeds or 1)):
        settings = training_settings(
            tuple(workload or WORKLOADS),
            read_loads(load) if load else LOADS,
            order=order,
            options=options,
            units=units,
            population=population,
            seed=number,
        )
        _train(settings, out / f"seed-{number}" if seeds else out, generations, workers)


def _train(
    settings: "SearchSettings", out: Path, generations: int, workers: dict[str, Any]
) -> None:
    """Train once with a progress bar; print the best score."""
    from bfenv_lab.search.objective import Score
    from bfenv_lab.search.search_run import read_result
    from bfenv_lab.search.training import train as run

    with show.progress() as progress:
        bar = progress.add_task("preparing", total=generations)

        def done(state: "Progress") -> None:
            progress.update(bar, completed=state.generation, description=_score(state.score))

        try:
            agent = run(settings, out, generations=generations, done=done, **workers)
        except KeyboardInterrupt:
            show.lines([f"{out}: the same command goes on from the last generation"], sys.stderr)
            raise
    score = Score(**read_result(out / "result.json")["validation"])
    show.text(f"{agent}: on validation {_score(score)}, relative to EASY")


def _score(score: "Score") -> str:
    return (
        f"penalized {score.penalized:.3f}, slowdown {score.slowdown_ratio:.3f}, "
        f"longest wait {score.wait_ratio:.2f}"
    )
