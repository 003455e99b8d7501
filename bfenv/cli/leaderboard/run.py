"""The command `bfenv leaderboard run`."""

import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bfenv.analysis.formatting import compound_duration, duration
from bfenv.cli import options, show
from bfenv.core.errors import BfenvError
from bfenv.core.text import counted
from bfenv.leaderboard.defaults import DECISION, MEMORY, TIMEOUT
from bfenv.leaderboard.suite import DEFAULT_SUITE, SUITES, find_suite, suite_of

if TYPE_CHECKING:
    from bfenv.leaderboard.run import SuiteRun

MOST = 10  # lines on where the time went


def run(
    out: Path = options.option(
        ..., "FOLDER", "Folder of the rows, created if necessary.", "--out", "-o"
    ),
    suite: str | None = options.option(
        None, "SUITE", f"See the list above.  [default: {DEFAULT_SUITE}]", "--suite", "-s"
    ),
    workload: list[str] | None = options.option(
        None, "WORKLOAD", "Your workload instead; repeat for several.", "--workload", "-w"
    ),
    policy: list[str] | None = options.option(
        None, "POLICY", "Repeat for several.", "--policy", "-p"
    ),
    all_: bool = typer.Option(False, "--all", help="Run every registered policy."),
    agent: list[str] | None = options.option(
        None, "AGENT", "See above; repeat for several.", "--agent", "-a"
    ),
    player: options.PlayersOption = None,
    seeds: int | None = options.option(
        None, "N", "Run only the first N seeds of the suite.", min=1
    ),
    jobs: options.JobsOption = -1,
    backend: options.BackendOption = "loky",
    scheduler: options.SchedulerOption = None,
    shard: options.ShardOption = "1/1",
    keep_schedules: bool = typer.Option(
        False, "--keep-schedules", help="Also write start and end of every job."
    ),
    timeout: int = options.duration_option(
        int(TIMEOUT),
        "--timeout",
        f"Time limit of a row.  [default: {compound_duration(TIMEOUT)}]",
        least=1,
    ),
    sandbox: options.SandboxOption = options.Sandbox.none,
    player_memory: int = options.option(
        MEMORY, "MIB", "Address space of a player's process, in MiB.", min=16
    ),
    decision: int = options.duration_option(
        int(DECISION),
        "--decision",
        f"Time limit of a player's decision.  [default: {compound_duration(DECISION)}]",
        least=1,
    ),
    player_reads: list[Path] | None = options.option(
        None, "PATH", "What players may also read in a sandbox; repeat for several.", exists=True
    ),
    retry: bool = typer.Option(False, "--retry", help="Run failed rows again."),
    trust: bool = typer.Option(
        False, "--trust", help="Load saved models, although they can execute any code."
    ),
) -> None:
    """Run policies and agents on a suite.

    Each policy, workload and seed is one row. Rows that the folder already has are skipped, so an
    interrupted run resumes. A message counts rows of other sources or versions. If a policy fails
    or takes too long, only its row fails, and the row records the reason. Rows do not depend on
    shards, so shards may share a folder, or you can merge their folders. The exit status is 1 if
    any row has failed, in this run or an earlier run.

    \b
    Suites:
      {suites}

    An agent is "random"; "module:object", either an object with a predict() method or a function of
    environment and seed that returns one; an exported network (MODEL.json or
    "agent:NAME"); or a model saved with bfenv.agents.save_model, which needs --trust. Options of
    its environment may follow, as in random:reservations=1. Without --policy and --all, EASY,
    conservative, easy-random, los and the best known order of jobs run as well, for comparison.
    With agents, random actions with as many slots also run. If a log has requested start times,
    only the policies that plan for them run.

    Code that is not part of bfenv ("module:object", saved models, programs of --player) runs in a
    player: a process that never gets the trace, with limits on time, memory and output, and
    optionally in a sandbox. docs/players.md describes players, and the messages that a program in
    any language exchanges with the referee.

    With --workload, the suite consists of your logs, each identified by the hash of its content. If
    a log records start times, the log's schedule is a row, "logged".

    \b
    Examples:
      bfenv leaderboard run --workload site.swf.gz --policy easy --policy easy-sqf --out site
      bfenv leaderboard run --suite smoke-v1 --policy easy --policy fcfs --out board
      bfenv leaderboard run --suite smoke-v1 --policy easy --agent random --jobs 2 \\
        --out board
      bfenv leaderboard run --suite smoke-v1 --policy easy --player "./my-scheduler" \\
        --sandbox bwrap --out board
    """
    from bfenv.baselines.registry import policies
    from bfenv.evaluation.agent_scores import REFERENCES
    from bfenv.evaluation.cases import Case
    from bfenv.evaluation.evaluator import compatible_policies
    from bfenv.evaluation.row import Row
    from bfenv.leaderboard.entrants import is_strange
    from bfenv.leaderboard.limits import hide_memory
    from bfenv.leaderboard.run import run_suite
    from bfenv.leaderboard.store import remember_logs
    from bfenv.parallel.shards import read_shard

    hide_memory()
    options.check_output_folder(out)
    names, agents = [*(policies() if all_ else ()), *(policy or ())], agent or []
    if not (names or agents or player):
        raise BfenvError("nothing to run: see --policy, --all, --agent and --player")
    if not names:
        names = compatible_policies(REFERENCES, [Case(name) for name in workload or ()])
        agents = [*agents, *_random_beside(agents)]
    if workload and suite is not None:
        raise BfenvError("--suite and --workload exclude each other")
    names_by_kind = {"policy": names, "agent": agents, "player": player or ()}
    has_players = any(
        is_strange(kind, name)
        for kind, names_of_kind in names_by_kind.items()
        for name in names_of_kind
    )
    limits = options.player_limits(sandbox, player_memory, decision, player_reads)
    with show.progress("rows") as progress:
        bar = progress.add_task("preparing", total=None, rows="")
        total, number = 0, count(1)

        def waiting(text: str) -> None:
            nonlocal has_players
            if has_players:  # the input has been checked
                options.warn_of_root(sandbox)
            has_players = False
            progress.update(bar, description=text[:40])

        def begin(rows: int, cost: float) -> None:
            nonlocal total
            total = rows
            progress.update(bar, total=cost, rows=f"0/{rows}", description="simulating")

        def done(row: Row, cost: float) -> None:
            text = f"{row.policy} on {row.workload}"
            progress.update(
                bar, advance=cost, rows=f"{next(number)}/{total}", description=text[:40]
            )

        outcome = run_suite(
            suite_of(workload) if workload else find_suite(suite or DEFAULT_SUITE),
            names,
            agents,
            out=out,
            seeds=seeds,
            timeout=timeout,
            trust=trust,
            keep_schedules=keep_schedules,
            retry=retry,
            players=player or (),
            limits=limits,
            shard=read_shard(shard),
            argv=sys.argv[1:],
            waiting=waiting,
            begin=begin,
            done=done,
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
        )
    remember_logs(workload or ())
    _tell(outcome, out)


