"""The commands `python -m benchmarks ...`."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import measurements
from benchmarks.compiling import measure_compiling, measure_kernel_options
from benchmarks.engine import measure_engine, measure_policies, measure_scaling, measure_slurm
from benchmarks.environments import measure_environments
from benchmarks.episodes import (
    BEST_ORDERS,
    COLUMNS,
    NETWORK_REWARD,
    NETWORK_WINDOW,
    score_episodes,
)
from benchmarks.forecasts import measure_forecasts
from benchmarks.imports import measure_imports
from benchmarks.measurements import PUBLISHED, Measurement, Measurements, read_measurements
from benchmarks.processes import measure_start
from benchmarks.search import measure_search
from benchmarks.walk import walk_table
from bfenv import IDS
from bfenv.baselines.registry import find_policy
from bfenv.baselines.registry import policies as all_policies
from bfenv.cli import show
from bfenv.cli.app import run_app
from bfenv.cli.groups import Group
from bfenv.cli.options import FormatOption, Once, check_folder
from bfenv.cli.show import Format
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.evaluation.agent_scores import BEST_ORDER

Repeat = Annotated[int, typer.Option(min=1, metavar="N", help="Number of repetitions.")]
Largest = Annotated[
    int, typer.Option(min=10_000, metavar="N", help="Largest number of jobs to generate.")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write a JSON file with rows and versions."),
]
Before = Annotated[Path, typer.Argument(metavar="BEFORE", help="Older measurements file.")]
After = Annotated[Path, typer.Argument(metavar="AFTER", help="Newer measurements file.")]
app = typer.Typer(
    cls=Group,
    help="""Measure how fast bfenv is on this machine. The best of several runs counts.

    \b
    Examples:
      python -m benchmarks engine --repeat 1
      python -m benchmarks policies --policy easy --policy los --repeat 1
      python -m benchmarks scaling --largest 160000 --out scaling.json
      python -m benchmarks training --policy MultiInputPolicy --repeat 3
      python -m benchmarks learn --seeds 5 --out learn.csv
      python -m benchmarks curves learn.csv --out curves.png
      python -m benchmarks show
      python -m benchmarks show bench.json --group traces --format markdown
      python -m benchmarks compare before.json after.json
    """,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(cls=Once)
def engine(repeat: Repeat = 5, format: FormatOption = Format.table, out: Out = None) -> None:
    """Time reading logs and simulating whole traces."""
    _measure(measure_engine(repeat), format, out)


@app.command(cls=Once, name="compile")
def compile_(repeat: Repeat = 3, format: FormatOption = Format.table, out: Out = None) -> None:
    """Measure what the compiler costs, and what first uses take without waiting for it."""
    _measure(measure_compiling(repeat), format, out)


@app.command(cls=Once)
def kernel(
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", metavar="POLICY", help="Repeat for several."),
    ] = None,
    repeat: Repeat = 7,
    format: FormatOption = Format.table,
    out: Out = None,
) -> None:
    """Measure what each change to numba's compiler brings, in compilation and in speed."""
    names = policy or ["conservative", "agent:formula"]
    for name in names:
        find_policy(name)  # refuses an unknown one before anything is measured
    _measure(measure_kernel_options(names, repeat), format, out)


@app.command(cls=Once)
def walk() -> None:
    """Count how many files and functions a step, a reset and a simulation enter, uncompiled."""
    typer.echo(walk_table(), nl=False)


@app.command(cls=Once)
def environment(repeat: Repeat = 5, format: FormatOption = Format.table, out: Out = None) -> None:
    """Measure the steps per second of environments."""
    _measure(measure_environments(repeat), format, out)


