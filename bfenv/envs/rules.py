"""The rules and the job features that follow from the settings and the traces."""

from collections.abc import Sequence

from bfenv.core.jobs import Trace
from bfenv.envs.batch_state import EnvRules
from bfenv.envs.features import CLUSTER, JOB_FEATURES, PASS, Feature, job_columns
from bfenv.envs.settings import EnvSettings
from bfenv.envs.slots import find_window_rule


def find_job_features(settings: EnvSettings, traces: Sequence[Trace]) -> tuple[Feature, ...]:
    """Return the columns of the observation's "queue"."""
    groups = settings["job_features"]
    if groups is None:
        varies = {
            "users": any(bool((trace.jobs.user >= 0).any()) for trace in traces),
            "priority": any(bool(trace.jobs.priority.any()) for trace in traces),
            "requested_start": any(bool(trace.jobs.requested_start.any()) for trace in traces),
        }
        groups = [name for name in JOB_FEATURES if varies[name]]
    return job_columns(groups)


def find_cluster_features(settings: EnvSettings) -> tuple[Feature, ...]:
    """Return the columns of the observation's "cluster"."""
    # Otherwise every decision has a legal start, so the pass is never legal.
    return CLUSTER + (PASS if settings["idle"] != "never" else ())


def find_rules(settings: EnvSettings, features: tuple[Feature, ...]) -> EnvRules:
    """Return the rules, given the columns of the observation's "queue".

    Raises BfenvError if there is no such order of the window.
    """
    columns = {feature.name: column for column, feature in enumerate(features)}
    return EnvRules(
        settings["reservations"] == 1,
        settings["reservations"] == "chosen",
        settings["idle"] != "never",
        settings["idle"] == "every_pass",
        int(settings["tau"]),
        *find_window_rule(settings["window_order"], int(settings["window"])),
        user_column=columns.get("user_runtime"),
        priority_column=columns.get("priority"),
        start_column=columns.get("start_in"),
        pass_column=len(CLUSTER) if settings["idle"] != "never" else -1,
    )
