"""What a competitor in a player foresees, see `bfenv.leaderboard.foresight`."""

from collections.abc import Sequence

from bfenv.core.competitor import Competitor
from bfenv.core.jobs import Trace
from bfenv.core.simulator import simulate
from bfenv.leaderboard.foresight import foresight_in_episodes, look_for_foresight, reason_why_not
from bfenv.leaderboard.limits import DEFAULT_LIMITS, PlayerLimits
from bfenv_judge.players.player_process import PlayerKilledError, PlayerProcess
from bfenv_judge.players.remote_agent import RemoteAgent
from bfenv_judge.players.remote_policy import RemotePolicy, declared_flags, greet, policy_of


def foresight_of(competitor: Competitor, trace: Trace, seed: int) -> str:
    """Return what a competitor in a player foresees on the first jobs of a trace, in one line.

    * `competitor`: a RemoteAgent or a RemotePolicy.
    * `trace`, `seed`: of its row.

    Returns NONE_FOUND, NOT_CHECKED with the reason, or what its decisions depend on. Raises
    PlayerKilledError if the player is killed meanwhile, which need not be its fault.
    """
    if isinstance(competitor, RemoteAgent):
        with reason_why_not(PlayerKilledError) as reasons:
            reasons.append(foresight_in_episodes(competitor, trace, seed))
        return reasons[0]
    assert isinstance(competitor, RemotePolicy)
    return foresight_of_program(competitor.name, competitor.command, trace, seed, competitor.limits)


def foresight_of_program(
    name: str,
    command: Sequence[str],
    trace: Trace,
    seed: int,
    limits: PlayerLimits = DEFAULT_LIMITS,
) -> str:
    """Return what a policy in a player foresees; the player is started once for all runs.

    * `name`, `command`: of the policy, and of its player.
    * `trace`, `seed`: of its row.
    * `limits`: what the player may use.

    Returns and raises as `foresight_of`.
    """
    with reason_why_not(PlayerKilledError) as reasons, PlayerProcess(command, limits) as process:
        policy = policy_of(process, name, declared_flags(greet(process)))
        reasons.append(look_for_foresight(trace, lambda probe: simulate(probe, policy, seed)))
    return reasons[0]
