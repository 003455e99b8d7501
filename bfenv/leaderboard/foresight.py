"""Whether a competitor of a leaderboard foresees what it cannot know, tested on the first jobs.

The test is the one that `bfenv check` makes of policies: runtimes of unfinished jobs and jobs to
come are changed, and no decision made before may change. A competitor that knows a public trace by
heart passes it, because its decisions do not depend on the trace that is run.

The result is one line: NONE_FOUND, NOT_CHECKED with the reason, or what the decisions depend on.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bfenv.agents.agent_names import WHOLE_TRACE, open_agent, read_agent
from bfenv.agents.agent_policy import AgentCompetitor
from bfenv.agents.card import acting_settings
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.envs.backfill import BackfillEnv
from bfenv.testing.probes import find_foresight, first_difference

JOBS = 60  # the first of the trace
INSTANTS = 3  # at which the rest is changed
NONE_FOUND = "none found"
NOT_CHECKED = "not checked: "  # and the reason


def foresight_of_agent(name: str, trace: Trace, seed: int) -> str:
    """Return what one of bfenv's own agents foresees on the first jobs of a trace."""
    with reason_why_not() as findings:
        choice = read_agent(name).deterministic
        competitor = AgentCompetitor(open_agent(name), name, choice)
        findings.append(foresight_in_episodes(competitor, trace, seed))
    return findings[0]


def foresight_in_episodes(competitor: AgentCompetitor, trace: Trace, seed: int) -> str:
    """Return what an agent foresees on the first jobs of a trace.

    * `competitor`: the agent.
    * `trace`, `seed`: of its row.
    """
    settings = competitor.opened.settings_with(WHOLE_TRACE)
    # Other traces must have the columns that this one has.
    acting = acting_settings(BackfillEnv(trace, **settings).batch)
    settings = {**acting, **WHOLE_TRACE}  # type: ignore[typeddict-item]

    def schedule_of(variant: Trace) -> Schedule:
        episode = competitor.play_episode(BackfillEnv(variant, **settings), settings, seed)
        return episode.schedule(variant, competitor.name, seed)

    return look_for_foresight(trace, schedule_of)


@contextmanager
def reason_why_not(*raised: type[BfenvError]) -> Iterator[list[str]]:
    """Collect what is found, and turn an error into the reason why nothing was looked for.

    Errors of the classes `raised` are not turned into reasons.
    """
    findings: list[str] = []
    try:
        yield findings
    except BfenvError as error:
        if isinstance(error, raised):
            raise
        findings.append(f"{NOT_CHECKED}{error}")


def look_for_foresight(trace: Trace, schedule_of: Callable[[Trace], Schedule]) -> str:
    """Return what the schedules of the first jobs of a trace foresee."""
    head = trace[: min(JOBS, len(trace))]
    schedule = schedule_of(head)
    differs = first_difference(schedule.start, schedule_of(head).start)
    if differs:
        return f"{NOT_CHECKED}two runs differ: {differs}"
    return next(map(str, find_foresight(schedule, schedule_of, INSTANTS)), NONE_FOUND)
