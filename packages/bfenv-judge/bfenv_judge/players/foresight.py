"""What a competitor in a player foresees, see `bfenv.leaderboard.foresight`."""

from collections.abc import Sequence

from bfenv.agents.player import Played
from bfenv.core.jobs import Trace
from bfenv.core.simulator import simulate
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import EnvSettings
from bfenv.leaderboard.foresight import foresight_in_episodes, look_for_foresight, reason_why_not
from bfenv.leaderboard.limits import DEFAULT, PlayerLimits
from bfenv_judge.players.player_process import PlayerKilledError, PlayerProcess
from bfenv_judge.players.remote_agent import RemoteAgent, play_in
from bfenv_judge.players.remote_policy import declared_flags, greet, policy_of


def foresight_of(
    name: str, command: Sequence[str], trace: Trace, seed: int, limits: PlayerLimits = DEFAULT
) -> str:
    """Return what a policy in a player foresees on the first jobs of a trace, in one line.

    * `name`, `command`: of the policy, and of its player.
    * `trace`, `seed`: of its row.
    * `limits`: what the player may use.

    Returns NONE_FOUND, NOT_CHECKED with the reason, or what its decisions depend on. Raises
    PlayerKilledError if the player is killed meanwhile, which need not be its fault.
    """
    with reason_why_not(PlayerKilledError) as found, PlayerProcess(command, limits) as process:
        policy = policy_of(process, name, declared_flags(greet(process)))
        found.append(look_for_foresight(trace, lambda other: simulate(other, policy, seed)))
    return found[0]


def foresight_of_remote_agent(name: str, trace: Trace, seed: int, agent: RemoteAgent) -> str:
    """Return what an agent in its player foresees on the first jobs of a trace, in one line.

    * `name`: of the agent.
    * `trace`, `seed`: of its row.
    * `agent`: the agent in its player.

    Returns and raises as `foresight_of`.
    """

    def play_episode(env: BackfillEnv, settings: EnvSettings) -> Played:
        return play_in(agent.process, env, settings, seed)

    with reason_why_not(PlayerKilledError) as found:
        found.append(foresight_in_episodes(name, trace, seed, agent.opened, play_episode))
    return found[0]
