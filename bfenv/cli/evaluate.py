"""The command `bfenv evaluate`."""

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

import bfenv.cli.options as o
from bfenv.cli import show
from bfenv.cli.show import Format
from bfenv.core.durations import TAU
from bfenv.core.errors import BfenvError, PolicyError

if TYPE_CHECKING:
    from bfenv.agents.agent_policy import AgentCompetitor
    from bfenv.core.jobs import Trace
    from bfenv.core.policy import Policy
    from bfenv.evaluation.cases import Case, Episodes
    from bfenv.evaluation.evaluator import Named
    from bfenv.evaluation.row import Row

EPISODES = 16  # ten tell schedulers apart, see `python -m benchmarks episodes`
SPLIT = "test"
WORKLOAD = "lublin"


def evaluate(
    workload: list[str] | None = o.option(
        None,
        "WORKLOAD",
        f"Name or SWF file; repeat for several.  [default: {WORKLOAD}; for an --agent, the first "
        "on its card]",
        "--workload",
        "-w",
    ),
    policy: list[str] | None = o.option(
        None, "POLICY", "Repeat for several. Default: all policies.", "--policy", "-p"
    ),
    player: o.PlayersOption = None,
    agent: list[str] | None = o.option(
        None,
        "AGENT",
        "Agent, saved model or policy that acts in the environment; repeat for several.",
        "--agent",
        "-a",
    ),
    episodes: int | None = o.option(
        None,
        "N",
        f"Score on episodes of the environment.  [default: {EPISODES} with --agent]",
        min=1,
    ),
    long: bool = typer.Option(
        False, "--long", help="Also score on one long episode: all jobs of the split."
    ),
    split: str | None = o.option(
        None, "SPLIT", f"Part of the workload.  [default: {SPLIT} for episodes, or else all]"
    ),
    trust: bool = typer.Option(
        False, "--trust", help="Load saved models, although they can execute any code."
    ),
    seeds: int = o.option(1, "N", "Number of seeds, from 0.", min=1),
    load: o.LoadOption = None,
    metric: list[str] | None = o.option(
        None, "NAME", "Add a column with a metric of the rows; repeat for several."
    ),
    tau: int = o.option(
        TAU, "SECONDS", "Bound of the slowdowns: shorter runtimes count as this long.", min=1
    ),
    jobs: o.JobsOption = 1,
    backend: o.BackendOption = "loky",
    scheduler: o.SchedulerOption = None,
    shard: o.ShardOption = "1/1",
    format: o.FormatOption = Format.table,
) -> None:
    """Compare schedulers on the same jobs: policies, agents, models and programs.

    Without --agent, policies run on whole workloads. With --agent, all schedulers play the same
    episodes of the environment. The table has the agent, random actions with as many slots, EASY
    and every --policy (by default conservative, easy-random, los, the best known order of jobs, and
    the best policy that starves no job).

    \b
      bfenv evaluate --policy easy --policy fcfs --load 0.9 --seeds 3
      bfenv evaluate --agent model.zip --trust

    Details:

    The table shows means over seeds, and the 5th and 95th percentile of the bounded slowdown; json
    and csv show every run. A seed sets the jobs of a generated workload and the decisions of a
    stochastic policy. Only run times depend on --jobs. --metric takes any name that --format csv
    shows, such as slowdown_ratio_small_estimate.

    A policy is a name, a name with options such as "easy(order=sjf)", "agent:NAME" (see `bfenv
    agents`), or "module:object" from a module that can be imported or is in the current folder. If
    a policy fails, the others are still compared, and the exit status is 1. If all fail, it is 2.
    If jobs request start times, the default leaves out the policies that do not plan for them.

    An agent is "random", the name of a policy, "module:object", an exported network
    (MODEL.json or "agent:NAME"), or a model saved with bfenv.agents.save_model, which needs
    --trust. Settings of the environment may follow a name, as in "easy:reservations=1". Networks
    and models have their settings on their cards. Agents that sample actions are scored with and
    without sampling. A column shows the share of an agent's actions that the rules of the
    environment replaced.

    The best policy that starves no job is chosen on the same episodes, from the policies of the
    table and a few others. A note lists them. It has the lowest penalized slowdown of those that
    starve a job in no episode.

    Episodes have the environment's default length. On a small split, they have half of the jobs
    that follow the warm-up. With --long, a note lists the agents whose long episode differs from
    the others by more than a factor of 1.5, and agents that starve jobs only in the long episode.

    If a log records start times, the first row is the log's schedule, "logged". A second table
    shows how closely each policy repeats that schedule, and lists what is not simulated.

    With several workloads, the table has each policy's mean bounded slowdown on each workload, the
    95 % interval of its difference from EASY's job by job, and ratios to EASY's over all workloads.

    \b
    Examples:
      bfenv evaluate --policy easy --format csv
      bfenv evaluate -p conservative --metric median_guarantee_ratio --tau 60
      bfenv evaluate -w site.swf.gz -w lublin --split test -p easy-lxf --format latex
      bfenv evaluate --workload lublin:jobs=500 --shard 3/20 --format csv
      bfenv evaluate --policy easy --player "./my-scheduler"
      bfenv evaluate --agent random --agent easy --workload lublin:jobs=3000 --episodes 2
    """
    players, errors = _find_players(player or [])
    plays_episodes = bool(agent) or episodes is not None or long
    workers = {"jobs": jobs, "backend": backend, "scheduler": scheduler}
    if plays_episodes:
        used = {"--seeds": seeds != 1, "--shard": shard != "1/1"}
        _refuse(used | {"--metric": bool(metric)}, "on episodes")
        from bfenv.workloads.load import load_workload

        agents_of = _by_workload(agent or [], workload, split or SPLIT)
        options: dict[str, Any] = {} if load is None else {"load": load}
        # all are loaded before the first is played, so that a wrong one costs nothing
        traces = {name: name and load_workload(name, **options) for name in agents_of}
        for name, group in agents_of.items():
            errors += _on_episodes(
                trace=traces[name] or None,
                options=options,
                agents=group,
                policies=[*(policy or []), *players],
                has_policies=bool(policy),
                count=episodes or EPISODES,
                long=long,
                split=split or SPLIT,
                tau=tau,
                trust=trust,
                workers=workers,
                format=format,
            )
    else:
        _refuse({"--trust": trust}, "without --agent")
        _refuse({"--metric": bool(metric) and len(workload or ()) > 1}, "with several workloads")
        errors += _on_traces(
            workloads=workload or [WORKLOAD],
            policies_given=policy or [],
            players=players,
            has_players=bool(player),  # also if none of them could be started
            load=load,
            seeds=seeds,
            split=split,
            metrics=list(dict.fromkeys(metric or [])),
            tau=tau,
            shard=shard,
            workers=workers,
            format=format,
        )
    if errors:
        show.lines(dict.fromkeys(f"bfenv: {error}" for error in errors), sys.stderr)
        raise typer.Exit(1)


