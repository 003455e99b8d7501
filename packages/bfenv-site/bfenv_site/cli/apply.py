"""The command `bfenv apply`."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import typer

from bfenv.cli.options import check_folder, duration_option, option


def apply(
    policy: str = option(
        ..., "POLICY", "EASY in the wanted order, or agent:formula.", "--policy", "-p"
    ),
    write: bool = typer.Option(False, "--write/--shadow", help="Lift jobs, or only say which."),
    every: int = duration_option(30, "--every", "Time between two cycles. Default: 30s.", least=1),
    depth: int = typer.Option(
        100, min=1, metavar="N", help="Jobs of a partition that are brought to its front."
    ),
    partition: list[str] | None = option(
        None, "NAME", "Only this partition; repeat for several. Default: each by itself."
    ),
    log: Path | None = option(None, "FILE", "Append the JSON lines to it. Default: print them."),
    state: Path = option(
        Path("bfenv-apply.json"), "FILE", "With --write: says which jobs are lifted."
    ),
    cycles: int | None = typer.Option(
        None, min=0, metavar="N", help="End after N cycles; 0 gives back what a killed run left."
    ),
) -> None:
    """Bring an order to a live Slurm.

    Every cycle reads squeue, brings the waiting jobs of each partition into the order of the
    policy, with its guard against starving, and prints a JSON line: Slurm's own order, the wanted
    one, and by how much jobs are to be lifted for it.

    --write lifts them, by a Nice below 0, in one call of scontrol a cycle. Jobs whose Nice someone
    else set are left alone. At the end, by Ctrl-C or SIGTERM, all lifts are given back. Of the
    policy, only the order and the guard are applied: how jobs backfill stays Slurm's.

    \b
    Examples:
      bfenv apply --policy easy-sjf
      bfenv apply -p "easy(order='size * estimate', guard=2)" --log apply.jsonl
      bfenv apply -p agent:formula --write --log apply.jsonl --partition cpu
    """
    from bfenv_site.live.apply import apply_order

    check_folder(log)
    check_folder(state)
    with nullcontext(sys.stdout) if log is None else log.open("a") as file:

        def tell(event: dict[str, Any]) -> None:
            print(json.dumps(event), file=file, flush=True)

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
