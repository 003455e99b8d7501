"""The rows that a suite asks for, before they are made."""

from collections.abc import Sequence
from typing import NamedTuple

from bfenv.agents.agent_names import is_stochastic, training_of
from bfenv.analysis.logged import LOGGED
from bfenv.baselines.registry import find_policy
from bfenv.core.errors import BfenvError
from bfenv.leaderboard.agents import code_hash
from bfenv.leaderboard.row import row_key
from bfenv.leaderboard.suite import OWN, FrozenTrace, Suite


class Task(NamedTuple):
    """What one row takes to make, in names and numbers."""

    suite: str
    kind: str  # "policy", "agent", or "log" for what a log records
    policy: str  # its name or expression
    workload: str  # label of the suite's entry
    load: float | None
    trace: FrozenTrace
    seed: int
    code: str | None = None  # hash of a saved model, or of a module outside bfenv

    @property
    def key(self) -> str:
        """Name of the row's files without suffix, see `row_key`."""
        return row_key(self.kind, self.policy, self.workload, self.seed)

    @property
    def is_own(self) -> bool:
        """Whether it is on a workload of the user's own, not on a suite with a name."""
        return self.suite.startswith(OWN)


def plan_rows(
    suite: Suite, policies: Sequence[str], agents: Sequence[str], seeds: int | None = None
) -> list[Task]:
    """List every row of these policies and agents on a suite, in a fixed order.

    A workload whose log records its starts has a row of these as well, before all others.

    A seed stands for a trace of the suite. In an entry with one trace only, it stands for the
    decisions of a stochastic policy; a deterministic policy has one row there.

    Parameters
    ----------
    suite
        What to run on.
    policies, agents
        Their names; a name given twice counts once.
    seeds
        How many of the suite's seeds to use, from the first; None for all.

    Raises
    ------
    BfenvError
        If the suite has fewer seeds, a name is unknown or names both a policy and an agent, or
        an agent may have been trained on the suite's jobs.
    """
    if seeds is not None and not 1 <= seeds <= suite.seeds:
        raise BfenvError(f"{suite.name} has 1 to {suite.seeds} seeds, not {seeds}")
    for name in () if suite.unseen else agents:
        if training_of(name) is None:
            raise BfenvError(
                f"{suite.name} takes agents only if the jobs that they were trained on are known: "
                f"{name} needs a model's card, or an attribute trained_on"
            )
    for name in set(policies) & set(agents):  # in a ranking they would be one
        raise BfenvError(f"{name} is given as a policy and as an agent: choose one")
    competitors = [("policy", name, find_policy(name).stochastic) for name in policies]
    competitors += [("agent", name, is_stochastic(name)) for name in agents]
    codes = {(kind, name): code_hash(kind, name) for kind, name, _ in competitors}
    tasks = {}
    for entry in suite.entries:
        if entry.logged:
            task = Task(suite.name, "log", LOGGED, entry.label, entry.load, entry.traces[0], 0)
            tasks[task.key] = task
        has_many = len(entry.traces) > 1
        for kind, name, is_random in competitors:
            for seed in range(seeds or suite.seeds if has_many or is_random else 1):
                trace = entry.traces[seed if has_many else 0]
                code = codes[kind, name]
                task = Task(suite.name, kind, name, entry.label, entry.load, trace, seed, code)
                tasks[task.key] = task
    return list(tasks.values())
