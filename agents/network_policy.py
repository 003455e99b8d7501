"""A network of `bfenv train` as a policy, for whatever takes the name of one."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from bfenv.agents.agent_names import WHOLE_TRACE
from bfenv.agents.network_agent import load_network
from bfenv.agents.player import play
from bfenv.core.cluster import Cluster
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Jobs, Trace
from bfenv.core.policy import TRIALS, Policy, Watch
from bfenv.core.schedule import Schedule
from bfenv.core.simulator import share_started
from bfenv.envs.backfill import BackfillEnv


@dataclass(frozen=True)
class NetworkPlay:
    """The `play` of a network's policy: one episode of the environment, from an empty machine."""

    network: str  # see `load_network`
    name: str  # of the policy

    def __call__(self, trace: Trace, seed: int, watch: Watch) -> Schedule:
        """Play the trace; see `bfenv.core.policy.Policy`.

        Raises
        ------
        BfenvError
            If the network does not fit the environment.
        """
        agent = load_network(self.network)
        env = BackfillEnv(trace, **agent.settings, **WHOLE_TRACE)
        watch(partial(share_started, env.cluster))
        return play(env, agent, seed, strict=True).times.schedule(trace, self.name, seed)


@dataclass(frozen=True)
class Refusal:
    """The `decide` of a network's policy: it cannot make one pass of a simulation."""

    name: str

    def __call__(self, cluster: Cluster, jobs: Jobs, memory: Any) -> None:
        """Raise PolicyError."""
        raise PolicyError(
            f"{self.name} is a network: it acts in the environment, so it cannot decide pass by "
            f"pass; use --agent {self.name}"
        )


def network_policy(network: str) -> Policy:
    """Return the policy that plays like a network; its name is "agent:NETWORK".

    Parameters
    ----------
    network
        As `load_network` takes it.

    Raises
    ------
    BfenvError
        As `load_network`.
    """
    card, name = load_network(network).card, f"agent:{network}"
    return Policy(
        name,
        Refusal(name),
        summary=card.what,
        trials=card.division == TRIALS,
        requested_starts=True,
        play=NetworkPlay(network, name),
    )
