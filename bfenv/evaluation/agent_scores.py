"""Agents on episodes, beside random actions and policies on the very same jobs."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Unpack

from bfenv.agents.agent_names import POLICY_SUFFIX, open_agent, read_agent
from bfenv.agents.agent_policy import AgentCompetitor, find_agent_competitor
from bfenv.agents.card import SHIPPED, read_card
from bfenv.agents.seen_jobs import count_seen
from bfenv.baselines.registry import find_competitor, find_policy
from bfenv.core.competitor import Competitor
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.policy import Policy, Watch
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import DEFAULTS, EnvSettings, Workloads
from bfenv.evaluation.cases import Episodes, check_whole
from bfenv.evaluation.episodes import RANDOM, STARVING_EPISODES, is_random
from bfenv.evaluation.evaluator import Named, compatible_policies, evaluate
from bfenv.evaluation.row import Row
from bfenv.evaluation.summary import REFERENCE
from bfenv.parallel.failures import as_policy_error
from bfenv.workloads.load import load_workload

BEST_ORDER = "easy-saf-aged"  # the best order of jobs that is known for the default workload
REFERENCES = (REFERENCE, "conservative", "easy-random", "los", BEST_ORDER)  # the papers' and it
# Policies that the best policy without starving is chosen from, beside REFERENCES. They share most
# of their compiled code. The guard of easy-saf-guarded takes three to seven times as long, and on
# most logs it starves a job in some episode.
CANDIDATES = (
    "los-max-slowdown",
    "easy-sjbf",
    "easy-saf-aged-guarded",
    "easy(order=saf, guard=0.3, guard_scale=scaled_backlog)",
    "easy(order=saf, guard=0.5, guard_scale=scaled_backlog)",
    "easy(order=sjf, guard=0.5, guard_scale=scaled_backlog)",
)


def evaluate_agent(
    agent: Any,
    workload: Workloads | None = None,
    *,
    episodes: int = 16,
    seed: int = 0,
    deterministic: bool | None = None,
    trust: bool = False,
    references: Sequence[str | Policy] | None = None,
    watch: Watch = lambda share: None,
    **settings: Unpack[EnvSettings],
) -> list[Row]:
    """Play episodes, and score random actions and policies on the same jobs.

    Args:
        agent: What `open_agent` takes: a name, such as "random", "easy", "module:object" or
            "model.zip"; an object with the `predict` of stable-baselines3; or a function that makes
            one from an environment. Masks are passed if `predict` takes them; the illegal choices
            of other models of stable-baselines3 are replaced by the best legal ones.
        workload: As of `BackfillEnv`; None for its default, whose test split has seeds of its own.
        **settings: As of `BackfillEnv`. `split` is "test" by default. A saved model brings the
            settings that it was trained with; give those of any other agent.
        episodes, seed: How many; episode k has the seed `seed + k`. With `episode_jobs=None` each
            trace is played once, from the warm-up to the end of the split.
        deterministic: Passed to `predict`; None scores agents that sample actions both ways.
        trust: Open saved models, which may run any code.
        references: Policies to score on the same jobs; None for REFERENCES and the best policy
            without starving of REFERENCES and CANDIDATES, see `best_without_starving`. Those that
            do not plan for requested start times are left out where jobs have some.
        watch: Called once, with a function that returns the fraction of all jobs that have started.

    Returns:
        The agent, or the agent and "... (sampled)"; random actions with as many slots, see
        `random_beside`; and the references, by default EASY, conservative backfilling, a randomized
        policy, LOS, the best known order of jobs, and the best policy that starves no job. A policy
        as an agent is named "... (agent)". Compare rows of one division only.
        `bfenv.evaluation.episodes.score_episodes` describes the metrics.

    Raises:
        BfenvError: If a setting is wrong or contradicts those that the agent was trained with, the
            agent cannot be opened, it was trained on jobs that it is to be scored on, or it or a
            reference raises anything.

    Examples:
        >>> from bfenv.evaluation import evaluate_agent
        >>> rows = evaluate_agent("random", episodes=1, episode_jobs=20, references=["easy"])
        >>> [row.policy for row in rows][:2]
        ['random', 'easy']
    """
    if isinstance(references, str):
        raise BfenvError(f"references must be a list of policies, got {references!r}")
    case = Episodes(workload, episodes, seed, {"split": "test", **settings})
    agents = agents_of(agent, case, trust=trust, deterministic=deterministic)
    policies = {
        find_policy(policy).name: policy
        for policy in (REFERENCES if references is None else references)
    }
    compatible = [policies[name] for name in compatible_policies(list(policies), [case])]
    names = CANDIDATES if references is None else ()
    competitors, candidates = lineup(agents, compatible, names, [case])
    rows = evaluate(competitors, [case], watch=watch)
    for row in rows:
        if not row.ok:
            raise PolicyError(row.failure)
    return without_candidates(rows, candidates)


def lineup(
    agents: Sequence[AgentCompetitor],
    policies: Sequence[Named],
    candidates: Sequence[str],
    cases: Sequence[Episodes],
) -> tuple[list[Competitor], tuple[str, ...]]:
    """Return who plays on episodes, and which candidates are among them.

    Args:
        agents: What is compared. Random actions play beside them, see `random_beside`.
        policies: What agents are compared with; of two with one name, the second plays.
        candidates: Names of policies among which only the best that starves no job is shown, see
            `without_candidates`. Those that do not plan for requested start times are left out
            where jobs have some.
        cases: The episodes.

    Raises:
        BfenvError: If there is no such policy.
    """
    compatible = tuple(compatible_policies(candidates, cases))
    competitors = map(find_competitor, (*policies, *compatible))
    by_name = {competitor.name: competitor for competitor in competitors}
    random = random_beside(agents) if agents else []
    return [*agents, *random, *by_name.values()], compatible


def agents_of(
    agent: Any, case: Episodes, *, trust: bool = False, deterministic: bool | None = None
) -> list[AgentCompetitor]:
    """Return an agent as a competitor; twice if it samples its actions and no mode is chosen.

    Args:
        agent: What `open_agent` takes.
        case: The episodes that it is to play.
        trust: Open saved models, which may run any code.
        deterministic: Passed to `predict`; None for both modes.

    Raises:
        BfenvError: If the agent cannot be opened, if its settings contradict the settings of the
            episodes, or if it was trained on jobs of the episodes.
    """
    opened = open_agent(agent, trust=trust)
    settings = opened.settings_with(case.env_settings)
    check_whole(settings)
    for trace, bounds in zip(case.traces, case.bounds, strict=True):
        opened.check_unseen(trace, *bounds)
    modes = [True, False] if deterministic is None else [deterministic]
    with as_policy_error(opened.name):
        first = opened.make(BackfillEnv(case.workload, **settings), case.seed)
        samples = getattr(first, "samples", getattr(first, "stochastic", True))
    return [
        AgentCompetitor(opened, opened.name + ("" if mode else " (sampled)"), mode)
        for mode in (modes if samples else modes[:1])
    ]


def random_beside(agents: Sequence[AgentCompetitor]) -> list[AgentCompetitor]:
    """Return random actions that see as many slots as the agents do.

    Random actions are better with fewer slots. So there are several if the agents' windows differ:
    "random" with the environment's default, and "random:window=8" with 8 slots.

    Args:
        agents: What they are compared with. Windows of policies do not count, because policies
            learn nothing, and random agents among them are not added again.
    """
    windows = [
        agent.opened.settings.get("window", DEFAULTS["window"])
        for agent in agents
        if POLICY_SUFFIX not in agent.name
    ]
    present = [
        {"window": DEFAULTS["window"]} | a.opened.settings for a in agents if is_random(a.name)
    ]
    return [
        find_agent_competitor(name)
        for window, name in random_names(windows).items()
        if {"window": window} not in present
    ]


def random_names(windows: Iterable[int]) -> dict[int, str]:
    """Return the names of random agents, by the number of slots that they see.

    If no number is given, they see as many as the environment has by default.
    """
    default = DEFAULTS["window"]
    return {
        window: RANDOM if window == default else f"{RANDOM}:window={window}"
        for window in dict.fromkeys(windows) or [default]
    }


def best_policies(rows: Sequence[Row]) -> list[Row]:
    """Return the policy of the lowest penalized slowdown of each division."""
    ranked = sorted(
        (row for row in rows if row.kind == "policy"),
        key=lambda row: row.metrics["penalized_slowdown"] or 0.0,
        reverse=True,
    )
    return list({row.division: row for row in ranked}.values())  # the last of each division


def best_without_starving(rows: Sequence[Row]) -> Row | None:
    """Return the policy of the lowest penalized slowdown that starves a job in no episode.

    Only policies of the reference's division count: they run every job to its end, and do not know
    its runtime unless the reference does, too. None if the reference has no row.

    Args:
        rows: Of one case of episodes.
    """
    division = next((row.division for row in rows if row.policy == REFERENCE), None)
    fair = [
        row
        for row in rows
        if row.kind == "policy" and row.division == division and not row.metrics[STARVING_EPISODES]
    ]
    return min(fair, key=lambda row: row.metrics["penalized_slowdown"] or 0.0, default=None)


def without_candidates(rows: Sequence[Row], candidates: Sequence[str]) -> list[Row]:
    """Leave out the rows of candidates, unless the candidate is the best that starves no job.

    Args:
        rows: Of one case of episodes.
        candidates: Names of policies.
    """
    best = best_without_starving(rows)
    return [row for row in rows if row.policy not in candidates or row is best]


def workload_of(agent: str) -> str | None:
    """Return the first workload on an agent's card that can be loaded; None without any.

    A model's card names traces; the jobs of a generated one cannot be made again from its name.
    """
    name = read_agent(agent)
    if not (name.is_saved or name.is_card):
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
