"""The command `bfenv evaluate`."""

import shlex
import sys
from typing import TYPE_CHECKING, Any

import typer

import bfenv.cli.options as o
from bfenv.cli import show
from bfenv.cli.show import Format
from bfenv.core.errors import BfenvError, PolicyError

if TYPE_CHECKING:
    from bfenv.core.jobs import Trace
    from bfenv.core.policy import Policy
    from bfenv.evaluation.evaluator import Case
    from bfenv.evaluation.row import Row

EPISODES = 16  # ten tell schedulers apart, see `python -m benchmarks episodes`
SPLIT = "test"
WORKLOAD = "lublin"


def evaluate(
    workload: list[str] | None = o.option(
        None,
        "WORKLOAD",
        "Name or SWF file; see `bfenv workloads`; repeat for several.  [default: that on the card "
        f"of the --agent, or else the environment's; without --agent {WORKLOAD}]",
        "--workload",
        "-w",
    ),
    policy: list[str] | None = o.option(
        None, "POLICY", "Repeat for several. Default: all policies.", "--policy", "-p"
    ),
    player: o.PlayersOption = None,
    agent: list[str] | None = o.option(
        None, "AGENT", "See above; repeat for several.", "--agent", "-a"
    ),
    episodes: int | None = o.option(
        None, "N", f"With --agent: episodes that each plays.  [default: {EPISODES}]", min=1
    ),
    split: str | None = o.option(
        None,
        "SPLIT",
        f"Part of the workload to score on.  [default: {SPLIT} for an --agent, or else all]",
    ),
    trust: bool = typer.Option(
        False,
        "--trust",
        help="With --agent: load saved models, although they can execute any code.",
    ),
    seeds: int = o.option(1, "N", "Number of seeds, from 0.", min=1),
    load: o.LoadOption = None,
    metric: list[str] | None = o.option(
        None, "NAME", "Add a column with a metric of the rows; repeat for several."
    ),
    tau: int = o.option(
        10, "SECONDS", "Bound of the slowdowns: shorter runtimes count as this long.", min=1
    ),
    jobs: o.JobsOption = 1,
    backend: o.BackendOption = "loky",
    scheduler: o.SchedulerOption = None,
    shard: o.ShardOption = "1/1",
    format: o.FormatOption = Format.table,
) -> None:
    """Compare policies on the same jobs.

    The table shows means over seeds, and the 5th and 95th percentile of the bounded slowdown; json
    and csv show every run. A seed sets the jobs of a generated workload and the decisions of a
    stochastic policy. Only run times depend on --jobs. --metric takes any name that --format csv
    shows, such as slowdown_ratio_small_estimate.

    A policy is a name, a name with options such as "easy(order=sjf)", "agent:NAME" (see `bfenv
    agents`), or "module:object" from a module that can be imported or is in the current folder. If
    a policy fails, the others are still compared, and the exit status is 1; it is 2 if all fail. If
    jobs request start times, the default leaves out the policies that do not plan for them.

    If a log records start times, its own schedule is the first row, "logged". A second table shows
    how closely each policy repeats that schedule, followed by what is not simulated.

    With several workloads, one table has each policy's mean bounded slowdown on each, the 95 %
    interval of its difference from EASY's job by job, and ratios to EASY's over all.

    With --agent, the agent plays --episodes of the environment's default length, or of half of what
    a small split has after the warm-up, and then one long episode of all jobs of the split. By
    default, these are jobs of the first workload on its card. Several agents share the two tables
    if they are scored on the same jobs. Choose between agents by the long one; a note says where
    the two differ by more than a factor of 1.5, or only the long one shows starved jobs. Random
    actions in the default environment, EASY, easy-saf, every --policy, and the best policy that
    starves no jobs are scored on the same jobs. Agents that sample actions are scored with and
    without sampling.

    An agent is "random", "module:object", an exported network (MODEL.json or
    "agent:NAME"), or a model saved with bfenv.agents.save_model, which needs --trust. Networks and
    models bring the settings of their environment.

    \b
    Examples:
      bfenv evaluate
      bfenv evaluate --policy easy --policy fcfs --load 0.9 --seeds 3 --jobs 2
      bfenv evaluate --policy easy --format csv
      bfenv evaluate -p conservative --metric median_guarantee_ratio --tau 60
      bfenv evaluate -w site.swf.gz -w lublin --split test -p easy-lxf --format latex
      bfenv evaluate --shard 3/20 --format csv
      bfenv evaluate --policy easy --player "./my-scheduler"
      bfenv evaluate --agent random --workload lublin:jobs=3000 --episodes 4
    """
    if agent:
        used = {"--seeds": seeds != 1, "--jobs": jobs != 1, "--shard": shard != "1/1"}
        used |= {"--player": bool(player)}
        used |= {"--metric": bool(metric), "--tau": tau != 10}
        used |= {"--backend": backend != "loky", "--scheduler": scheduler is not None}
        _refuse(used, "with --agent")
        count, part = episodes or EPISODES, split or SPLIT
        if len(workload or ()) > 1:
            raise BfenvError(
                "with --agent, --workload is given once; for agents, --policy agent:NAME"
            )
        one = workload[0] if workload else None
        _evaluate_agents(agent, one, policy or [], load, count, part, trust, format)
        return
    _refuse({"--episodes": episodes is not None, "--trust": trust}, "without --agent")
    from bfenv.analysis.logged import LOGGED
    from bfenv.baselines.registry import policies
    from bfenv.core.policy import Policy
    from bfenv.evaluation.evaluator import evaluate as evaluate_cases
    from bfenv.evaluation.evaluator import plan_runs, workload_cases
    from bfenv.evaluation.row import Row
    from bfenv.parallel.shards import read_shard, take_shard

    players, errors = _find_players(player or [])
    names = workload or [WORKLOAD]
    of_each = {
        one: workload_cases(one, seeds, load, **({} if split is None else {"split": split}))
        for one in names
    }
    cases = [case for own in of_each.values() for case in own]
    named = policy or ([] if player else _able(list(policies()), cases))
    is_several = len(of_each) > 1
    if metric:
        _refuse({"--metric": is_several}, "with several workloads")
    competitors: list[str | Policy] = [*([] if is_several else [LOGGED]), *named, *players]
    total = len(take_shard(plan_runs(competitors, cases), read_shard(shard)))

    def done(row: Row) -> None:
        progress.update(task, advance=1, description=row.policy)

    with show.progress() as progress:
        task = progress.add_task("simulating", total=total)
        rows = evaluate_cases(
            competitors,
            cases,
            full=is_several or bool(metric),
            tau=tau,
            shard=read_shard(shard),
            done=done,
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
        )
    errors += [row.error for row in rows if not row.ok]
    made = [row.flat() for row in rows if row.ok]
    if made and is_several and format not in show.DATA:
        from bfenv.cli.show_policies import over_workloads

        over_workloads([row for row in rows if row.ok], format)
    elif made and format not in show.DATA:
        from bfenv.cli import show_policies
        from bfenv.workloads.logs.cleaning import left_out_text

        trace = cases[0].trace()  # has been loaded for the run
        show_policies.check_metrics(made, metric or ())
        show_policies.comparison(made, format, metric or (), tau)
        if made[0]["policy"] == LOGGED and len(made) > 1:
            _show_log(trace, [row for row in rows if row.ok], format)
        if left_out := left_out_text(trace.cleaning):
            show.prose(f"{left_out}: see `bfenv workloads info {shlex.quote(names[0])}`.")
    elif made or format is Format.json:
        show.rows(made, format)
    elif not errors:
        show.text(f"bfenv: shard {shard} has no runs, because there are too few", file=sys.stderr)
    compared = list(dict.fromkeys(row["policy"] for row in made))
    for one, own in of_each.items():
        for line in _trained_here(compared, one, own[0].trace()):
            show.text(f"bfenv: {line}", file=sys.stderr)
    if errors:
        _show_errors(errors)
        raise typer.Exit(1 if any(row["policy"] != LOGGED for row in made) else 2)


