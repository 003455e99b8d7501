"""An agent as a policy, "agent:NAME": one that a card names, or a network that plays a whole trace.

bfenv finds `load_agent` by its entry point, because the registry of policies stands below this
room.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from bfenv.agents.agent_names import ELSEWHERE, WHOLE_TRACE
from bfenv.agents.card import POLICY, is_network, read_card
from bfenv.agents.network_agent import load_network
from bfenv.agents.player import play
from bfenv.baselines.registry import ALL, FAMILIES, find_policy
from bfenv.core.cluster import Cluster
from bfenv.core.distributions import load_offer
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Jobs, Trace
from bfenv.core.names import parse_name
from bfenv.core.policy import TRIALS, Policy, Watch
from bfenv.core.schedule import Schedule
from bfenv.core.simulator import share_started
from bfenv.core.text import shown
from bfenv.envs.backfill import BackfillEnv


def load_agent(name: str) -> Policy | Callable[..., Policy]:
    """Return the policy of an agent, whose name is "agent:NAME"; or its family.

    * `name`: of an agent that bfenv comes with, or the path of a card or a network, which ends in
      .json.

    Raises UnknownNameError if there is no such agent. Raises BfenvError if the file is not a card,
    its policy is not one of bfenv's own, or a network does not fit the environment of this version.
    """
    if not isinstance(name, str):
        raise PolicyError(f"expected the name of an agent, got {name!r:.40}")
    if name in ELSEWHERE:
        family: Callable[..., Policy] = load_offer(
            "bfenv.agents", name, ELSEWHERE[name], f"the agent {name}", PolicyError
        )
        return family
    agent = f"agent:{name}"
    if is_network(name):
        card = load_network(name).card
        return Policy(
            agent,
            partial(refuse, name=agent),
            summary=card.what,
            trials=card.division == TRIALS,
            requested_starts=True,
            play=partial(play_network, network=name, name=agent),
        )
    card = read_card(name, POLICY)
    return replace(find_policy(_data_only(agent, card.policy)), name=agent, summary=card.what)


def _data_only(agent: str, policy: str) -> str:
    """Return the policy on a card if to make it runs no code but bfenv's own.

    A card may come from anywhere. So it names a policy of bfenv, by itself or with options, and
    neither an object in a module, a file, nor a policy of another package.
    """
    base, options = parse_name(policy, PolicyError)
    if ":" in "".join((base, *options.values())) or base not in {**ALL, **FAMILIES}:
        raise PolicyError(
            f"{agent}: its policy is {shown(policy)}; cards may name only policies of bfenv and "
            "their options, so that no code comes with a card. If you trust that policy, use it by "
            "its own name"
        )
    return policy


def play_network(trace: Trace, seed: int, watch: Watch, *, network: str, name: str) -> Schedule:
    """Play a trace with a network: one episode of the environment, from an empty machine.

    It is the `play` of the network's policy, see `bfenv.core.policy.Policy`.

    Raises BfenvError if the network does not fit the environment.
    """
    agent = load_network(network)
    env = BackfillEnv(trace, **agent.settings, **WHOLE_TRACE)
    watch(partial(share_started, env.cluster))
    return play(env, agent, seed, strict=True).times.schedule(trace, name, seed)


def refuse(cluster: Cluster, jobs: Jobs, memory: Any, *, name: str) -> None:
    """Raise PolicyError: the `decide` of a network's policy, which cannot make one pass."""
    raise PolicyError(
        f"{name} is a network: it acts in the environment, so it cannot decide pass by pass; use "
        f"--agent {name}"
    )
