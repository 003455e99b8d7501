"""The division of a row: those made before rows had one get it from what they say."""

from functools import cache

from bfenv.baselines.registry import ALL, FAMILIES, find_policy
from bfenv.core.errors import BfenvError
from bfenv.core.names import parse_name
from bfenv.core.policy import CLAIRVOYANT, COMPLETION, TRIALS
from bfenv.evaluation.row import Row


def division(row: Row) -> str:
    """Return the division in which a row is ranked, one of `bfenv.core.policy.DIVISIONS`."""
    return row.division or _division_of_older(row.kind, row.policy, row.source)


@cache
def _division_of_older(kind: str, policy: str, source: str) -> str:
    """Return the division of a row that has none; nothing that the row names is imported."""
    try:
        if parse_name(source).options.get("estimates") == "exact":
            return CLAIRVOYANT
        name = parse_name(policy).base
        if kind == "policy" and (name in ALL or name in FAMILIES):
            return TRIALS if find_policy(policy).trials else COMPLETION
    except BfenvError:  # a policy or workload of another version
        pass
    return COMPLETION