def _find_players(commands: list[str]) -> "tuple[list[Policy], list[str]]":
    """Start each player; return the policies of those that greet, and the errors of the others."""
    from bfenv.leaderboard.referee import find_referee

    if not commands:
        return [], []
    referee = find_referee("--player")
    # All are checked before any is started.
    programs = [referee.check_command(command) for command in commands]
    players, errors = [], []
    for program, command in zip(programs, commands, strict=True):
        try:
            players.append(referee.player_policy(program, command))
        except PolicyError as error:
            errors.append(str(error))
    return players, errors


def _show_errors(errors: list[str]) -> None:
    show.lines(dict.fromkeys(f"bfenv: {error}" for error in errors), sys.stderr)


def _trained_here(names: list[str], workload: str, trace: "Trace") -> list[str]:
    """Say which agents were trained on jobs that they are scored on."""
    from bfenv.agents.card import read_card
    from bfenv.agents.seen_jobs import count_seen

    lines = []
    for name in names:
        if not name.startswith("agent:"):
            continue
        seen = count_seen(trace, 0, len(trace), read_card(name[6:]).seen_jobs, workload)
        if seen:
            lines.append(
                f"{name} was trained on {seen:,} of the {len(trace):,} jobs of {trace.name}; "
                "--split test leaves them out"
            )
    return lines


