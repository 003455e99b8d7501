"""Score an agent on episodes, beside policies on the very same jobs."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from bfenv.agents.agent_names import SHIPPED, open_agent, read_agent
from bfenv.agents.card import ACTING, read_card
from bfenv.agents.player import Played, play
from bfenv.agents.random import RandomAgent
from bfenv.agents.seen_jobs import count_seen
from bfenv.analysis.comparison import STARVES
from bfenv.analysis.formatting import percent
from bfenv.baselines.registry import find_policy, policies
from bfenv.core.arguments import check_integer
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.policy import CLAIRVOYANT, Policy, division_of, plans_for
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.episode_source import EpisodeWindow
from bfenv.envs.settings import DEFAULTS, WORKLOAD, EnvSettings, Workloads
from bfenv.envs.warm_up import start_times
from bfenv.evaluation.row import Row, new_row
from bfenv.parallel.failures import as_policy_error
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import split_range

BASE = "easy"  # what all are compared with
REFERENCES = (BASE, "easy-saf")
FAMILIES = ("easy", "los")  # the registered ones of these are candidates for the best policy
RANDOM = "random"  # name of the agent that learns nothing
MANY_OUTSIDE = 0.05  # share of decisions with jobs outside the window that reports warn of


Plan = Sequence[tuple[int, dict[str, Any] | None]]  # seed and options of `reset` of each episode


class Waits(NamedTuple):
    """The waits of an episode's jobs, from which all metrics follow."""

    wait: np.ndarray  # (n,) int64 seconds
    bounded_slowdown: np.ndarray  # (n,) float64


