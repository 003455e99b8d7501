"""Score an agent on episodes, beside policies on the very same jobs."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from bfenv.agents.agent_names import open_agent
from bfenv.agents.player import play
from bfenv.agents.random import RandomAgent
from bfenv.analysis.comparison import STARVES
from bfenv.analysis.formatting import percent
from bfenv.baselines.registry import find_policy, policies
from bfenv.core.arguments import check_integer
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.policy import COMPLETION, TRIALS, Policy, division_of, plans_for
from bfenv.core.schedule import bounded_slowdown
from bfenv.core.versions import versions
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.episode_source import EpisodeWindow
from bfenv.envs.settings import WORKLOAD, EnvSettings, Workloads
from bfenv.envs.warm_up import start_times
from bfenv.evaluation.row import Row
from bfenv.parallel.failures import as_policy_error

BASE = "easy"  # what all are compared with
REFERENCES = (BASE, "easy-saf")
FAMILIES = ("easy", "los")  # the registered ones of these are candidates for the best policy
RANDOM = "random"  # name of the agent that learns nothing
MANY_OUTSIDE = 0.05  # share of decisions with jobs outside the window that reports warn of


class Episode(NamedTuple):
    """How an episode is drawn."""

    seed: int
    options: dict[str, Any] | None  # of the environment's `reset`


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
    **settings: Unpack[EnvSettings],
) -> list[Row]:
    """Play episodes, and score random actions and policies on the same jobs.

    Parameters
    ----------
    agent
        What `open_agent` takes: a name, such as "random", "module:object" or "model.zip"; an object
        with the `predict` of stable-baselines3; or a function that makes one from an environment.
        Masks are passed if `predict` takes them; the illegal choices of other models of
        stable-baselines3 are replaced by the best legal ones.
    workload
        As of `BackfillEnv`.
    **settings : EnvSettings
        As of `BackfillEnv`. `split` is "test" by default. A saved model brings the settings that it
        was trained with; give those of any other agent.
    episodes, seed
        How many; episode k has the seed `seed + k`. With `episode_jobs=None` each trace is played
        once, from the warm-up to the end of the split.
    deterministic
        Passed to `predict`; None scores agents that sample actions both ways.
    trust
        Open saved models, which may run any code.
    references
        Policies to score on the same jobs.
    failed
        Called with each reference that fails, and the error; the reference has no row then. By
        default, the first error is raised.

    Returns
    -------
    list[Row]
        The agent, or the agent and "... (sampled)"; "random"; the references; and, if it is not
        among them, the best registered variant of EASY or LOS that starves no jobs. Policies see
        every waiting job and need no masks. Compare rows of one division only. The metrics are
        means over the episodes of the means over their jobs, "p95_wait" and "max_wait" of all jobs,
        "slowdown_ratio" and "longest_wait_ratio" to EASY; of agents, also "decisions", the share
        "outside_window" of them at which jobs waited outside the window, "replaced_actions", the
        illegal ones that the model's best legal one replaced, and "illegal_actions", which counted
        as the pass.

    Raises
    ------
    BfenvError
        If a setting is wrong or contradicts those that the agent was trained with, the agent cannot
        be opened, it was trained on jobs that it is to be scored on, it raises anything, or a
        reference does and `failed` is not given.

    Examples
    --------
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
    plan = [Episode(each, None) for each in range(seed, seed + episodes)]
    if chosen.get("episode_jobs", 0) is None:
        plan = [Episode(seed, {"trace": k}) for k in range(len(traces))]
    windows = [_window(env, one) for one in plan]
    policy_waits = _score_policies(env, windows, references, failed)
    easy = policy_waits[BASE] if BASE in policy_waits else next(iter(policy_waits.values()))
    modes = [True, False] if deterministic is None else [deterministic]
    played = Row(
        suite="",
        policy=RANDOM,
        kind="agent",
        workload=", ".join(dict.fromkeys(trace.name for trace in traces)),
        source=workload if isinstance(workload, str) else traces[0].name,
        workload_hash=f"sha256:{traces[0].hash}",
        processors=traces[0].processors,
        jobs=0,
        load=None,
        offered_load=None,
        seed=seed,
        status="ok",
        versions=versions(),
        commit=None,
        command="",
        division=_division(chosen.get("trial_limit") is not None, traces),
    )
    rows = []
    with as_policy_error(opened.name):
        for mode in modes if _samples(opened.make(env, seed)) else modes[:1]:
            name = opened.name if mode else f"{opened.name} (sampled)"
            row = replace(played, policy=name)
            rows.append(_play_all(env, row, opened.make, plan, mode, easy))
    if opened.name != RANDOM:
        rows.append(_play_all(env, played, RandomAgent, plan, False, easy))
    scored = [
        _scored(
            replace(played, policy=name, kind="policy", division=_division(policy.trials, traces)),
            policy_waits[name],
            easy,
        )
        for name, policy in _known(references).items()
        if name in policy_waits
    ]
    shown = {find_policy(one).name for one in references}
    best = [row for row in best_policies(scored) if row.policy not in shown]
    return rows + [row for row in scored if row.policy in shown] + best