def _on_traces(
    *,
    workloads: Sequence[str],
    policies_given: Sequence[str],
    players: "Sequence[Policy]",
    has_players: bool,
    load: float | None,
    seeds: int,
    split: str | None,
    metrics: Sequence[str],
    tau: int,
    shard: str,
    workers: dict[str, Any],
    format: Format,
) -> list[str]:
    """Compare policies on whole workloads, print the table, and return the errors."""
    from bfenv.analysis.logged import LOGGED
    from bfenv.baselines.registry import find_competitor, policies
    from bfenv.evaluation.cases import workload_cases
    from bfenv.evaluation.evaluator import evaluate as evaluate_cases
    from bfenv.parallel.shards import read_shard

    options = {} if split is None else {"split": split}
    cases_of = {name: workload_cases(name, seeds, load, **options) for name in workloads}
    is_several = len(cases_of) > 1
    cases = _labelled(cases_of) if is_several else next(iter(cases_of.values()))
    names = policies_given or ([] if has_players else _compatible(list(policies()), cases))
    competitors: list[Named] = [*names, *players]
    by_name = {find_competitor(competitor).name: competitor for competitor in competitors}
    with show.share_done("jobs started", patience=0) as watch:
        rows = evaluate_cases(
            [*([] if is_several else [LOGGED]), *by_name.values()],
            cases,
            full=is_several or bool(metrics),
            tau=tau,
            shard=read_shard(shard),
            watch=watch,
            **workers,
        )
    errors = [row.failure for row in rows if not row.ok]
    complete = [row for row in rows if row.ok]
    if complete and format not in show.DATA:
        _show_traces(complete, workloads, cases[0].trace(), is_several, split, metrics, tau, format)
        if shard != "1/1":
            line = f"bfenv: this is shard {shard}, so means are over a part of the runs"
            show.text(f"{line}; --format csv has each", file=sys.stderr)
    elif complete or format is Format.json:
        show.rows([row.flat() for row in complete], format)
    elif not errors:
        show.text(f"bfenv: shard {shard} has no runs, because there are too few", file=sys.stderr)
    if seeds > 1 and shard == "1/1" and rows and not any(row.seed for row in rows):
        line = "the jobs do not depend on a seed here, and neither do the policies"
        show.text(f"bfenv: --seeds {seeds} has no effect: {line}", file=sys.stderr)
    for name, group in cases_of.items():
        for line in _trained_here([row.policy for row in complete], name, group[0].trace()):
            hint = "" if split else "; --split test leaves them out"
            show.text(f"bfenv: {line}{hint}", file=sys.stderr)
    if errors and not any(row.policy != LOGGED for row in complete):
        show.lines(dict.fromkeys(f"bfenv: {error}" for error in errors), sys.stderr)
        raise typer.Exit(2)
    return errors


