"""Today's policy beside the candidates."""

import numpy as np
import pytest

import bfenv
from bfenv.analysis.logged import logged_schedule
from bfenv.core.errors import BfenvError
from bfenv.core.schedule import Schedule
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.site import compare_site, opening, site_comparisons, what_if
from bfenv.leaderboard.site.opening import MOST, candidate_lines, winners_and_losers
from bfenv.leaderboard.store import read_leaderboard
from bfenv.leaderboard.suite import suite_of
from bfenv.workloads import whatif


def waiting(policy, *waits):
    trace = bfenv.make_trace([0, 1, 2], [1, 1, 1], [5, 5, 5], 3, user=[0, 0, 1])
    start = trace.jobs.submit + np.array(waits)
    never = np.full(3, -1)
    return Schedule(trace, policy, 0, start, start + 5, never, never)


def test_order():
    """Candidates come by mean wait, and those that starve jobs come last, however short."""
    today = waiting("easy", 300, 300, 300)
    starving = waiting("easy-sqf", 0, 0, 700)
    longer, shorter = waiting("easy-lqf", 300, 300, 330), waiting("easy-lxf", 0, 300, 300)
    comparison = compare_site(today, [starving, longer, shorter])
    assert [one.policy for one in comparison.findings] == ["easy-lxf", "easy-lqf", "easy-sqf"]
    assert [one.starves for one in comparison.findings] == [False, False, True]
    assert comparison.best.policy == "easy-lxf"
    lines, below = candidate_lines(comparison)
    assert [line[0] for line in lines] == ["easy (today)", "easy-lxf", "easy-lqf"]
    assert [line[0] for line in below] == ["easy-sqf"]


def test_best_can_be_configured():
    """What Slurm cannot follow is listed, but it is not the best."""
    today = waiting("easy", 300, 300, 300)
    comparison = compare_site(today, [waiting("los", 0, 0, 0), waiting("easy-lxf", 200, 300, 300)])
    assert comparison.findings[0].policy == "los"
    assert comparison.best.policy == "easy-lxf"


def test_users():
    """Users count by the change of their mean wait, above a minute."""
    finding = compare_site(waiting("easy", 0, 0, 0), [waiting("los", 61, 60, 60)]).findings[0]
    assert (finding.users_less, finding.users_more) == (0, 1)


def test_from_rows(site, tmp_path):
    """A leaderboard of one's own log has the log's row, and the comparison can be had of it."""
    suite = suite_of([str(site)])
    outcome = run_suite(suite, ["easy", "fcfs"], out=tmp_path, keep_schedules=True)
    assert [row.policy for row in outcome.new_rows if row.kind == "log"] == ["logged"]
    leaderboard = read_leaderboard(tmp_path)
    assert [row.policy for row in leaderboard.logged] == ["logged"]
    assert {row.policy for row in leaderboard.all_rows} == {"easy", "fcfs"}
    [comparison] = site_comparisons(leaderboard)
    trace = bfenv.load_workload(str(site))
    assert comparison.logged.start.tolist() == logged_schedule(trace).start.tolist()
    assert comparison.today.start.tolist() == bfenv.simulate(trace, "easy").start.tolist()
    by_policy = {row.policy: row for row in leaderboard.rows}
    assert by_policy["fcfs"].metrics["log_close"] == 1  # the log is that of fcfs
    assert f"--workload {site}" in by_policy["fcfs"].command
    page = opening([comparison])
    assert "In reality the mean wait was" in page
    with pytest.raises(BfenvError, match="no row of slack on site"):
        site_comparisons(leaderboard, "slack")


def test_suite_of(site, tmp_path):
    """The name of one's own suite comes from the content, wherever the file is."""
    copy = tmp_path / "site.swf"
    copy.write_bytes(site.read_bytes())
    assert suite_of([str(site)]).name == suite_of([str(copy)]).name
    assert suite_of([str(site)]).name != suite_of([f"{site}:job_count=10"]).name
    assert suite_of([str(site)]).entries[0].logged
    with pytest.raises(BfenvError, match="two workloads have the name 'site'"):
        suite_of([str(site), str(copy)])
    with pytest.raises(BfenvError, match="needs a workload"):
        suite_of([])


def test_winners_and_losers():
    """Of many, the ends are listed, and the number between them."""
    listed, left_out = winners_and_losers(list(range(2 * MOST)))
    assert (len(listed), left_out) == (2 * MOST, 0)
    listed, left_out = winners_and_losers(list(range(2 * MOST + 3)))
    assert listed == [*range(MOST), *range(MOST + 3, 2 * MOST + 3)]
    assert left_out == 3


def test_what_if(site):
    """Variants stand beside the site as it is, policy by policy, with what to know about them."""
    trace = bfenv.load_workload(str(site))
    variants = {"half": whatif.with_processors(trace, "-50%")}
    outcomes = what_if(trace, variants, ["easy", "fcfs"])
    assert [(one.variant, one.policy) for one in outcomes] == [
        ("as is", "easy"), ("half", "easy"), ("as is", "fcfs"), ("half", "fcfs"),
    ]  # fmt: skip
    small = variants["half"].trace
    expected = bfenv.metrics(bfenv.simulate(small, "fcfs"))
    assert outcomes[3].metrics == expected
    assert (outcomes[3].jobs, outcomes[3].processors) == (len(small), 32)
    assert outcomes[3].jobs < outcomes[2].jobs and "left out" in outcomes[3].notes[0]
