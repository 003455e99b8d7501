"""What SchedulerParameters says, and which of it is modelled."""

import multiprocessing
import warnings
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from bfenv.core.errors import PolicyError
from bfenv.core.text import listed, shown, suggest

MOST_DIGITS = 12  # of a value


class Parameter(NamedTuple):
    """A setting that is modelled: its value by default, and the limits that Slurm has."""

    default: int
    least: int
    most: int


# The names are those of SchedulerParameters in Slurm 22.05. The kernels' array has this order.
PARAMETERS: Mapping[str, Parameter] = MappingProxyType(
    {
        "bf_interval": Parameter(30, 1, 10_800),  # seconds
        "bf_resolution": Parameter(60, 1, 3600),  # seconds
        "bf_window": Parameter(1440, 1, 43_200),  # minutes
        "bf_max_job_test": Parameter(500, 1, 1_000_000),  # jobs
        "bf_node_space_size": Parameter(0, 2, 2_000_000),  # records; 0 for bf_max_job_test
        "bf_max_job_start": Parameter(0, 0, 10_000),  # jobs; 0 for no limit
        "bf_job_part_count_reserve": Parameter(0, 0, 100_000),  # jobs; 0 for no limit
        "bf_max_job_part": Parameter(0, 0, 500_000),  # jobs; 0 for no limit, as are the next two
        "bf_max_job_user": Parameter(0, 0, 500_000),
        "bf_max_job_user_part": Parameter(0, 0, 500_000),
        "bf_min_age_reserve": Parameter(0, 0, 2_592_000),  # seconds
        "default_queue_depth": Parameter(100, 1, 1_000_000),  # jobs
        "sched_interval": Parameter(60, 1, 86_400),  # seconds
    }
)
(
    INTERVAL,
    RESOLUTION,
    WINDOW,
    MAX_JOB_TEST,
    TABLE_SIZE,
    MAX_JOB_START,
    JOBS_RESERVED,
    MAX_JOB_PART,
    MAX_JOB_USER,
    MAX_JOB_USER_PART,
    MIN_AGE,
    QUEUE_DEPTH,
    SCHED_INTERVAL,
) = range(len(PARAMETERS))
UNMODELLED = frozenset(
    """
    allow_zero_lic assoc_limit_stop batch_sched_delay bb_array_stage_cnt bf_allow_magnetic_slot
    bf_busy_nodes bf_continue bf_hetjob_immediate bf_hetjob_prio bf_licenses bf_max_job_array_resv
    bf_max_job_assoc bf_max_time bf_min_prio_reserve bf_one_resv_per_job
    bf_running_job_reserve bf_topopt_enable bf_window_linear bf_yield_interval bf_yield_sleep
    build_queue_timeout correspond_after_task_cnt cr_last_partition_rr_pct defer defer_batch
    delay_boot disable_het_job_steps disable_hetjob_steps disable_job_shrink disable_user_top
    enable_hetjob_steps enable_job_shrink enable_user_top extra_constraints
    ignore_constraint_validation ignore_numa ignore_prefer_validation max_array_tasks max_rpc_cnt
    max_sched_time max_script_size max_submit_line_size max_switch_wait no_backup_scheduling
    no_env_cache nohold_on_prolog_fail pack_serial_at_end partition_job_depth
    preempt_reorder_count preempt_send_user_signal preempt_strict_order preempt_youngest_first
    reduce_completing_frag requeue_delay requeue_setup_env_fail salloc_wait_nodes
    sbatch_wait_nodes sched_max_job_start sched_min_interval spec_cores_first
    step_retry_count step_retry_time time_min_as_soft_limit whole_hetjob whole_pack
    """.split()
)


def read_parameters(text: str, strict: bool = True) -> tuple[dict[str, int], list[str]]:
    """Read a SchedulerParameters string, as in "bf_window=2880,bf_continue".

    Args:
        text: Settings with commas between them; case does not matter. Of several of a name, the
            last counts.
        strict: Whether to refuse what Slurm 22.05 does not know, instead of taking it for a setting
            that is not modelled.

    Returns:
        The value of each of PARAMETERS, and the names of the settings that are not modelled.

    Raises:
        PolicyError: If Slurm has no such setting, or a value is not a number within Slurm's limits.
    """
    values = {name: parameter.default for name, parameter in PARAMETERS.items()}
    unmodelled = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (part.strip() for part in item.partition("="))
        name = name.lower()
        if name not in PARAMETERS and (name in UNMODELLED or not strict):
            hint = "" if name in UNMODELLED else suggest(name, {*PARAMETERS, *UNMODELLED})
            unmodelled.append(f"{name} ({hint})" if hint else name)
            continue
        if name not in PARAMETERS:
            hint = suggest(name, {*PARAMETERS, *UNMODELLED}) or "see man slurm.conf"
            raise PolicyError(f"SchedulerParameters has no setting {shown(name)}; {hint}")
        _, least, most = PARAMETERS[name]
        is_number = value.isdecimal() and len(value) <= MOST_DIGITS
        if not is_number or not least <= int(value) <= most:
            raise PolicyError(
                f"SchedulerParameters: {name} must be an integer from {least} to {most}, "
                f"got {shown(value)}"
            )
        values[name] = int(value)
    return values, unmodelled


@cache
def warn_of_unmodelled(names: tuple[str, ...], source: str) -> None:
    """Say which settings have no effect, once; workers of another process do not repeat it."""
    if names and multiprocessing.parent_process() is None:
        unique = listed(list(dict.fromkeys(names)))
        warnings.warn(f"{source}: the policy slurm does not model {unique}", stacklevel=4)