@app.command(cls=Once)
def episodes(
    count: Annotated[int, typer.Option("--episodes", min=10, metavar="N")] = 200,
    jobs: Annotated[
        int | None, typer.Option("--episode-jobs", min=1, metavar="N", help="Of an episode.")
    ] = None,
    load: Annotated[
        list[float] | None, typer.Option(metavar="LOAD", help="Repeat for several.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", metavar="POLICY", help="Add a policy; repeat for several."),
    ] = None,
    env: Annotated[
        str, typer.Option(metavar="ID", help="Environment, such as Backfill-KTH-v0.")
    ] = "Backfill-v0",
    split: Annotated[str, typer.Option(metavar="SPLIT", help="Part of its workload.")] = "test",
    format: FormatOption = Format.table,
) -> None:
    """Measure how well an environment's episodes tell schedulers apart.

    "penalized" is the geometric mean of the penalized slowdowns, and "arithmetic" the arithmetic
    one. "score" is its logarithm on a scale where random actions have 0 and the best known order 1.
    That order is also shown with runtimes in place of estimates. "from random" is the number of
    paired episodes that tell the scheduler from random actions at 95 %, on average. "slowdown" is
    the mean bounded slowdown over EASY's, and "wait" the median of the longest waits over EASY's.
    "starves" is the share of episodes in which a job waits over twice EASY's longest wait.
    """
    if env not in IDS:
        raise UnknownNameError("environment", env, IDS)
    given: Any = {name: value for name, value in (("episode_jobs", jobs), ("load", load)) if value}
    best_order = BEST_ORDERS.get(env, BEST_ORDER)
    outcomes = score_episodes(
        count, policy or (), best_order=best_order, split=split, **(IDS[env] | given)
    )
    rows = [outcome.row(outcomes, best_order) for outcome in outcomes]
    if format in (Format.json, Format.csv):
        show.rows([dict(zip(COLUMNS, row, strict=True)) for row in rows], format)
        return
    changes = "".join(f", {name}={value!r}" for name, value in given.items())
    title = f"{count} episodes of {env}, split {split}{changes}"
    show.table(COLUMNS, rows, format, numbers=len(COLUMNS) - 1, title=title)


