"""Today's policy beside the candidates."""

import numpy as np
import pytest

import bfenv
from bfenv.analysis.intervals import batch_means
from bfenv.analysis.logged import logged_schedule
from bfenv.core.errors import BfenvError
from bfenv.core.schedule import Schedule
from bfenv_site import site_report, what_if
from bfenv_site.reports import report
from bfenv_site.reports import variants as whatif
from bfenv_site.reports.comparison import compare_site
from bfenv_site.reports.opening import MOST, candidate_lines, winners_and_losers


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
    assert [finding.policy for finding in comparison.findings] == [
        "easy-lxf",
        "easy-lqf",
        "easy-sqf",
    ]
    assert [finding.starves for finding in comparison.findings] == [False, False, True]
    assert comparison.best.policy == "easy-lxf"
    lines, below = candidate_lines(comparison)
    assert [line[0] for line in lines] == ["easy (today)", "easy-lxf (recommended)", "easy-lqf"]
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


def test_report(site, monkeypatch):
    """The log is a schedule beside today's policy and the candidates; the page has all of them."""
    monkeypatch.setattr(report, "gantt_section", lambda *scene, **options: None)
    heard = []
    result = site_report([str(site)], "easy", ["easy-lxf"], begin=heard.append, done=heard.append)
    assert len(heard) == 1 + heard[0] == 1 + len(result.rows) and result.failed == []
    [comparison] = result.comparisons
    trace = bfenv.load_workload(str(site))
    assert comparison.logged.start.tolist() == logged_schedule(trace).start.tolist()
    assert comparison.today.start.tolist() == bfenv.simulate(trace, "easy").start.tolist()
    rows = {row.policy: row for row in result.rows}
    assert set(rows) == {"logged", "easy", "fcfs", "easy-lxf"}
    assert rows["fcfs"].metrics["log_close"] == 1  # the log is that of fcfs
    assert rows["easy-lxf"].versus.reference == "easy"
    assert "In reality the mean wait was" in result.page
    with pytest.raises(BfenvError, match="two logs have one name"):
        site_report([str(site), str(site)], "easy", ["easy-lxf"])


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
    result = what_if(trace, variants, ["easy", "fcfs"])
    assert [(row.workload, row.policy) for row in result.rows] == [
        ("as is", "easy"),
        ("half", "easy"),
        ("as is", "fcfs"),
        ("half", "fcfs"),
    ]
    small = variants["half"].trace
    expected = bfenv.metrics(bfenv.simulate(small, "fcfs"))
    assert result.rows[3].metrics == expected
    assert (result.rows[3].jobs, result.rows[3].processors) == (len(small), 32)
    assert [change.value for change in result.changes[::2]] == [0, 0]  # of the first variants
    whole = what_if(trace, {"more": whatif.with_processors(trace, "+50%")}, ["fcfs"])
    waits = [row.schedule.wait for row in whole.rows]
    assert whole.changes[1] == batch_means(waits[1] - waits[0])
    easy = result.rows[2].metrics["mean_wait"], expected["mean_wait"]
    assert result.changes[3][:1] == (pytest.approx(easy[1] - easy[0]),)
    assert result.changes[3].low != result.changes[3].low  # other jobs, so no interval
    assert "It repeats your log well" in whole.fit  # which is fcfs's
    assert len(small) < len(trace) and "left out" in result.notes[0]
