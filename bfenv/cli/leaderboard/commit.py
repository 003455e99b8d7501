"""The command `bfenv leaderboard commit`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from bfenv.cli import options


def commit(
    workload: Annotated[
        list[str],
        typer.Option(
            "--workload", "-w", metavar="WORKLOAD", help="To keep secret; repeat for several."
        ),
    ],
    salt: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            envvar=options.SALT,
            help="Secret of 16 characters or more; choose at random.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write.  [default: stdout]"),
    ] = None,
    force: options.ForceOption = False,
) -> None:
    """Commit to workloads that you keep secret.

    What this prints tells nothing of the jobs, so you can publish it before competitors submit
    their code. Later, `bfenv leaderboard run` makes the rows with the same workloads and salt. When
    you publish these, anyone can check with `bfenv leaderboard verify` that they are what you had
    committed to.

    \b
    Examples:
      bfenv leaderboard commit --workload site.swf.gz --salt "a long random text"
      bfenv leaderboard commit --workload site.swf.gz --salt "a long random text" \\
        --out published.json
    """
    from bfenv.core.files import write_atomically
    from bfenv.evaluation.row import encode_json
    from bfenv.leaderboard.suite import committed, suite_of

    data = encode_json(committed(suite_of(workload), salt).description())
    if out is None:
        sys.stdout.write(data.decode())
        return
    options.check_new(out, force)
    write_atomically(out, data)
    print(f"wrote {out}")
