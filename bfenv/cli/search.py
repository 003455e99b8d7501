"""The command `bfenv search`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bfenv.cli import show
from bfenv.cli.options import BackendOption, JobsOption, SchedulerOption, duration_option
from bfenv.core.errors import BfenvError


def search(
    workload: Annotated[
        list[str],
        typer.Option(
            "--workload", "-w", metavar="WORKLOAD", help="Whole workload to search on; repeat."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of journal and result.")
    ],
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help="gp or cma-es, see above.")
    ] = "gp",
    budget: Annotated[
        int | None,
        duration_option("--budget", "Time to search, such as 10m; or give --generations.", least=1),
    ] = None,
    generations: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Generations to search in all.")
    ] = None,
    options: Annotated[
        str, typer.Option(metavar="OPTIONS", help="Other options of easy, see above.")
    ] = "",
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="OPTION", help="Find backfill_estimate or backfill as well."),
    ] = None,
    start: Annotated[
        list[str] | None, typer.Option(metavar="FORMULA", help="Order to start from; repeat.")
    ] = None,
    load: Annotated[
        list[str] | None,
        typer.Option(metavar="LOAD", help="own or an offered load; repeat. [default: own, 0.9]"),
    ] = None,
    split: Annotated[
        str, typer.Option(metavar="SPLIT", help="train, or all for workloads never scored on.")
    ] = "train",
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Random seed.")] = 1,
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Seeds, from --seed; the best one counts.")
    ] = 1,
    hidden: Annotated[
        int, typer.Option(min=0, metavar="N", help="Hidden units of the scorer; 0 is linear.")
    ] = 0,
    population: Annotated[
        int, typer.Option(min=4, metavar="N", help="Candidates of a generation.")
    ] = 40,
    cases: Annotated[
        int, typer.Option(min=1, metavar="N", help="Cases per workload and generation.")
    ] = 2,
    slice_jobs: Annotated[
        int, typer.Option("--slice-jobs", min=1, metavar="N", help="Jobs of a case, about.")
    ] = 10_000,
    shakes: Annotated[
        int, typer.Option(min=1, metavar="N", help="Shaken copies of each slice.")
    ] = 4,
    shake: Annotated[
        int, duration_option("--shake", "Longest change of a submit time.  [default: 5 min]")
    ] = 300,
    jobs: JobsOption = 1,
    backend: BackendOption = "loky",
    scheduler: SchedulerOption = None,
) -> None:
    """Search for an order of EASY that beats EASY.

    gp varies formulas by genetic programming. cma-es tunes the weights of a scorer on logarithmic
    features, linear or with hidden units, or with --start FORMULA the numbers in that formula.
    The objective is the mean log ratio of mean bounded slowdown to EASY's, over slices of the
    training split, loads and shaken submit times, plus a penalty if the longest wait is over 1.5
    times EASY's. The result is selected on the training and validation splits; the test split is
    never read.

    --options fixes other options of easy, or tunes the numbers in braces, as in
    "guard={0.8:2}, trial=180".

    The result is DIR/result.json. The same command continues an interrupted search. The result of
    so many --generations is always the same, also with other --jobs.

    \b
    Examples:
      bfenv search -w lublin:jobs=3000,procs=64 --split all --generations 3 --population 8 \\
        --shakes 1 --out found
    """
    from bfenv.agents.search.search_run import Progress, SearchSettings, run_seeds

    settings = SearchSettings(
        workloads=tuple(workload),
        loads=_loads(load),
        split=split,
        slice_jobs=slice_jobs,
        shakes=shakes,
        shake_seconds=shake,
        method=method,
        options=options,
        searched=("order", *(also or ())),
        starts=tuple(start or ()),
        hidden=hidden,
        population=population,
        cases=cases,
        seed=seed,
    )
    with show.progress() as progress:
        task = progress.add_task("searching", total=seeds * (generations or budget or 1))

        def done(one: Progress, number: int) -> None:
            progress.update(
                task,
                completed=number * (generations or (budget or 0) / seeds)
                + (one.generation if generations else one.seconds),
                description=f"ratio {one.score.slowdown_ratio:.3f}, "
                f"wait x{one.score.wait_ratio:.2f}",
            )

        result = run_seeds(
            settings,
            out,
            seeds=seeds,
            generations=generations,
            budget=budget,
            done=done,
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
        )
    _print(result, out)


def _print(result: dict[str, Any], out: Path) -> None:
    score = result["score"]
    print(result["policy"])
    print(
        f"{score['slowdown_ratio']:.3f} of EASY's bounded slowdown, longest wait at most "
        f"{score['wait_ratio']:.2f} times EASY's, on the jobs it was selected on "
        f"({result['candidates']:,} candidates, {result['generations']:,} generations)"
    )
    print(f"{out / 'result.json'}")


def _loads(texts: list[str] | None) -> tuple[float | None, ...]:
    loads: list[float | None] = []
    for text in texts or ["own", "0.9"]:
        try:
            loads.append(None if text == "own" else float(text))
        except ValueError:
            raise BfenvError(f"--load is own or a number such as 0.9, got {text!r}") from None
    return tuple(loads)