def _labelled(cases_of: "dict[str, list[Case]]") -> "list[Case]":
    """Return all cases, with one name for each workload, and for no other.

    Seeds of a generated workload may be split at other jobs, which are in the names of their
    traces. Two workloads whose traces have one name are called as they were asked for.
    """
    names_of = {
        workload: {case.trace().name for case in group} for workload, group in cases_of.items()
    }
    labelled = []
    for workload, group in cases_of.items():
        names = names_of[workload]
        names_elsewhere = {name for key in names_of if key != workload for name in names_of[key]}
        (base,) = {name.partition("[")[0] for name in names}
        label = "" if len(names) == 1 else base
        if names_elsewhere & {*names, label}:
            label = workload
        labelled += [case._replace(label=label) for case in group]
    return labelled


def _show_traces(
    rows: "Sequence[Row]",
    workloads: Sequence[str],
    trace: "Trace",
    is_several: bool,
    split: str | None,
    metrics: Sequence[str],
    tau: int,
    format: Format,
) -> None:
    """Print the tables of whole workloads."""
    from bfenv.analysis.logged import LOGGED
    from bfenv.cli import show_policies
    from bfenv.workloads.logs.cleaning import left_out_text

    if is_several:
        seeds = len({row.seed for row in rows})
        show_policies.over_workloads(rows, format, split, seeds, tau)
        return
    show_policies.check_metrics([row.flat() for row in rows], metrics)
    show_policies.comparison(rows, format, metrics, tau)
    if rows[0].policy == LOGGED and len(rows) > 1:
        _show_log(trace, rows, format)
    if left_out := left_out_text(trace.cleaning):
        show.prose(f"{left_out}: see `bfenv workloads info {shlex.quote(workloads[0])}`.", format)