def evaluate_agent(
    agent: Any,
    workload: Workloads = WORKLOAD,
    *,
    episodes: int = 16,
    seed: int = 0,
    deterministic: bool | None = None,
    trust: bool = False,
    references: Sequence[str | Policy] = REFERENCES,
    failed: Callable[[Policy, PolicyError], None] | None = None,
    watch: Callable[[Callable[[], float]], None] = lambda share: None,
    **settings: Unpack[EnvSettings],
) -> list[Row]:
    """Play episodes, and score random actions and policies on the same jobs.

    Args:
        agent: What `open_agent` takes: a name, such as "random", "module:object" or "model.zip"; an
            object with the `predict` of stable-baselines3; or a function that makes one from an
            environment. Masks are passed if `predict` takes them; the illegal choices of other
            models of stable-baselines3 are replaced by the best legal ones.
        workload: As of `BackfillEnv`.
        **settings: As of `BackfillEnv`. `split` is "test" by default. A saved model brings the
            settings that it was trained with; give those of any other agent.
        episodes, seed: How many; episode k has the seed `seed + k`. With `episode_jobs=None` each
            trace is played once, from the warm-up to the end of the split.
        deterministic: Passed to `predict`; None scores agents that sample actions both ways.
        trust: Open saved models, which may run any code.
        references: Policies to score on the same jobs.
        failed: Called with each reference that fails, and the error; the reference has no row then.
            By default, the first error is raised.
        watch: Called once, with a function that returns which share of the episodes has been
            played.

    Returns:
        The agent, or the agent and "... (sampled)"; "random", which acts in the default environment
        with your `settings`; the references; and, if it is not among them, the best registered
        variant of EASY or LOS that starves no jobs. Policies see every waiting job and need no
        masks. Compare rows of one division only. The metrics are means over the episodes of the
        means over their jobs, "p95_wait" and "max_wait" of all jobs, "slowdown_ratio" and
        "longest_wait_ratio" to EASY, "mean_reward" and "reward_deviation" mean and standard
        deviation of the sum of the rewards "log_ratio"; of agents, also "decisions", the share
        "outside_window" of them at which jobs waited outside the window, "replaced_actions", the
        illegal ones that the model's best legal one replaced, and "illegal_actions", which counted
        as the pass.

    Raises:
        BfenvError: If a setting is wrong or contradicts those that the agent was trained with, the
            agent cannot be opened, it was trained on jobs that it is to be scored on, it raises
            anything, or a reference does and `failed` is not given.

    Examples:
        >>> from bfenv.evaluation import evaluate_agent
        >>> rows = evaluate_agent("random", episodes=1, episode_jobs=20, references=["easy"])
        >>> [row.policy for row in rows][:2]
        ['random', 'easy']
    """
    check_integer("episodes", episodes, 1)
    seed = check_integer("seed", seed, 0)
    opened = open_agent(agent, trust=trust)
    chosen = opened.settings_with({"split": "test", **settings})
    steps = chosen.get("max_episode_steps")
    if steps is not None:
        raise BfenvError(
            "max_episode_steps must be None, because agents are scored on whole episodes, "
            f"got {steps!r}"
        )
    env = BackfillEnv(workload, **chosen)
    traces = env.batch.source.traces
    for trace, bounds in zip(traces, env.batch.source.splits, strict=True):
        opened.check_unseen(trace, *bounds)
    plan: Plan = [(each, None) for each in range(seed, seed + episodes)]
    if chosen.get("episode_jobs", 0) is None:
        plan = [(seed, {"trace": k}) for k in range(len(traces))]
    windows = []
    for each, options in plan:
        env.reset(seed=each, options=options)
        windows += [window for window in env.batch.windows if window is not None]
    waits = _score_policies(traces, windows, references, failed)
    easy = waits[BASE] if BASE in waits else next(iter(waits.values()))

    def row_of(name: str, kind: str, trials: bool) -> Row:
        """Return a row without metrics of an agent or a policy."""
        divisions = {division_of(trials, trace) for trace in traces}
        return new_row(
            traces[0],
            policy=name,
            kind=kind,
            workload=", ".join(dict.fromkeys(trace.name for trace in traces)),
            source=workload if isinstance(workload, str) else traces[0].name,
            offered_load=None,
            seed=seed,
            division=min(divisions - {CLAIRVOYANT}, default=CLAIRVOYANT),  # only if all traces are
        )

    modes = [True, False] if deterministic is None else [deterministic]
    with as_policy_error(opened.name):
        first = opened.make(env, seed)
        is_sampling = getattr(first, "samples", getattr(first, "stochastic", True))
    acting = [
        (opened.name + ("" if mode else " (sampled)"), env, opened.make, mode)
        for mode in (modes if is_sampling else modes[:1])
    ]
    if opened.name != RANDOM:
        default: Any = {
            key: value for key, value in chosen.items() if key in settings or key not in ACTING
        }
        acting.append((RANDOM, BackfillEnv(workload, **default), RandomAgent, False))
    played: list[Played] = []
    current = env

    def share() -> float:
        jobs, unstarted = len(current.episode_jobs), current.unstarted
        now = 1 - unstarted / jobs if jobs and unstarted else 0.0  # no jobs before the first reset
        return min((len(played) + now) / (len(acting) * len(plan)), 1.0)

    watch(share)
    rows = []
    for name, current, make, mode in acting:
        row = row_of(name, "agent", current.batch.settings["trial_limit"] is not None)
        with as_policy_error(name):
            rows.append(_play_all(current, row, make, plan, mode, easy, played))
    scored = [
        _scored(row_of(name, "policy", policy.trials), waits[name], easy)
        for name, policy in _known(references).items()
        if name in waits
    ]
    shown = {find_policy(one).name for one in references}
    best = [row for row in best_policies(scored) if row.policy not in shown]
    return rows + [row for row in scored if row.policy in shown] + best


def workload_of(agent: str) -> str | None:
    """Return the first workload on an agent's card that can be loaded; None without any.

    A model's card names traces; the jobs of a generated one cannot be made again from its name.
    """
    name = read_agent(agent)
    if not (name.is_saved or name.is_network):
        return None
    card = read_card(name.base.removeprefix(SHIPPED))
    training = card.found.get("settings", {}).get("workload") or [
        span.trace.partition("@")[0] for span in card.trained_on
    ]
    for workload in dict.fromkeys([training] if isinstance(training, str) else training):
        with suppress(BfenvError, FileNotFoundError):
            trace = load_workload(workload)
            if count_seen(trace, 0, len(trace), card.trained_on):
                return str(workload)
    return None


