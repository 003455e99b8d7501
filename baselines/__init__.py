"""The papers' policies, and the registry that finds every policy by its name.

A family makes policies from options. In Python it is imported from its file, whose name it often
shares: `from bfenv.baselines.los import los`. That is why this package exports no family: a
function of that name would hide the module. `families()` has them all by name.

A search that runs one trace under many orders or options of EASY calls `run_orders`.
"""

from bfenv.baselines.order_runs import run_orders
from bfenv.baselines.registry import (
    ALL,
    families,
    find_competitor,
    find_policy,
    policies,
    policy,
    simulate,
)

__all__ = [
    "ALL",
    "families",
    "find_competitor",
    "find_policy",
    "policies",
    "policy",
    "run_orders",
    "simulate",
]
