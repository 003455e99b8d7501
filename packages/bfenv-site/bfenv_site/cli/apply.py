"""The command `bfenv apply`."""

import json
from pathlib import Path
from typing import Any

import typer

from bfenv.cli.options import check_folder, duration_option, option
from bfenv.core.errors import BfenvError


def apply(
    policy: str = option(
        ..., "POLICY", "EASY with an order of jobs, or agent:formula.", "--policy", "-p"
    ),
    write: bool = typer.Option(
        False, "--write/--shadow", help="Lift jobs, or only print the lifts."
    ),
    every: int = duration_option(30, "--every", "Time between two cycles. Default: 30s.", least=1),
    depth: int = typer.Option(
        100, min=1, metavar="N", help="Number of jobs to put in order in each partition."
    ),
    partition: list[str] | None = option(
        None, "NAME", "Only this partition; repeat for several. Default: all, each by itself."
    ),
    log: Path | None = option(
        None, "FILE", "File to append the JSON lines to. Default: print them."
    ),
    state: Path = option(
        Path("bfenv-apply.json"), "FILE", "With --write: file that records the lifted jobs."
    ),
    cycles: int | None = typer.Option(
        None,
        min=0,
        metavar="N",
        help="End after N cycles; 0 only takes back the lifts of a killed run.",
    ),
) -> None:
    """Apply a queue order to a live Slurm.

    Every cycle reads squeue, and ranks the waiting jobs of each partition as the policy does, with
    its guard against starving. It prints a JSON line for each partition: Slurm's order, the
    policy's order, and how far each job must be lifted to get from one to the other.

    With --write, one call of scontrol per cycle lifts the jobs by a negative Nice. Jobs keep a Nice
    that someone else set. When the command ends, by Ctrl-C or SIGTERM, it takes all lifts back.
    Only the policy's order and guard are applied; Slurm still decides how jobs backfill.

    \b
    Examples:
      bfenv apply --policy easy-sjf
      bfenv apply -p "easy(order='size * estimate', guard=2)" --log apply.jsonl
      bfenv apply -p agent:formula --write --log apply.jsonl --partition cpu
    """
    from bfenv_site.live.apply import apply_order

    check_folder(log)
    check_folder(state)
    if log is not None:
        log.open("a").close()  # before any job is lifted

    def tell(event: dict[str, Any]) -> None:
        """Write an event as a line of JSON."""
        line = json.dumps(event)
        if log is None:
            print(line, flush=True)
            return
        try:
            with log.open("a") as file:
                print(line, file=file)
        except OSError as error:  # of a full disk, Python does not say which file it was
            raise BfenvError(f"{log}: cannot be written: {error.strerror}") from error

    apply_order(
        policy,
        log=tell,
        write=write,
        every=every,
        depth=depth,
        partitions=partition or (),
        state=state,
        cycles=cycles,
    )