def short_length(trace: Trace, split: str) -> int:
    """Return the default `episode_jobs`, or half of what a small split has after the warm-up."""
    usual, warmup_jobs = DEFAULTS["episode_jobs"], DEFAULTS["warmup_jobs"]
    assert usual is not None
    first, last = split_range(trace, split)
    room = last - first - warmup_jobs
    return usual if room >= usual else max(1, room // 2)


def starves(row: Row) -> bool:
    """Whether a row's longest wait is beyond STARVES times EASY's: starved jobs buy its mean."""
    return (row.metrics["longest_wait_ratio"] or 0.0) > STARVES


def best_policies(rows: Sequence[Row]) -> list[Row]:
    """Return the policy of the lowest mean slowdown that starves no jobs, of each division."""
    fair = [row for row in rows if row.kind == "policy" and not starves(row)]
    fair.sort(key=lambda row: row.metrics["mean_bounded_slowdown"] or 0.0, reverse=True)
    return list({row.division: row for row in fair}.values())  # the last of each division


def _known(references: Sequence[str | Policy]) -> dict[str, Policy]:
    """Return the references and the candidates by name."""
    chosen = [find_policy(one) for one in references]
    chosen += [
        policy
        for name, policy in policies().items()
        if name.startswith(FAMILIES) and not policy.stochastic and not policy.trials
    ]
    found: dict[str, Policy] = {}
    for policy in chosen:
        found.setdefault(policy.name, policy)
    return found


def _play_all(
    env: BackfillEnv,
    row: Row,
    make: Callable[[BackfillEnv, int], Any],
    plan: Plan,
    deterministic: bool,
    easy: Sequence[Waits],
    played: list[Played],
) -> Row:
    """Play all episodes with the agents that `make` returns, and add what they did to a row."""
    waits, begin = [], len(played)
    for seed, options in plan:
        agent = make(env, seed)
        played.append(play(env, agent, seed, deterministic=deterministic, options=options))
        waits.append(_waits(env.trace, env.episode_jobs.start, played[-1].times.start))
    own = played[begin:]
    decisions = sum(len(one.seconds) for one in own)
    outside = sum(one.info["metrics"]["outside_window"] * len(one.seconds) for one in own)
    noted = {
        "decisions": decisions,
        "outside_window": outside / decisions,
        "replaced_actions": sum(one.replaced_actions for one in own),
        "illegal_actions": sum(one.info["illegal_actions"] for one in own),
    }
    row = _scored(row, waits, easy)
    return replace(row, metrics={**row.metrics, **noted})


def _score_policies(
    traces: Sequence[Trace],
    windows: Sequence[EpisodeWindow],
    references: Sequence[str | Policy],
    failed: Callable[[Policy, PolicyError], None] | None,
) -> dict[str, list[Waits]]:
    """Return what the references and the candidates make of the windows' jobs, by name."""
    waits = {}
    for policy in _known(references).values():
        if all(plans_for(policy, trace.jobs) for trace in traces):
            try:
                with as_policy_error(policy.name):
                    waits[policy.name] = [
                        _waits(traces[w.k], w.first, start_times(policy, traces[w.k], w))
                        for w in windows
                    ]
            except PolicyError as error:
                if failed is None:
                    raise
                failed(policy, error)
    if not waits:
        raise BfenvError("no reference plans for requested start times: give references")
    return waits


def outside_note(name: str, share: float) -> str:
    """Say at which share of an agent's decisions jobs waited outside the window."""
    learns = re.split("[: ]", name)[0] != RANDOM  # options and "(sampled)" may follow
    hint = "; train with a larger one to show them all" if learns else ""
    return f"{name}: at {percent(share)} of its decisions jobs waited outside the window{hint}"


def _waits(trace: Trace, first: int, start: np.ndarray) -> Waits:
    """Return the waits of the jobs from `first` on, which start at these times."""
    jobs = slice(first, first + len(start))
    wait = start - trace.jobs.submit[jobs]
    return Waits(wait, bounded_slowdown(wait, trace.runtime[jobs]))


def _scored(row: Row, episodes: Sequence[Waits], easy: Sequence[Waits]) -> Row:
    """Add jobs and metrics to a row."""
    slowdown, slowdown_easy = (
        float(np.mean([one.bounded_slowdown.mean() for one in each])) for each in (episodes, easy)
    )
    waits = np.concatenate([one.wait for one in episodes])
    longest, longest_easy = (
        float(max(one.wait.max() for one in each)) for each in (episodes, easy)
    )
    rewards = [
        np.log(usual.bounded_slowdown.mean() / own.bounded_slowdown.mean())
        for own, usual in zip(episodes, easy, strict=True)
    ]
    metrics = {
        "mean_bounded_slowdown": slowdown,
        "mean_wait": float(np.mean([one.wait.mean() for one in episodes])),
        "p95_wait": float(np.percentile(waits, 95)),
        "max_wait": longest,
        "slowdown_ratio": slowdown / slowdown_easy,
        "longest_wait_ratio": longest / max(longest_easy, 1.0),
        "mean_reward": float(np.mean(rewards)),
        "reward_deviation": float(np.std(rewards)),
    }
    return replace(row, jobs=len(waits), metrics=metrics)
