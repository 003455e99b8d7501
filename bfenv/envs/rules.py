"""The rules and the job features that follow from the settings and the traces."""

from collections.abc import Sequence

import numpy as np

from bfenv.baselines.age_guard_state import GUARDS
from bfenv.core.jobs import Trace
from bfenv.envs.batch_state import EnvRules
from bfenv.envs.features import CLUSTER, JOB_FEATURES, PASS, Feature, job_columns
from bfenv.envs.legal_actions import IDLE
from bfenv.envs.settings import EnvSettings, first_trial_of, seconds_of, trial_seconds_of
from bfenv.envs.slots import find_window_rule
from bfenv.knowledge.packed_program import without_room


def find_job_features(settings: EnvSettings, traces: Sequence[Trace]) -> tuple[Feature, ...]:
    """Return the columns of the observation's "queue"."""
    groups = settings["job_features"]
    if groups is None:
        groups = _varying_groups(traces)
    age = settings["max_age"] is not None or settings["guard"] is not None
    trial = settings["trial_limit"] is not None
    return job_columns(groups, age, trial, _has_trial_actions(settings))


def find_cluster_features(settings: EnvSettings) -> tuple[Feature, ...]:
    """Return the columns of the observation's "cluster"."""
    # Otherwise every decision has a legal start, so the pass is never legal.
    varies = settings["idle"] != "never" or settings["every_pass"]
    return CLUSTER + (PASS if varies or _has_trial_actions(settings) else ())


def _has_trial_actions(settings: EnvSettings) -> bool:
    return settings["trial_limit"] is not None and settings["trial_above"] is None


def find_rules(
    settings: EnvSettings, traces: Sequence[Trace], features: tuple[Feature, ...]
) -> EnvRules:
    """Return the rules, given the columns of the observation's "queue".

    Raises
    ------
    BfenvError
        If the window's order, the age guard or the length of trials is wrong.
    """
    window = int(settings["window"])
    # A depth beyond the longest trace reserves for all jobs; kernels take 64 bits.
    depth = min(settings["reservation_depth"], max(map(len, traces)))
    reserved = window if depth < 0 else min(depth, window)
    columns = {feature.name: column for column, feature in enumerate(features)}
    limit, above, guard = settings["trial_limit"], settings["trial_above"], settings["guard"]
    seconds = None if limit is None else trial_seconds_of(limit)
    return EnvRules(
        depth,
        settings["head"] == "chosen",
        IDLE.index(settings["idle"]),
        None if settings["max_age"] is None else seconds_of(settings["max_age"]),
        None if guard is None else np.array([GUARDS[settings["guard_scale"]]]),
        None if guard is None else np.array([float(guard)]),
        seconds if above is None else None,
        None if limit is None or above is None else np.array(list(first_trial_of(limit, above))),
        bool(settings["every_pass"]),
        *find_window_rule(settings["window_order"], window, reserved),
        users=any(bool((trace.jobs.user >= 0).any()) for trace in traces) or None,
        user_column=columns.get("user_runtime"),
        priority_column=columns.get("priority"),
        start_column=columns.get("start_in"),
        age_column=columns.get("age"),
        trial_column=columns.get("tried"),
        pass_column=len(CLUSTER) if len(find_cluster_features(settings)) > len(CLUSTER) else None,
    )


def plain_rules(rules: EnvRules) -> EnvRules:
    """Return the rules without what following them changes, to compare them with others."""
    if rules.expression is None:
        return rules
    return rules._replace(expression=without_room(rules.expression))


def _varying_groups(traces: Sequence[Trace]) -> list[str]:
    """Return the groups of features that vary in some trace."""
    varies = {
        "users": any(bool((trace.jobs.user >= 0).any()) for trace in traces),
        "priority": any(bool(trace.jobs.priority.any()) for trace in traces),
        "requested_start": any(bool(trace.jobs.requested_start.any()) for trace in traces),
    }
    return [name for name in JOB_FEATURES if varies[name]]