def _show_log(trace: "Trace", rows: "list[Row]", format: Format) -> None:
    """Print how well the simulations repeat the log, and what they leave out."""
    from bfenv.analysis.logged import cautions, logged_schedule
    from bfenv.cli import show_policies

    show_policies.calibration(rows, format)
    logged = logged_schedule(trace)
    if logged is not None:
        show.prose("What the simulation leaves out, and contradictions in this log:")
        show.prose("\n".join(f"* {caution}" for caution in cautions(logged)))


def _refuse(used: dict[str, bool], where: str) -> None:
    for name in used:
        if used[name]:
            raise BfenvError(f"{name} has no effect {where}")


def _evaluate_agents(
    agents: list[str],
    workload: str | None,
    policies: list[str],
    load: float | None,
    episodes: int,
    split: str,
    trust: bool,
    format: Format,
) -> None:
    """Score each agent on drawn episodes, and on one long episode; print a table for either."""
    import bfenv.envs.settings as st
    import bfenv.evaluation.episodes as ep
    from bfenv.workloads.load import load_workload

    noted = ("decisions", "outside_window", "replaced_actions", "illegal_actions")
    tables: list[list[dict[str, Any]]] = []
    errors: list[str] = []
    for agent in agents:
        own = workload or ep.workload_of(agent)
        trace = load_workload(own or st.WORKLOAD, **({} if load is None else {"load": load}))
        if workload is None:
            reason = "which is on its card" if own else "as no card names a workload that is here"
            line = f"{agent} plays the split {split} of {own or st.WORKLOAD}, {reason}"
            show.lines([f"bfenv: {line}; see --workload"], sys.stderr)
        for length, count in {ep.short_length(trace, split): episodes, None: 1}.items():
            with show.share_done(f"{agent[-14:]}, {count} episodes") as watch:
                rows = ep.evaluate_agent(
                    agent,
                    trace,
                    episodes=count,
                    trust=trust,
                    references=[*ep.REFERENCES, *policies],
                    failed=lambda policy, error: errors.append(str(error)),
                    watch=watch,
                    split=split,
                    episode_jobs=length,
                )
            identity = {
                "agent": agent,
                "workload": trace.name,
                "processors": trace.processors,
                "offered_load": trace.offered_load,
                "split": split,
                "episodes": count,
                "episode_jobs": length,
                "jobs": rows[0].jobs // count,
            }
            best = ep.best_policies(rows)
            tables.append(
                [
                    identity
                    | {"policy": row.policy}
                    | dict.fromkeys(noted, 0)  # policies make no decisions of the environment
                    | dict(row.metrics)
                    | {"starves": ep.starves(row), "best": row in best, "division": row.division}
                    for row in rows
                ]
            )
    if format not in show.DATA:
        from bfenv.cli import show_agents

        for table in show_agents.merged(tables):
            show_agents.scores(table, format)
        pairs = zip(tables[::2], tables[1::2], strict=True)
        differences = [note for pair in pairs for note in show_agents.disagreements(*pair)]
        if differences:
            show.prose("\n".join(dict.fromkeys(differences)) + "\n")
    else:
        show.rows([row for table in tables for row in table], format)
    if errors:
        _show_errors(errors)
        raise typer.Exit(1)


def _able(names: list[str], cases: "list[Case]") -> list[str]:
    """Return the policies that can schedule all jobs; print which cannot to stderr."""
    from bfenv.evaluation.evaluator import able_policies

    able = able_policies(names, cases)
    if unable := [name for name in names if name not in able]:
        what = "left out, because they do not plan for requested start times"
        show.text(f"bfenv: {what}: {', '.join(unable)}", file=sys.stderr)
    return able
