"""The commands `bfenv bench ...`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from bfenv.cli import show
from bfenv.cli.options import Once, check_folder
from bfenv.cli.show import Format
from bfenv.core.errors import UnknownNameError

app = typer.Typer(
    help="Measure how fast bfenv is on this machine. The best of several runs counts.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

RepeatOption = Annotated[int, typer.Option(min=1, help="Runs per figure.")]
LargestOption = Annotated[int, typer.Option(min=10_000, help="Most jobs to generate.")]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to print the rows.")]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="JSON file: rows, machine, versions, commit, command."),
]


@app.command(cls=Once)
def engine(
    repeat: RepeatOption = 5, format: FormatOption = Format.table, out: OutOption = None
) -> None:
    """Reading logs; whole traces, real and generated.

    \b
    Examples:
      bfenv bench engine --repeat 1
      bfenv bench engine --out before.json
    """
    from bfenv.speed import engine as speed

    _measure(speed.engine(repeat), format, out)


@app.command(cls=Once)
def environment(
    repeat: RepeatOption = 5, format: FormatOption = Format.table, out: OutOption = None
) -> None:
    """Steps per second of the environments.

    \b
    Examples:
      bfenv bench environment
    """
    from bfenv.speed import environments as speed_env

    _measure(speed_env.environment(repeat), format, out)


@app.command(cls=Once)
def scaling(
    repeat: RepeatOption = 3,
    largest: LargestOption = 10_240_000,
    format: FormatOption = Format.table,
    out: OutOption = None,
) -> None:
    """More jobs, longer queues, larger machines.

    \b
    Examples:
      bfenv bench scaling --largest 160000
    """
    from bfenv.speed import engine as speed

    _measure(speed.scaling(repeat, largest), format, out)


@app.command(cls=Once)
def policies(
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="Repeat for several. Default: every policy."),
    ] = None,
    repeat: RepeatOption = 3,
    format: FormatOption = Format.table,
    out: OutOption = None,
) -> None:
    """Policies on logs, longer queues, larger machines.

    \b
    Examples:
      bfenv bench policies --policy easy --policy los --repeat 1
    """
    from bfenv.baselines.registry import find_policy, policies
    from bfenv.speed import engine as speed

    names = [find_policy(name) for name in policy or policies()]
    _measure(speed.policies(names, repeat), format, out)


@app.command(cls=Once)
def search(
    repeat: RepeatOption = 5, format: FormatOption = Format.table, out: OutOption = None
) -> None:
    """EASY in a scorer's order, beside a sorted queue.

    \b
    Examples:
      bfenv bench search --repeat 1
    """
    from bfenv.speed import search as search_speed

    _measure(search_speed.policy_search(repeat), format, out)


@app.command(cls=Once)
def start(
    repeat: RepeatOption = 5, format: FormatOption = Format.table, out: OutOption = None
) -> None:
    """New processes: their time and memory.

    \b
    Examples:
      bfenv bench start --repeat 1
    """
    from bfenv.speed import engine as speed

    _measure(speed.start(repeat), format, out)


@app.command("all")
def all_(
    repeat: RepeatOption = 5,
    largest: LargestOption = 10_240_000,
    format: FormatOption = Format.table,
    out: OutOption = None,
) -> None:
    """All of these but policies; some minutes.

    \b
    Examples:
      bfenv bench all --out bench.json
    """
    from bfenv.speed import engine as speed
    from bfenv.speed import environments as speed_env
    from bfenv.speed import search as search_speed

    def rows():
        yield from speed.engine(repeat)
        yield from speed_env.environment(repeat)
        yield from search_speed.policy_search(repeat)
        yield from speed.scaling(min(repeat, 3), largest)
        yield from speed.start(repeat)

    _measure(rows(), format, out)


@app.command("show")
def show_(
    file: Annotated[Path, typer.Argument(help="What --out wrote.")],
    group: Annotated[
        list[str] | None, typer.Option("--group", "-g", help="Repeat for several. Default: all.")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Print measurements that were kept.

    \b
    Examples:
      bfenv bench show bench.json --group traces --format markdown
    """
    from bfenv.speed.measurements import read_record

    found = read_record(file)
    known = dict.fromkeys(row["group"] for row in found["rows"])
    for name in group or ():
        if name not in known:
            raise UnknownNameError("group", name, known)
    rows = [row for row in found["rows"] if row["group"] in (group or known)]
    _print(rows, format, _title(found))


@app.command(cls=Once)
def compare(
    before: Annotated[Path, typer.Argument(help="What --out wrote.")],
    after: Annotated[Path, typer.Argument(help="What --out wrote later.")],
    format: FormatOption = Format.table,
) -> None:
    """What became faster, and what slower.

    \b
    Examples:
      bfenv bench compare before.json after.json
    """
    from bfenv.speed import measurements as record

    records = [record.read_record(file) for file in (before, after)]
    rows = record.compare(*records)
    if format in (Format.json, Format.csv):
        show.rows(rows, format)
        return
    lines = [
        (
            *(row[key] for key in record.KEYS),
            "-" if row["faster"] is None else f"{row['faster']:.2f}x",
            *(
                "-" if row[key] is None else show.quantity(row[key], row["unit"])
                for key in ("before", "after")
            ),
        )
        for row in rows
    ]
    names = ["group", "what", "subject", "times as fast", "before", "after"]
    title = f"before: {_title(records[0])}\nafter:  {_title(records[1])}"
    show.table(names, lines, format, numbers=3, title=title)


def _measure(measurements: Iterator[dict[str, Any]], format: Format, out: Path | None) -> None:
    """Make the measurements, keep and print them."""
    from bfenv.speed import measurements as record

    check_folder(out)
    rows = []
    with show.progress() as progress:
        task = progress.add_task("", total=None)
        for row in measurements:
            rows.append(row)
            progress.update(task, description=f"{row['what']} {row['subject']}"[:24])
    if out is not None:
        record.write_record(out, rows)
    _print(rows, format, _title(record.record([])))


def _print(rows: list[dict[str, Any]], format: Format, title: str) -> None:
    if format in (Format.json, Format.csv):
        show.rows(rows, format)
        return
    lines = [
        (
            row["group"],
            row["what"],
            row["subject"],
            f"{row['jobs']:,}" if row["jobs"] else "",
            show.quantity(row["best"], row["unit"]),
            show.quantity(row["median"], row["unit"]),
            f"{row['best'] / row['jobs'] * 1e9:,.0f} ns" if row["jobs"] else "",
        )
        for row in rows
    ]
    columns = ["group", "what", "subject", "jobs", "best", "median", "per job"]
    show.table(columns, lines, format, numbers=4, title=title)


def _title(record: dict[str, Any]) -> str:
    versions = record["versions"]
    return (
        f"{record['machine']}, Python {versions['python']}, numpy {versions['numpy']}, "
        f"numba {versions['numba']}, bfenv {versions['bfenv']}, commit {record['commit'] or '-'}"
    )
