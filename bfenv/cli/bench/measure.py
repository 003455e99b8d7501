"""The commands of `bfenv bench` that measure."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfenv.cli import show
from bfenv.cli.bench.show import print_measurements
from bfenv.cli.options import FormatOption, check_folder
from bfenv.cli.show import Format
from bfenv.core.errors import BfenvError

if TYPE_CHECKING:
    from bfenv.speed.measurements import Measurement

RepeatOption = Annotated[int, typer.Option(min=1, metavar="N", help="Number of repetitions.")]
LargestOption = Annotated[
    int, typer.Option(min=10_000, metavar="N", help="Largest number of jobs to generate.")
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write a JSON file with rows and versions."),
]


def engine(
    repeat: RepeatOption = 5, format: FormatOption = Format.table, out: OutOption = None
) -> None:
    """Time reading logs and simulating whole traces.

    \b
    Examples:
      bfenv bench engine --repeat 1
      bfenv bench engine --out before.json
    """
    from bfenv.speed.engine import measure_engine

    _measure(measure_engine(repeat), format, out)


def environment(
    repeat: RepeatOption = 5, format: FormatOption = Format.table, out: OutOption = None
) -> None:
    """Measure the steps per second of environments.

    \b
    Examples:
      bfenv bench environment
    """
    from bfenv.speed.environments import measure_environments

    _measure(measure_environments(repeat), format, out)


def scaling(
    repeat: RepeatOption = 3,
    largest: LargestOption = 10_240_000,
    format: FormatOption = Format.table,
    out: OutOption = None,
) -> None:
    """Time more jobs, longer queues, larger machines.

    The longest queues are 10,000 jobs submitted at once, and about 3,000 that wait all the time. A
    policy that takes over 10 s with a queue is not measured with longer ones.

    \b
    Examples:
      bfenv bench scaling --largest 160000
    """
    from bfenv.speed.engine import measure_scaling

    _measure(measure_scaling(repeat, largest), format, out)


def policies(
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", "-p", metavar="POLICY", help="Repeat for several. Default: all policies."
        ),
    ] = None,
    repeat: RepeatOption = 3,
    format: FormatOption = Format.table,
    out: OutOption = None,
) -> None:
    """Time policies on logs, queues and machines.

    \b
    Examples:
      bfenv bench policies --policy easy --policy los --repeat 1
    """
    from bfenv.baselines.registry import find_policy, policies
    from bfenv.speed.engine import measure_policies

    chosen = [find_policy(name) for name in policy or policies()]
    _measure(measure_policies(chosen, repeat), format, out)


def search(
    repeat: RepeatOption = 5, format: FormatOption = Format.table, out: OutOption = None
) -> None:
    """Time EASY in the orders of papers, formulas and scorers.

    \b
    Examples:
      bfenv bench search --repeat 1
    """
    from bfenv.speed.search import measure_search

    _measure(measure_search(repeat), format, out)


def training(
    preset: Annotated[str, typer.Option(metavar="PRESET", help="As of `bfenv train`.")] = "scorer",
    threads: Annotated[
        int | None, typer.Option(min=1, help="Of torch. Default: those of the preset.")
    ] = None,
    repeat: RepeatOption = 20,
    format: FormatOption = Format.table,
    out: OutOption = None,
) -> None:
    """Time `bfenv train` and sb3-contrib's MaskablePPO.

    They make updates in turns, with the same network, settings and environments. CPU time counts.
    Without sb3-contrib, only `bfenv train` is timed.

    \b
    Examples:
      bfenv bench training
      bfenv bench training --preset archive --repeat 3
    """
    try:
        from bfenv.speed.training import measure_training
    except ModuleNotFoundError as error:
        raise BfenvError(f"training needs {error.name}: pip install 'bfenv[agents]'") from error

    _measure(measure_training(repeat, preset, threads), format, out)


def start(
    repeat: RepeatOption = 5, format: FormatOption = Format.table, out: OutOption = None
) -> None:
    """Measure the time and memory of new processes.

    \b
    Examples:
      bfenv bench start --repeat 1
    """
    from bfenv.speed.processes import measure_start

    _measure(measure_start(repeat), format, out)


def measure_all(
    repeat: RepeatOption = 5,
    largest: LargestOption = 10_240_000,
    format: FormatOption = Format.table,
    out: OutOption = None,
) -> None:
    """Run all of these except policies and training (minutes).

    \b
    Examples:
      bfenv bench all --out bench.json
    """
    from bfenv.speed.engine import measure_engine, measure_scaling
    from bfenv.speed.environments import measure_environments
    from bfenv.speed.processes import measure_start
    from bfenv.speed.search import measure_search

    def rows() -> Iterator["Measurement"]:
        yield from measure_engine(repeat)
        yield from measure_environments(repeat)
        yield from measure_search(repeat)
        yield from measure_scaling(min(repeat, 3), largest)
        yield from measure_start(repeat)

    _measure(rows(), format, out)


def _measure(measurements: Iterator["Measurement"], format: Format, out: Path | None) -> None:
    """Make the measurements, write them to a file if there is one, and print them."""
    from bfenv.speed.measurements import with_provenance, write_measurements

    check_folder(out)
    rows = []
    with show.progress() as progress:
        task = progress.add_task("", total=None)
        for row in measurements:
            rows.append(row)
            progress.update(task, description=f"{row['what']} {row['subject']}"[:24])
    if out is not None:
        write_measurements(out, rows)
    print_measurements(with_provenance(rows), format)
