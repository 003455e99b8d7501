"""The installed slurmctld starts the jobs of the cases when the recorded one did."""

import pytest

from site_helpers.cases import CASES
from site_helpers.real_slurm import is_installed, run_real

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.thorough,
    pytest.mark.skipif(not is_installed(), reason="no real Slurm, or not root"),
]
CHOSEN = (
    "fifo_builtin",
    "fifo_same_backfill",
    "all_reservations",
    "one_reservation",
    "bf_window_10",
    "bf_max_job_test_2",
    "bf_resolution_1",
    "prio_small",
    "partition_tier",
    "partition_apart",
)


@pytest.mark.parametrize("name", CHOSEN)
def test_recorded_starts(name):
    """The installed Slurm starts each job of a recorded case within a minute of the record."""
    (case,) = (case for case in CASES if case["name"] == name)
    conf = [*case["conf"], f"SchedulerParameters={case['parameters']}"]
    if not any(line.startswith("PartitionName") for line in conf):
        conf.append("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
    jobs = [
        [*job[:4], *(["-p", job[5]["partition"]] if "partition" in job[5] else [])]
        for job in case["jobs"]
    ]
    rows = run_real({**case, "conf": conf, "jobs": jobs})
    recorded = [job[4] - case["jobs"][0][0] / 60 for job in case["jobs"]]
    assert [row[1] / 60 for row in rows] == [pytest.approx(start, abs=1.0) for start in recorded]
