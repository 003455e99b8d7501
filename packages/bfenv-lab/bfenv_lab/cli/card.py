"""The command `bfenv agents card`."""

from pathlib import Path
from typing import Any

import typer

from bfenv.cli import show
from bfenv.cli.options import (
    BackendOption,
    ForceOption,
    JobsOption,
    SchedulerOption,
    check_new,
    option,
)
from bfenv.core.errors import BfenvError


def card(
    result: Path = typer.Argument(..., metavar="RESULT", help="The result.json of `bfenv search`."),
    what: str = option(..., "TEXT", "What the agent is, in a sentence."),
    out: Path = option(..., "FILE", "Card to write, NAME.json.", "--out", "-o"),
    workload: list[str] | None = option(
        None, "WORKLOAD", "Score it on the test split; repeat for several.", "--workload", "-w"
    ),
    unseen: list[str] | None = option(
        None, "WORKLOAD", "Score it on all jobs; repeat for several."
    ),
    copies: int = option(5, "N", "Copies of each workload, submit times shifted at random.", min=1),
    jobs: JobsOption = 1,
    backend: BackendOption = "loky",
    scheduler: SchedulerOption = None,
    force: ForceOption = False,
) -> None:
    """Score the result of a search, and write its card.

    The command scores the agent on the test split of each --workload and on all jobs of each
    --unseen workload, at the original load and at 0.9. It refuses jobs that the agent was trained
    on. Use the card as "agent:FILE" wherever you name a policy.

    \b
    Examples:
      bfenv agents card found/result.json --what "A formula." --out mine.json \\
        --unseen lublin:jobs=2000,procs=64,seed=7 --copies 2
    """
    from dataclasses import replace

    from bfenv.agents.card import write_card
    from bfenv_lab.scoring import find_failures, score_card
    from bfenv_lab.search.search_run import read_result, result_card

    if out.suffix != ".json":
        raise BfenvError(f"{out}: the name of a card must end in .json")
    if not what.strip():
        raise BfenvError("--what must say what the agent is, in a sentence")
    check_new(out, force)
    workers = {"jobs": jobs, "backend": backend, "scheduler": scheduler}
    new_card = result_card(out.stem, what, read_result(result))
    scores: list[dict[str, Any]] = []
    parts = [(workload or [], (None, 0.9), "test"), (unseen or [], (None, 0.9), "all")]
    with show.progress() as progress:
        for workloads, loads, split in parts:
            task = progress.add_task(f"scoring, {split}", total=len(workloads) * len(loads))

            def done(score: dict[str, Any], task: Any = task) -> None:
                progress.advance(task)

            scores += score_card(
                new_card, workloads, loads, split=split, shakes=copies, done=done, **workers
            )
    write_card(out, replace(new_card, scores=tuple(scores), failures=find_failures(scores)))
    show.text(out)
