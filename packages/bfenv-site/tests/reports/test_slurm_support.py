"""Whether Slurm can follow a policy."""

import pytest

from bfenv.baselines.registry import ALL
from bfenv_site import CANDIDATES
from bfenv_site.reports.slurm_support import slurm_support


@pytest.mark.parametrize(
    ("policy", "answer", "how"),
    [
        ("fcfs", "yes", "sched/builtin"),
        ("easy", "yes", "bf_job_part_count_reserve=1"),
        ("easy(reservations=5)", "yes", "bf_job_part_count_reserve=5"),
        ("conservative-replan", "yes", "SchedulerParameters=bf_max_job_test"),
        ("slurm", "yes", "SchedulerType=sched/backfill"),
        ("slurm(parameters='bf_window=9')", "yes", "backfill, SchedulerParameters=bf_window=9"),
        ("easy(lookahead=100)", "yes", "bf_max_job_test=100"),
        ("easy-sqf", "yes", "PriorityFavorSmall=YES"),
        ("easy(order=wfp3)", "plugin", "PrioritySiteFactorPlugin"),
        ("easy-wfp3", "plugin", "PrioritySiteFactorPlugin"),
        ("easy(reservations=0)", "no", "neither"),
        ("easy++", "no", "neither"),
        ("multiqueue", "no", "kills"),
        ("easy-speculative", "no", "kills"),
        ("los", "no", "neither"),
        ("easy-sjbf", "no", "neither"),
        ("easy(backfill=sjf)", "no", "neither"),
        ("no-such-policy", "no", "not a policy"),
    ],
)
def test_support(policy, answer, how):
    """Each policy has the answer that slurm.conf(5) gives."""
    support = slurm_support(policy)
    assert support.answer == answer
    assert how in support.explanation


def test_all():
    """Every baseline has an answer; no default candidate is out of Slurm's reach."""
    assert {slurm_support(name).answer for name in ALL} == {"yes", "plugin", "no"}
    assert all(slurm_support(name).answer != "no" for name in CANDIDATES)
