"""The command `bfenv report`, and logs as they ran in other commands."""

import json

import pytest

import bfenv
from bfenv.baselines.registry import find_competitor
from tests.site_log import write_site


@pytest.fixture
def site(tmp_path):
    return write_site(tmp_path / "site.swf", jobs=60)


def test_page(run, site, tmp_path):
    """One command goes from a log to the page, whose opening is printed as well."""
    page = tmp_path / "site.html"
    status, out, _ = run("report", site, "-o", page, "-p", "easy-lxf", "-j", 1, columns=140)
    assert status == 0
    text = page.read_text()
    assert "The verdict" in text
    assert "In reality the mean wait was" in text and "In reality the mean wait was" in out
    for name in ("logged", "easy (today)", "easy-lxf", "fcfs"):
        assert name in out and name in text
    status, _, err = run("report", site, "-o", page, "-p", "easy-lxf")
    assert (status, err) == (2, f"bfenv: {page} exists; use --force to overwrite it\n")


def test_names_of_users(run, site, tmp_path):
    """Names are put in from the import's file; a line of another kind is refused by its number."""
    page, who = tmp_path / "site.html", tmp_path / "who.csv"
    who.write_text('kind,number,name\n"group",1,"ann <x>"\n')
    command = ("report", site, "-o", page, "-p", "easy-lxf", "-j", 1, "--users", who)
    assert run(*command, "--today", "fcfs")[0] == 0
    assert "ann &lt;x&gt;" in page.read_text() and ">group 1<" not in page.read_text()
    who.write_text("user,7\n")
    status, _, err = run(*command, "--force")
    assert (status, err) == (
        2,
        f"bfenv: {who}, line 1: expected kind,number,name like user,7,ann\n",
    )


def test_site_of_slurm(run, site, tmp_path):
    """The site's slurm.conf is today's policy; changed SchedulerParameters are a candidate."""
    conf, page = tmp_path / "slurm.conf", tmp_path / "site.html"
    nodes = bfenv.load_workload(str(site)).processors
    conf.write_text(f"NodeName=n[1-{nodes}] CPUs=1\nPartitionName=main Nodes=ALL\n")
    today = f"slurm(conf='{conf}')"
    candidate = f"slurm(parameters=bf_window=10, conf='{conf}')"
    status, out, err = run(
        "report", site, "-o", page, "--today", today, "-p", candidate, "-j", 1, columns=300
    )
    assert status == 0, err
    names = [find_competitor(policy).name for policy in (today, candidate)]
    assert f"{names[0]} (today)" in out and names[1] in out


def test_today_twice(run, site, tmp_path):
    """Today's policy is left out of the candidates, with a note; alone it is refused."""
    page = tmp_path / "site.html"
    command = ("report", site, "-o", page, "-j", 1, "--today", "easy")
    status, out, err = run(*command, "-p", "easy(reservations=1)")
    assert (status, out, page.exists()) == (2, "", False)
    assert err == "bfenv: --policy easy is today's policy; name another to compare it with\n"
    status, out, err = run(*command, "-p", "easy", "-p", "easy-lxf", columns=140)
    assert status == 0
    assert err == "bfenv: easy is today's policy, not a candidate as well\n"
    assert out.count("\n easy ") == 1


def test_failing_candidate(run, site, tmp_path, monkeypatch):
    """The others are compared, the error is one line, and the exit status is 1."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_candidate.py").write_text("def mine(cluster, jobs):\n    1 // 0\n")
    page = tmp_path / "site.html"
    candidates = ("-p", "broken_candidate:mine", "-p", "easy-lxf")
    status, out, err = run("report", site, "-o", page, *candidates, "-j", 1, columns=140)
    assert status == 1 and page.exists()
    assert "\n easy-lxf " in out and "broken_candidate" not in out
    assert err.count("broken_candidate:mine on ") == 1 and "ZeroDivisionError" in err
    for policies in (("-p", "broken_candidate:mine"), ("--today", "broken_candidate:mine")):
        status, out, err = run("report", site, "-o", tmp_path / "none.html", *policies, "-j", 1)
        assert (status, out) == (2, "") and not (tmp_path / "none.html").exists()
        assert "ZeroDivisionError" in err and "to compare with" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-log"], "unknown workload 'no-such-log'"),
        (["lublin", "--today", "no-such"], "unknown policy 'no-such'"),
        (["lublin:load=80", "-p", "easy-sqf"], "load of 80 % is load=0.8"),
        (["lublin", "--today", "sched/backfill"], "Slurm's scheduler is the policy slurm"),
    ],
)
def test_wrong(run, tmp_path, arguments, message):
    """A wrong name is reported in one line."""
    status, out, err = run("report", *arguments, "-o", tmp_path / "page.html")
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_evaluate(run, site):
    """evaluate shows the log first, then how well each policy repeats it, and what is left out."""
    status, out, _ = run("evaluate", "-w", site, "-p", "easy", "-p", "fcfs")
    assert status == 0
    assert out.index("\n logged ") < out.index("\n easy ")
    assert "repeats" in out
    assert "2 partitions and their limits" in out
    _, out, _ = run("evaluate", "-w", site, "-p", "fcfs", "-f", "json")
    logged, fcfs = json.loads(out)
    assert logged["policy"] == "logged"
    assert logged["mean_wait"] == fcfs["mean_wait"]
    assert fcfs["log_mean_wait_ratio"] == fcfs["log_close"] == 1


def test_suite_or_workload(run, site, tmp_path):
    """A leaderboard runs on a suite or on your own log, not on both."""
    arguments = ("-p", "easy", "-o", tmp_path / "board", "-j", 1)
    status, _, err = run("leaderboard", "run", "-s", "smoke-v1", "-w", site, *arguments)
    assert (status, err) == (2, "bfenv: --suite and --workload exclude each other\n")
    status, out, _ = run("leaderboard", "run", "-w", site, *arguments)
    assert status == 0
    assert "2 rows made" in out