@app.command(cls=Once)
def learn(
    learner: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEARNER",
            help="MaskablePPO, MaskablePPO-256 (which updates after 256 steps), PPO, A2C, DQN, "
            "recipe or evolution; repeat for several. "
            "[default: MaskablePPO-256, recipe, evolution]",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Trainings of each.")] = 3,
    steps: Annotated[
        int, typer.Option(min=1, metavar="N", help="Actions of a training.")
    ] = 262_144,
    reward: Annotated[
        str, typer.Option(metavar="REWARD", help="Of the networks of stable-baselines3.")
    ] = NETWORK_REWARD,
    window: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Slots that they and random actions see."),
    ] = NETWORK_WINDOW,
    workload: Annotated[
        str | None, typer.Option("--workload", "-w", metavar="NAME", help="Instead of the default.")
    ] = None,
    test_episodes: Annotated[
        int, typer.Option("--episodes", min=4, metavar="N", help="Test episodes of a score.")
    ] = 64,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Trainings at a time.")] = 2,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the scores to a CSV file."),
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Train learners on Backfill-v0, and score them on unseen episodes.

    A training takes one to two minutes of a core. Random actions and policies play the same
    episodes. The recipe is `python -m bfenv.train_sb3`. Evolution is `bfenv train` with a third of
    its generations; it needs bfenv-lab. `python -m benchmarks curves FILE` draws the scores.
    """
    learning = _learning()
    names = learner or list(learning.USUAL)
    for name in names:
        if name not in learning.LEARNERS:
            raise UnknownNameError("learner", name, learning.LEARNERS)
    check_folder(out)
    points = learning.reference_points(workload, test_episodes, window)
    with show.share_done("training", patience=0) as watch:
        for curve in learning.learning_points(
            names, seeds, steps, reward, workload, test_episodes, jobs, window, watch
        ):
            points += curve
            if out is not None:  # an interrupted run keeps what it has
                learning.write_points(out, points)
    rows = learning.table(points)
    if format in (Format.json, Format.csv):
        show.rows([dict(zip(learning.COLUMNS, row, strict=True)) for row in rows], format)
        return
    title = (
        f"penalized slowdown on {test_episodes} episodes of {workload or 'Backfill-v0'}, split test"
    )
    show.table(learning.COLUMNS, rows, format, numbers=len(learning.COLUMNS) - 1, title=title)


@app.command(cls=Once)
def curves(
    file: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of `learn --out`.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The picture, such as curves.png.")
    ] = Path("curves.png"),
) -> None:
    """Draw learning curves: median and range over the seeds, and references as lines."""
    learning = _learning()
    check_folder(out)
    learning.draw_curves([point for path in file for point in learning.read_points(path)], out)


def _learning() -> Any:
    """Import what trains; raise BfenvError if a library is missing."""
    try:
        import benchmarks.learn as learning
    except ModuleNotFoundError as error:
        raise BfenvError(f"learn needs {error.name}: pip install 'bfenv[agents]'") from error
    return learning


@app.command(cls=Once)
def scaling(
    repeat: Repeat = 3,
    largest: Largest = 10_240_000,
    format: FormatOption = Format.table,
    out: Out = None,
) -> None:
    """Time more jobs, longer queues, larger machines.

    The longest queues are 10,000 jobs submitted at once, and about 3,000 that wait all the time. A
    policy that takes over 10 s with a queue is not measured with longer ones.
    """
    _measure(measure_scaling(repeat, largest), format, out)


@app.command(cls=Once)
def policies(
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", "-p", metavar="POLICY", help="Repeat for several. Default: all policies."
        ),
    ] = None,
    repeat: Repeat = 3,
    format: FormatOption = Format.table,
    out: Out = None,
) -> None:
    """Time policies on logs, queues and machines."""
    names = policy or list(all_policies())
    for name in names:
        find_policy(name)  # refuses an unknown one before anything is measured
    _measure(measure_policies(names, repeat), format, out)


@app.command(cls=Once)
def slurm(
    repeat: Repeat = 3,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Jobs to generate.")] = 100_000,
    format: FormatOption = Format.table,
    out: Out = None,
) -> None:
    """Time Slurm's scheduler on a machine of 1,000 named nodes."""
    _measure(measure_slurm(repeat, jobs), format, out)


@app.command(cls=Once)
def search(repeat: Repeat = 5, format: FormatOption = Format.table, out: Out = None) -> None:
    """Time EASY in the orders of papers, formulas and scorers."""
    _measure(measure_search(repeat), format, out)


@app.command(cls=Once)
def forecasts(repeat: Repeat = 3, format: FormatOption = Format.table, out: Out = None) -> None:
    """Time forecasts of starts, with longer queues and more futures."""
    _measure(measure_forecasts(repeat), format, out)


@app.command(cls=Once)
def imports(
    rows: Annotated[int, typer.Option(min=1000, metavar="N", help="Rows of the table.")] = 400_000,
    format: FormatOption = Format.table,
    out: Out = None,
) -> None:
    """Measure the memory and time to import a large table of jobs."""
    _measure(measure_imports(rows), format, out)


@app.command(cls=Once)
def training(
    policy: Annotated[
        str, typer.Option(metavar="POLICY", help="As of `python -m bfenv.train_sb3`.")
    ] = "ranker",
    threads: Annotated[int, typer.Option(min=1, help="Of torch.")] = 1,
    repeat: Repeat = 20,
    format: FormatOption = Format.table,
    out: Out = None,
) -> None:
    """Measure the steps per second of `python -m bfenv.train_sb3`, by CPU time."""
    try:
        from benchmarks.training import measure_training
    except ModuleNotFoundError as error:
        raise BfenvError(f"training needs {error.name}: pip install 'bfenv[agents]'") from error

    _measure(measure_training(repeat, policy, threads), format, out)


