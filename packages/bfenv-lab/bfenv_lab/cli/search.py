"""The command `bfenv search`."""

import sys
from pathlib import Path
from typing import Any

import bfenv.cli.options as o
from bfenv.cli import show
from bfenv.core.errors import BfenvError
from bfenv.core.text import counted


def search(
    workload: list[str] = o.option(
        ..., "WORKLOAD", "Workload to search on; repeat for several.", "--workload", "-w"
    ),
    out: Path = o.option(..., "FOLDER", "Folder of the search and its result.", "--out", "-o"),
    method: str = o.option("gp", "NAME", "gp or cma-es, see above.", "--method", "-m"),
    budget: int | None = o.duration_option(
        None, "--budget", "Time to search, such as 10m. Give this or --generations.", least=1
    ),
    generations: int | None = o.option(
        None, "N", "Number of generations. Give this or --budget.", min=1
    ),
    options: str = o.option("", "OPTIONS", "Other options of easy, see above."),
    start: list[str] | None = o.option(None, "FORMULA", "Order to start from; repeat for several."),
    load: list[str] | None = o.option(
        None,
        "LOAD",
        "own, or an offered load such as 0.9; repeat for several.  [default: own, 0.9]",
    ),
    split: str = o.option("train", "SPLIT", "train, or all for workloads that you never score on."),
    seed: int = o.option(1, "N", "Random seed.", min=0),
    hidden: int = o.option(0, "N", "Hidden units of the scorer, at most 6; 0 is linear.", min=0),
    covariance: str = o.option("full", "KIND", "Of cma-es: full, or diagonal for many weights."),
    population: int = o.option(40, "N", "Candidates per generation.", min=4),
    cases: int = o.option(2, "N", "Slices per workload and generation.", min=1),
    tolerated_wait: float = o.option(
        1.5, "N", "Tolerated longest wait, in multiples of EASY's.", min=1
    ),
    objective: str = o.option("slowdown", "NAME", "slowdown or penalized, see above."),
    leave_out: bool = o.option(
        False,
        "",
        "Also search without each workload in turn, and score each result on the one left out. "
        "Seeds of a model are left out one by one.",
        "--leave-out",
    ),
    slice_jobs: int = o.option(10_000, "N", "Approximate number of jobs in a slice.", min=1),
    warmup_jobs: int = o.option(
        0,
        "N",
        "Jobs before each slice that EASY schedules, see above; at most a quarter of the split.",
        min=0,
    ),
    shakes: int = o.option(4, "N", "Shaken copies of each slice.", min=1),
    shake: int = o.duration_option(
        300, "--shake", "Largest shift of a submit time.  [default: 5 min]"
    ),
    jobs: o.JobsOption = 1,
    backend: o.BackendOption = "loky",
    scheduler: o.SchedulerOption = None,
) -> None:
    """Search for a queue order that improves EASY.

    \b
    Methods:
      gp: find a formula by genetic programming
      cma-es: tune the weights of a scorer, linear or with --hidden units;
        with --start FORMULA, tune the numbers in that formula

    The training split is scaled to each --load. Candidates run on slices of it, with submit times
    shifted at random ("shaken"). They minimize the mean log ratio of mean bounded slowdown to
    EASY's, plus a penalty if the longest wait is over --tolerated-wait times EASY's. The result is
    selected on the training and validation splits. The test split is never read unless you ask for
    --split all.

    With --warmup-jobs, slices are like episodes of the environment: EASY schedules some jobs before
    each, and the jobs after it arrive, too. The result is then selected on all slices of the
    training and validation splits.

    With --objective penalized, they minimize the mean log of the penalized slowdown, by which
    leaderboards rank: half of the value is the mean over workloads, half the worst workload. Seeds
    of a model are one workload.

    --options sets other options of easy. A range in braces is tuned: "guard={0.8:2}, trial=180"
    tunes guard from 0.8 to 2.

    The result is FOLDER/result.json; `bfenv agents card` makes an agent of it. Run the same command
    again to continue an interrupted search. With --generations, the result does not depend on
    --jobs or interruptions.

    \b
    Examples:
      bfenv search -w lublin:jobs=3000,procs=64 --split all --generations 3 --population 8 \\
        --shakes 1 --out found
    """
    from bfenv_lab.search.search_run import Progress, run_search
    from bfenv_lab.search.search_settings import SearchSettings

    if (generations is None) == (budget is None):
        raise BfenvError("give either --generations or --budget")
    o.check_output_folder(out)
    settings = SearchSettings(
        workloads=tuple(workload),
        loads=read_loads(load or ["own", "0.9"]),
        split=split,
        slice_jobs=slice_jobs,
        shakes=shakes,
        shake_seconds=shake,
        warmup_jobs=warmup_jobs,
        method=method,
        options=options,
        starts=tuple(start or ()),
        hidden=hidden,
        covariance=covariance,
        population=population,
        cases=cases,
        tolerated_wait=tolerated_wait,
        objective=objective,
        seed=seed,
    )
    with show.progress() as bar:
        task = bar.add_task("searching", total=generations or budget)

        def done(progress: Progress) -> None:
            bar.update(
                task,
                completed=progress.generation if generations else progress.seconds,
                description=f"ratio {progress.score.slowdown_ratio:.3f}, "
                f"wait x{progress.score.wait_ratio:.2f}",
            )

        try:
            result = run_search(
                settings,
                out,
                generations=generations,
                budget=budget,
                leave_out=leave_out,
                done=done,
                jobs=jobs,
                backend=backend,
                scheduler=scheduler,
            )
        except KeyboardInterrupt:
            show.lines([f"{out}: the same command goes on from the last generation"], sys.stderr)
            raise
    _print(result, out)


def _print(result: dict[str, Any], out: Path) -> None:
    score = result["score"]
    show.text(result["policy"])
    show.text(
        f"{score['slowdown_ratio']:.3f} of EASY's bounded slowdown, longest wait at most "
        f"{score['wait_ratio']:.2f} times EASY's, on the jobs it was selected on "
        f"({counted(result['candidates'], 'candidate')}, "
        f"{counted(result['generations'], 'generation')})"
    )
    show.text(f"{out / 'result.json'}")


def read_loads(texts: list[str]) -> tuple[float | None, ...]:
    """Return the loads of --load; None is a workload's own."""
    loads: list[float | None] = []
    for text in texts:
        try:
            loads.append(None if text == "own" else float(text))
        except ValueError:
            raise BfenvError(f"--load is own or a number such as 0.9, got {text!r}") from None
    return tuple(loads)
