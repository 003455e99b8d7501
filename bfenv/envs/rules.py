"""The rules and the job features that follow from the settings and the traces."""

from collections.abc import Sequence

import numpy as np

from bfenv.baselines.age_guard import GUARDS
from bfenv.core.jobs import Trace
from bfenv.envs.batch_state import EnvRules
from bfenv.envs.features import CLUSTER, JOB_FEATURES, PASS, Feature, job_columns
from bfenv.envs.settings import EnvSettings, reservation_depth_of, trials_of
from bfenv.envs.slots import find_window_rule
from bfenv.knowledge.expression_program import without_room


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
    guarded, trial = settings["guard"] is not None, settings["trial_limit"] is not None
    return job_columns(groups, guarded, trial, _has_trial_actions(settings))


def find_cluster_features(settings: EnvSettings) -> tuple[Feature, ...]:
    """Return the columns of the observation's "cluster"."""
    # Otherwise every decision has a legal start, so the pass is never legal.
    varies = settings["idle"] != "never" or _has_trial_actions(settings)
    return CLUSTER + (PASS if varies else ())


def _has_trial_actions(settings: EnvSettings) -> bool:
    return settings["trial_limit"] is not None and trials_of(settings["trial_limit"])[1] is None


def find_rules(
    settings: EnvSettings, traces: Sequence[Trace], features: tuple[Feature, ...]
) -> EnvRules:
    """Return the rules, given the columns of the observation's "queue".

    Raises BfenvError if the window's order or the length of trials is wrong.
    """
    window = int(settings["window"])
    # A depth beyond the longest trace reserves for all jobs; kernels take 64 bits.
    depth = min(reservation_depth_of(settings["reservations"]), max(map(len, traces)))
    reserved = window if depth < 0 else min(depth, window)
    columns = {feature.name: column for column, feature in enumerate(features)}
    guard = settings["guard"]
    limit, above = (None, None)
    if settings["trial_limit"] is not None:
        limit, above = trials_of(settings["trial_limit"])
    return EnvRules(
        depth,
        settings["reservations"] == "chosen",
        settings["idle"] != "never",
        settings["idle"] == "every_pass",
        None if guard is None else np.array([GUARDS[settings["guard_scale"]]]),
        None if guard is None else np.array([float(guard)]),
        limit if above is None else None,
        None if above is None else np.array([limit, above]),
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
    if rules.expression is not None:
        rules = rules._replace(expression=without_room(rules.expression))
    return rules._replace(every_pass=False)  # see `EnvBatch.stop_at_every_pass`