@app.command(cls=Once)
def start(repeat: Repeat = 5, format: FormatOption = Format.table, out: Out = None) -> None:
    """Measure the time and memory of new processes."""
    _measure(measure_start(repeat), format, out)


@app.command("all", cls=Once)
def measure_all(
    repeat: Repeat = 5,
    largest: Largest = 10_240_000,
    format: FormatOption = Format.table,
    out: Out = None,
) -> None:
    """Run all of these except policies, slurm, imports and training (minutes)."""
    results = chain(
        measure_engine(repeat),
        measure_environments(repeat),
        measure_search(repeat),
        measure_forecasts(min(repeat, 3)),
        measure_scaling(min(repeat, 3), largest),
        measure_start(repeat),
    )
    _measure(results, format, out)


@app.command("show", cls=Once)
def show_measurements(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="File of --out.  [default: the published measurements]",
            show_default=False,
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group", "-g", metavar="GROUP", help="Repeat for several. Default: all groups."
        ),
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Print measurements from a file."""
    content = read_measurements(file or PUBLISHED)
    groups = dict.fromkeys(row["group"] for row in content["rows"])
    for name in group or ():
        if name not in groups:
            raise UnknownNameError("group", name, groups)
    rows = [row for row in content["rows"] if row["group"] in (group or groups)]
    _print({**content, "rows": rows}, format)


@app.command(cls=Once)
def compare(before: Before, after: After, format: FormatOption = Format.table) -> None:
    """Compare two files of measurements."""
    old, new = map(read_measurements, (before, after))
    changes = measurements.compare(old, new)
    if format in (Format.json, Format.csv):
        show.rows(changes, format)
        return
    lines = [
        (
            *(change["group"], change["what"], change["subject"]),
            "-" if change["faster"] is None else f"{change['faster']:.2f}x",
            *(
                "-" if value is None else show.quantity(value, change["unit"])
                for value in (change["before"], change["after"])
            ),
        )
        for change in changes
    ]
    names = ["group", "what", "subject", "times as fast", "before", "after"]
    title = f"before: {_describe(old)}\nafter:  {_describe(new)}"
    show.table(names, lines, format, numbers=3, title=title)


def _measure(found: Iterable[Measurement], format: Format, out: Path | None) -> None:
    """Make the measurements, write them to a file if there is one, and print them."""
    check_folder(out)
    rows = []
    with show.progress() as progress:
        task = progress.add_task("", total=None)
        for row in found:
            rows.append(row)
            progress.update(task, description=f"{row['what']} {row['subject']}"[:24])
    if out is not None:
        measurements.write_measurements(out, rows)
    _print(measurements.with_provenance(rows), format)


def _print(content: Measurements, format: Format) -> None:
    """Print measurements, in a table with their provenance above."""
    rows = content["rows"]
    if format in (Format.json, Format.csv):
        show.rows(rows, format)
        return
    lines = [
        (
            *(row["group"], row["what"], row["subject"]),
            f"{row['jobs']:,}" if row["jobs"] else "",
            show.quantity(row["best"], row["unit"]),
            show.quantity(row["median"], row["unit"]),
            f"{row['best'] / row['jobs'] * 1e9:,.0f} ns" if row["jobs"] else "",
        )
        for row in rows
    ]
    columns = ["group", "what", "subject", "jobs", "best", "median", "per job"]
    filled = [k for k in range(len(columns)) if not lines or any(line[k] for line in lines)]
    columns, cells = [columns[k] for k in filled], [[line[k] for k in filled] for line in lines]
    show.table(columns, cells, format, numbers=len(columns) - 3, title=_describe(content))


def _describe(content: Measurements) -> str:
    """Describe in one line what measurements depend on."""
    versions = content["versions"]
    return (
        f"{content['machine']}, Python {versions['python']}, numpy {versions['numpy']}, "
        f"numba {versions['numba']}, bfenv {versions['bfenv']}, commit {content['commit'] or '-'}"
    )


if __name__ == "__main__":
    run_app(app, "python -m benchmarks")