def _on_episodes(
    *,
    trace: "Trace | None",
    options: dict[str, Any],
    agents: Sequence[str],
    policies: "Sequence[Named]",
    has_policies: bool,
    count: int,
    long: bool,
    split: str,
    tau: int,
    trust: bool,
    workers: dict[str, Any],
    format: Format,
) -> list[str]:
    """Score agents and policies on the same episodes, print the tables, and return the errors."""
    import bfenv.evaluation.agent_scores as scores
    from bfenv.cli import show_agents
    from bfenv.evaluation.cases import Episodes, short_length
    from bfenv.evaluation.evaluator import evaluate as evaluate_cases
    from bfenv.evaluation.summary import REFERENCE

    if not agents and not policies:
        raise BfenvError("episodes need --agent or --policy")
    settings = {"split": split, "episode_jobs": short_length(trace, split), "tau": tau}
    settings |= options if trace is None else {}
    cases = [Episodes(trace, count, 0, settings)]
    if long:
        cases.append(Episodes(trace, 1, 0, settings | {"episode_jobs": None}))
    opened: list[AgentCompetitor] = []
    for agent in agents:
        opened += scores.agents_of(agent, cases[0], trust=trust)
    candidates: tuple[str, ...] = ()
    if agents:
        references = [REFERENCE] if has_policies else list(scores.REFERENCES)
        policies = [*_compatible(references, cases), *policies]
        candidates = () if has_policies else scores.CANDIDATES
    competitors, candidates = scores.lineup(opened, policies, candidates, cases)
    with show.share_done("jobs started", patience=0) as watch:
        rows = evaluate_cases(competitors, cases, watch=watch, **workers)
    errors = [row.failure for row in rows if not row.ok]
    tables = []
    for k, case in enumerate(cases):
        rows_there = rows[k * len(competitors) : (k + 1) * len(competitors)]
        complete = scores.without_candidates([row for row in rows_there if row.ok], candidates)
        tables.append(show_agents.scored(complete, case))
    if format in show.DATA:
        show.rows([line for table in tables for line in table], format)
        return errors
    for table in tables:
        show_agents.scores(table, format, candidates)
    if long and (differences := show_agents.disagreements(*tables)):
        show.prose("\n".join(dict.fromkeys(differences)) + "\n", format)
    return errors


def _by_workload(
    agents: Sequence[str], workloads: Sequence[str] | None, split: str
) -> dict[str, list[str]]:
    """Return the agents that play each workload: the given ones, or the first on its card.

    "" is the default workload of the environment.
    """
    if workloads:
        return {name: list(agents) for name in workloads}
    if not agents:
        return {WORKLOAD: []}
    from bfenv.agents.agent_names import find_agent, read_agent
    from bfenv.evaluation.agent_scores import workload_of
    from bfenv.evaluation.episodes import DEFAULT

    for agent in agents:
        if not read_agent(agent).is_saved:
            find_agent(agent)  # an unknown one is refused before anything is said of another
    groups: dict[str, list[str]] = {}
    for agent in agents:
        name = workload_of(agent) or ""
        groups.setdefault(name, []).append(agent)
        reason = "which is on its card" if name else "as no card names a workload that is here"
        line = f"bfenv: {agent} plays the split {split} of {name or DEFAULT}, {reason}"
        show.lines([f"{line}; see --workload"], sys.stderr)
    return groups


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


def _trained_here(names: Sequence[str], workload: str, trace: "Trace") -> list[str]:
    """Say which agents were trained on jobs that they are scored on."""
    from bfenv.agents.card import SHIPPED, read_card
    from bfenv.agents.seen_jobs import count_seen

    lines = []
    for name in dict.fromkeys(names):
        if not name.startswith(SHIPPED):
            continue
        seen_jobs = read_card(name.removeprefix(SHIPPED)).seen_jobs
        seen = count_seen(trace, 0, len(trace), seen_jobs, workload)
        if seen:
            lines.append(
                f"{name} was trained on {seen:,} of the {len(trace):,} jobs of {trace.name}"
            )
    return lines


def _show_log(trace: "Trace", rows: "Sequence[Row]", format: Format) -> None:
    """Print how well the simulations repeat the log, and what they leave out."""
    from bfenv.analysis.logged import cautions, logged_schedule
    from bfenv.cli import show_policies

    show_policies.calibration(rows, format)
    logged = logged_schedule(trace)
    if logged is not None:
        show.prose("What the simulation leaves out, and contradictions in this log:", format)
        show.prose("\n".join(f"* {caution}" for caution in cautions(logged)), format)


def _refuse(used: dict[str, bool], context: str) -> None:
    for name in used:
        if used[name]:
            raise BfenvError(f"{name} has no effect {context}")


def _compatible(names: list[str], cases: "Sequence[Case | Episodes]") -> list[str]:
    """Return the policies that can schedule all jobs; print which cannot to stderr."""
    from bfenv.evaluation.evaluator import compatible_policies

    compatible = compatible_policies(names, cases)
    if unable := [name for name in names if name not in compatible]:
        reason = "left out, because they do not plan for requested start times"
        show.text(f"bfenv: {reason}: {', '.join(unable)}", file=sys.stderr)
    return compatible
