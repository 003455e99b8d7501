"""Agents as competitors: each plays a whole trace as one episode, from an empty machine.

bfenv finds `find_named_agent`, which makes them of names such as "agent:network", by its entry
point, because the registry of policies stands below this room.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bfenv.agents.agent_names import ELSEWHERE, WHOLE_TRACE, OpenAgent, open_agent
from bfenv.agents.card import POLICY, SHIPPED, is_network, read_card
from bfenv.agents.player import Played, Totals, play, play_at_once, play_in_turn
from bfenv.baselines.registry import ALL, FAMILIES, find_policy
from bfenv.core.competitor import Competitor
from bfenv.core.distributions import load_offer
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.names import parse_name
from bfenv.core.policy import TRIALS, Policy, Watch
from bfenv.core.schedule import Schedule
from bfenv.core.simulator import share_started
from bfenv.core.text import shown
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.handle import EnvHandle
from bfenv.envs.settings import EnvSettings, Workloads
from bfenv.envs.vector import BackfillVectorEnv


class AgentCompetitor(Competitor):
    """An agent, whose schedule is what it does in the environment.

    Args:
        opened: The agent, see `open_agent`.
        name: That of its rows; "" for the agent's own.
        deterministic: Passed to its `predict`; False lets models sample their actions.
    """

    kind = "agent"
    is_compiled = False

    def __init__(self, opened: OpenAgent, name: str = "", deterministic: bool = True) -> None:
        self.opened = opened
        self.name = name or opened.name
        self.deterministic = deterministic
        self.trials = False  # the environment has none
        self.stochastic = True  # what a function makes may depend on the seed

    def run(self, trace: Trace, seed: int, watch: Watch) -> Schedule:
        """Play the trace.

        Args:
            trace, seed, watch: As of `Competitor.run`.

        Raises:
            PolicyError: At the first illegal action that cannot be replaced.
            BfenvError: If the agent was trained on some of the jobs, or does not fit the
                environment.
        """
        return self.play(trace, seed, watch)[0]

    def play(self, trace: Trace, seed: int, watch: Watch) -> tuple[Schedule, Played]:
        """Play the trace, and also return what the agent did.

        Args:
            trace, seed, watch: As of `Competitor.run`.

        Raises:
            BfenvError: As `run`.
        """
        self.opened.check_unseen(trace)
        settings = self.opened.settings_with(WHOLE_TRACE)
        env = BackfillEnv(trace, **settings)
        watch(partial(share_started, env.cluster))
        episode = self.play_episode(env, settings, seed)
        return episode.schedule(trace, self.name, seed), episode

    def play_episode(self, env: BackfillEnv, settings: EnvSettings, seed: int) -> Played:
        """Play one episode.

        Args:
            env: The environment, which is reset.
            settings: What it was made with.
            seed: Of the episode.

        Raises:
            PolicyError: At the first illegal action that cannot be replaced.
        """
        agent = self.opened.make(env, seed)
        return play(env, agent, seed, deterministic=self.deterministic, strict=True)

    def play_episodes(
        self,
        workload: Workloads | None,
        settings: EnvSettings,
        seeds: Sequence[int],
        options: Sequence[dict[str, Any] | None],
        watch: Watch,
    ) -> Totals:
        """Play episodes, all at once if the agent can act in many environments.

        Args:
            workload, settings: As of `BackfillEnv`; the agent adds the settings that it needs.
            seeds, options: Of the environment's `reset` for each episode.
            watch: Is called once, with a function that returns the fraction of episodes played.

        Raises:
            BfenvError: If settings contradict those that the agent needs.
        """
        completed = self.opened.settings_with(settings)
        if self.opened.batched and len(seeds) > 1:
            envs = BackfillVectorEnv(len(seeds), workload, "disabled", **completed)
            agent = self.opened.make(BackfillEnv(workload, **completed), seeds[0])
            furthest = 0.0

            def share_at_once() -> float:
                nonlocal furthest  # episodes that are over are played again until all are
                if envs.batch.ready:
                    furthest = max(furthest, _share_of(envs.handles))
                return furthest

            watch(share_at_once)
            return play_at_once(envs, agent, seeds, options, self.deterministic)
        env, over = BackfillEnv(workload, **completed), 0

        def done() -> None:
            nonlocal over
            over += 1

        def share() -> float:
            return min((over + (_share_of([env]) if env.batch.ready else 0.0)) / len(seeds), 1.0)

        watch(share)
        make = self.opened.make
        return play_in_turn(env, make, seeds, options, self.deterministic, done)


def _share_of(handles: Sequence[EnvHandle]) -> float:
    """Return the fraction of the episodes' jobs that have started."""
    jobs = sum(len(handle.episode_jobs) for handle in handles)
    return 1 - sum(handle.unstarted for handle in handles) / max(jobs, 1)


def find_agent_competitor(agent: Any) -> AgentCompetitor:
    """Return an agent as a competitor.

    Args:
        agent: What `open_agent` takes, but no saved model, which may run any code.

    Raises:
        BfenvError: What `open_agent` raises.
    """
    return AgentCompetitor(open_agent(agent))


def find_named_agent(name: str) -> Policy | Competitor | Callable[..., Policy | Competitor]:
    """Return what plays as "agent:NAME", a policy or a network; or its family.

    * `name`: of an agent that bfenv comes with, or the path of a card or a network, which ends in
      .json.

    Raises UnknownNameError if there is no such agent. Raises BfenvError if the file is not a card,
    its policy is not one of bfenv's own, or a network does not fit the environment of this version.
    """
    if not isinstance(name, str):
        raise PolicyError(f"expected the name of an agent, got {name!r:.40}")
    if name in ELSEWHERE:
        family: Callable[..., Policy | Competitor] = load_offer(
            "bfenv.agents", name, ELSEWHERE[name], f"the agent {name}", PolicyError
        )
        return family
    agent = f"{SHIPPED}{name}"
    if is_network(name):
        return Network(name)
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


class Network(AgentCompetitor):
    """A network, which plays whole traces like a policy; its rows are those of policies.

    Args:
        name: As of `find_named_agent`.

    Raises:
        BfenvError: What `find_named_agent` raises.
    """

    kind = "policy"

    def __init__(self, name: str) -> None:
        agent = f"{SHIPPED}{name}"
        super().__init__(open_agent(agent), agent)
        card = read_card(name)
        self.summary = card.what
        self.trials = card.division == TRIALS
        self.stochastic = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Network, (self.name.removeprefix(SHIPPED),)
