"""Whether Slurm can be made to follow a policy, and how.

Source: the manual page slurm.conf(5) of Slurm 25.11, <https://slurm.schedmd.com/slurm.conf.html>.
"""

from typing import NamedTuple

from bfenv.baselines.registry import find_competitor
from bfenv.core.errors import BfenvError
from bfenv.core.names import parse_name, read_value

BACKFILL = "SchedulerType=sched/backfill"
BY_SIZE = "PriorityType=priority/multifactor with only PriorityWeightJobSize"
ORDERS = {
    "fcfs": "PriorityType=priority/basic",
    "lqf": BY_SIZE,
    "sqf": f"{BY_SIZE} and PriorityFavorSmall=YES",
}  # how each order is configured
SITE_FACTOR = ("sjf", "lpt", "saf", "lxf", "wfp3", "unicef", "f1", "f2", "f3", "f4", "aged-sjf")
OWN_FACTOR = "a PrioritySiteFactorPlugin that computes the order"
KNOWN_OPTIONS = {"order", "reservations", "lookahead"}


class SlurmSupport(NamedTuple):
    """The answer, and how Slurm follows the policy."""

    answer: str  # "yes", "plugin" or "no"
    explanation: str


NONE = SlurmSupport("no", "neither a setting nor a priority plugin follows it")


def slurm_support(policy: str) -> SlurmSupport:
    """Tell whether Slurm's configuration, or a plugin of it, can follow a policy.

    * `policy`: a policy's name or expression.
    """
    try:
        if find_competitor(policy).trials:
            return SlurmSupport("no", "kills jobs and runs them again")
    except BfenvError:
        return SlurmSupport("no", "not a policy of bfenv")
    name, options = parse_name(policy)
    if name == "slurm":
        conf = read_value(options.get("conf", "none")) or BACKFILL
        parameters = read_value(options.get("parameters", "none"))
        return SlurmSupport(
            "yes", f"{conf}, SchedulerParameters={parameters}" if parameters else str(conf)
        )
    if name == "easy++" or not options.keys() <= KNOWN_OPTIONS:
        return NONE
    if name == "fcfs":
        return SlurmSupport("yes", f"SchedulerType=sched/builtin, {ORDERS['fcfs']}")
    if name == "conservative-replan":
        return _configured("fcfs", 0, None)
    base, _, order = name.partition("-")
    if base != "easy":
        return NONE
    reservations = read_value(options.get("reservations", "1"))
    lookahead = read_value(options.get("lookahead", "none"))
    depth = 0 if reservations == "all" else reservations
    if not isinstance(depth, int) or (depth == 0 and reservations != "all"):
        return NONE  # Slurm's 0 is a reservation for every job
    return _configured(options.get("order") or order or "fcfs", depth, lookahead)


def _configured(order: str, depth: int, lookahead: int | None) -> SlurmSupport:
    """Describe Slurm's backfill in an order, with reservations for `depth` jobs; 0 for all."""
    if order not in ORDERS and order not in SITE_FACTOR:
        return NONE
    parameters = [f"bf_job_part_count_reserve={depth}"] if depth else []
    parameters += [f"bf_max_job_test={lookahead or 'N'}"]
    settings = f"{BACKFILL}, SchedulerParameters={','.join(parameters)}"
    if lookahead is None:
        settings += " with N above the longest queue"
    if order in SITE_FACTOR:
        return SlurmSupport("plugin", f"{settings}, and {OWN_FACTOR}")
    return SlurmSupport("yes", f"{settings}, {ORDERS[order]}")