_INDENT = 6 * " "  # of the list in the help
_SUITES = f"\n{_INDENT}".join(
    textwrap.fill(f"{suite.name}: {suite.summary}", 70, subsequent_indent=f"{_INDENT}  ")
    for suite in SUITES.values()
)
run.__doc__ = run.__doc__ and run.__doc__.format(suites=_SUITES)


def _random_beside(agents: Sequence[str]) -> list[str]:
    """Return the random agents that run beside the agents, with as many slots."""
    from bfenv.agents.agent_names import window_of
    from bfenv.evaluation.agent_scores import random_names

    windows = []
    for name in agents:
        with suppress(BfenvError):  # its rows will say what is wrong
            windows.append(window_of(name))
    names = random_names(window for window in windows if window is not None)
    return [name for name in names.values() if name not in agents] if agents else []


def _tell(outcome: "SuiteRun", out: Path) -> None:
    """Print where the time went, how many rows there are, and which are of others or failed."""
    from bfenv.evaluation.row import failures
    from bfenv.leaderboard.provenance import is_made_here
    from bfenv.leaderboard.store import time_spent

    for column, lines in time_spent(out).items() if outcome.new_rows else ():
        cells = [
            (name, f"{rows:,}", duration(time) if time >= 2 else show.quantity(time, "s"))
            for name, rows, time in lines[:MOST]
        ]
        show.table(
            (column, "rows", "time"),
            cells,
            numbers=2,
            title=f"Time by {column}"
            + (f", first {MOST} of {len(lines)}" if len(lines) > MOST else ""),
        )
    failed = [row for row in outcome.new_rows + outcome.existing_rows if not row.ok]
    foreign = sum(not is_made_here(row.versions) for row in outcome.existing_rows)
    show.text(
        f"{out}: {len(outcome.new_rows)} rows made, {len(outcome.existing_rows)} there already"
    )
    if foreign:
        rows = counted(foreign, "row")
        note = f"kept: {rows} of other sources or versions; another folder makes them again"
        show.lines([note], sys.stderr)
    show.lines((f"failed: {text}" for text in failures(failed)), sys.stderr)
    if failed:
        raise typer.Exit(1)