def starves(row: Row) -> bool:
    """Whether a row's longest wait is beyond STARVES times EASY's: starved jobs buy its mean."""
    return (row.metrics["longest_wait_ratio"] or 0.0) > STARVES


def best_policies(rows: Sequence[Row]) -> list[Row]:
    """Return the policy of the lowest mean slowdown that starves no jobs, of each division."""
    fair = [row for row in rows if row.kind == "policy" and not starves(row)]
    fair.sort(key=lambda row: row.metrics["mean_bounded_slowdown"] or 0.0, reverse=True)
    return list({row.division: row for row in fair}.values())  # the last of each division


def _division(trials: bool, traces: Sequence[Trace]) -> str:
    """Return the division of rows on several traces; they are clairvoyant if all traces are."""
    found = {division_of(trials, trace) for trace in traces}
    return found.pop() if len(found) == 1 else TRIALS if trials else COMPLETION


def _known(references: Sequence[str | Policy]) -> dict[str, Policy]:
    """Return the references and the candidates by name."""
    chosen = [find_policy(one) for one in references]
    chosen += [one for name, one in policies().items() if _is_candidate(name, one)]
    found: dict[str, Policy] = {}
    for policy in chosen:
        found.setdefault(policy.name, policy)
    return found


def _samples(agent: Any) -> bool:
    """Tell whether `deterministic` may change what an agent does."""
    return bool(getattr(agent, "samples", getattr(agent, "stochastic", True)))


def _window(env: BackfillEnv, episode: Episode) -> EpisodeWindow:
    """Return the window of jobs of an episode."""
    env.reset(seed=episode.seed, options=episode.options)
    window = env.batch.windows[0]
    assert window is not None, "the environment has been reset"
    return window


def _play_all(
    env: BackfillEnv,
    row: Row,
    make: Callable[[BackfillEnv, int], Any],
    plan: Sequence[Episode],
    deterministic: bool,
    easy: Sequence[Waits],
) -> Row:
    """Play all episodes with the agents that `make` returns, and add what they did to a row."""
    waits, played = [], []
    for seed, options in plan:
        agent = make(env, seed)
        one = play(env, agent, seed, deterministic=deterministic, options=options)
        jobs = env.episode_jobs
        waits.append(_waits(env.trace, jobs.start, one.times.start))
        played.append(one)
    decisions = [len(one.seconds) for one in played]
    outside = sum(
        one.info["metrics"]["outside_window"] * count
        for one, count in zip(played, decisions, strict=True)
    )
    row = _scored(row, waits, easy)
    noted = {
        "decisions": sum(decisions),
        "outside_window": outside / sum(decisions),
        "replaced_actions": sum(one.replaced_actions for one in played),
        "illegal_actions": sum(one.info["illegal_actions"] for one in played),
    }
    return replace(row, metrics={**row.metrics, **noted})


def _score_policies(
    env: BackfillEnv,
    windows: Sequence[EpisodeWindow],
    references: Sequence[str | Policy],
    failed: Callable[[Policy, PolicyError], None] | None,
) -> dict[str, list[Waits]]:
    """Return what the references and the candidates make of the windows' jobs, by name."""
    traces = env.batch.source.traces
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


def _is_candidate(name: str, policy: Policy) -> bool:
    return name.startswith(FAMILIES) and not policy.stochastic and not policy.trials


def _waits(trace: Trace, first: int, start: np.ndarray) -> Waits:
    """Return the waits of the jobs from `first` on, which start at these times."""
    jobs = slice(first, first + len(start))
    wait = start - trace.jobs.submit[jobs]
    return Waits(wait, bounded_slowdown(wait, trace.runtime[jobs]))


def _scored(row: Row, episodes: Sequence[Waits], easy: Sequence[Waits]) -> Row:
    """Add jobs and metrics to a row."""
    slowdown, usual = _mean_slowdown(episodes), _mean_slowdown(easy)
    waits = np.concatenate([one.wait for one in episodes])
    longest, longest_usual = (float(max(one.wait.max() for one in e)) for e in (episodes, easy))
    metrics = {
        "mean_bounded_slowdown": slowdown,
        "mean_wait": float(np.mean([one.wait.mean() for one in episodes])),
        "p95_wait": float(np.percentile(waits, 95)),
        "max_wait": longest,
        "slowdown_ratio": slowdown / usual,
        "longest_wait_ratio": longest / max(longest_usual, 1.0),
    }
    return replace(row, jobs=len(waits), metrics=metrics)


def _mean_slowdown(episodes: Sequence[Waits]) -> float:
    return float(np.mean([one.bounded_slowdown.mean() for one in episodes]))
