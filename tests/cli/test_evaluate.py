"""`bfenv evaluate`: its rows, and what it does with policies of your own."""

import csv
import io
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import bfenv
from bfenv.cli.show_policies import short_names
from bfenv.core.kernel import NEVER, NOW, compiling
from tests.site_log import write_site


def test_all_policies(run):
    """Without --policy, every policy is compared."""
    status, out, _ = run("evaluate", "-w", "lublin:jobs=100,procs=64,load=1.0")
    assert status == 0
    for policy in bfenv.policies():
        assert re.search(rf"^ ?{re.escape(policy)} ", out, re.M)


def test_ranks(run):
    """The best policy comes first, and those that starve jobs come last."""
    policies = [word for name in ("fcfs", "saf", "easy", "easy-sjf") for word in ("-p", name)]
    status, out, _ = run("evaluate", "-w", "lublin:jobs=300,procs=64,load=1.0", *policies)
    assert status == 0
    assert re.findall(r"^ ([\w-]+) .* [\d.]+ h(\*?) ", out, re.M) == [
        ("easy-sjf", ""),
        ("easy", ""),
        ("fcfs", ""),
        ("saf", "*"),
    ]


def test_times(run):
    """Times of code that was not compiled yet are marked, and what is compiled has none."""
    for mode in (NEVER, NOW):
        with compiling(mode):
            status, out, _ = run("evaluate", "-w", "lublin:jobs=30", "-p", "easy", "-p", "fcfs")
        assert status == 0
        assert len(re.findall(r" ~[\d.]+ m?s *$", out, re.M)) == (2 if mode == NEVER else 0)
        assert ("`bfenv warm` compiles" in out) == (mode == NEVER)


def test_requested_starts(run):
    """Policies that do not plan for requested starts are left out, or refused if named."""
    workload = "lublin:jobs=40,procs=16,requested_start_share=0.3"
    status, out, err = run("evaluate", "-w", workload, "-f", "csv")
    assert status == 0
    shown = {row["policy"] for row in csv.DictReader(io.StringIO(out))}
    assert shown == {p.name for p in bfenv.policies().values() if p.requested_starts}
    left_out = err.rpartition(": ")[2]
    assert set(left_out.strip().split(", ")) == set(bfenv.policies()) - shown
    status, out, err = run("evaluate", "-w", workload, "-p", "fcfs")
    assert (status, out) == (2, "")
    assert err.startswith("bfenv: fcfs ") and re.search(r"job \d+", err)


def test_rows(run, swf):
    """The rows are the metrics of a simulation, as JSON and as CSV."""
    status, out, _ = run("evaluate", "-w", swf, "-p", "easy", "-p", "fcfs", "-f", "json")
    assert status == 0
    rows = json.loads(out)
    for row, policy in zip(rows, ("easy", "fcfs"), strict=True):
        expected = bfenv.metrics(bfenv.simulate(bfenv.read_swf(swf), policy))
        assert row["policy"] == policy
        assert {name: row[name] for name in expected} == expected
    status, out, _ = run("evaluate", "-w", swf, "-p", "easy", "-f", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert float(row["mean_wait"]) == rows[0]["mean_wait"]


def test_left_out(run, swf):
    """Why jobs of the log are left out is said, and a load that is not defined."""
    lines = swf.read_text().splitlines()
    for job, line, reason in (
        (2, "2 1 -1 4 9 -1 -1 9 4 -1 1 1 -1 -1 -1 -1 -1 -1", "(larger than the machine)"),
        (
            3,
            "3 1 -1 -1 1 -1 -1 1 4 -1 1 1 -1 -1 -1 -1 -1 -1",
            "(ran for 0 s, or no runtime: 1; larger than the machine: 1)",
        ),
    ):
        lines[job] = line
        swf.write_text("\n".join(lines) + "\n")
        _, out, _ = run("evaluate", "-w", swf, "-p", "easy", columns=200)
        assert f"left out {reason}: see `bfenv workloads info {swf}`" in out
    assert "1 job on 4 processors, offered load not defined" in out


@pytest.mark.compiled
def test_seeds(run, swf):
    """A seed sets the jobs of a generated workload, and nothing of a log."""
    _, out, _ = run("evaluate", "-p", "easy", "--seeds", 3, "-f", "json", "--load", 0.7)
    rows = json.loads(out)
    assert [row["seed"] for row in rows] == [0, 1, 2]
    assert len({row["mean_wait"] for row in rows}) == 3
    assert all(abs(row["offered_load"] - 0.7) < 0.01 for row in rows)
    for workload in (swf, "lublin:jobs=40,seed=5"):
        _, out, err = run("evaluate", "-w", workload, "-p", "easy", "--seeds", 3, "-f", "json")
        assert len(json.loads(out)) == 1 and "--seeds 3 has no effect" in err
    _, _, err = run("evaluate", "-w", swf, "-p", "easy-random", "--seeds", 3)
    assert "--seeds" not in err


def test_metric_in_seconds(run, swf):
    """A chosen metric that is a duration is written as the other durations of the table are."""
    command = ("evaluate", "-w", swf, "-p", "easy", "-f", "markdown", "--metric", "max_wait")
    _, out, _ = run(*command, "--metric", "started_at_once")
    heading, _, line = (line for line in out.splitlines() if line.startswith("|"))
    cells = dict(zip(heading.split(" | "), line.split(" | "), strict=True))
    assert cells["max wait"] == cells["longest wait"] != cells["started at once"]
    assert out.startswith(f"{bfenv.load_workload(swf).name}: "), "the workload is the title"


def test_percentiles_of_seeds(run):
    """With several seeds, the 5th and 95th percentile over them stand beside the mean."""
    command = ("evaluate", "-w", "lublin:jobs=200,procs=16", "-p", "easy", "--seeds", 3)
    status, out, _ = run(*command, "-f", "json")
    slowdowns = [row["mean_bounded_slowdown"] for row in json.loads(out)]
    low, high = np.percentile(slowdowns, (5, 95))
    status, out, _ = run(*command, "-f", "markdown")
    cells = f"{sum(slowdowns) / 3:.2f} | {low:.2f} to {high:.2f}"
    assert status == 0 and "5 to 95 % of seeds" in out and cells in out
    _, out, _ = run(*command[:-1], 1, "-f", "markdown")
    assert "of seeds" not in out


def test_metric_and_tau(run, swf):
    """A column has any metric of `summarize`; slowdowns are bounded at --tau, as a note says."""
    trace = bfenv.load_workload(swf)
    names = ["median_guarantee_ratio", "slowdown_ratio_small_estimate", "mean_bounded_slowdown_600"]
    schedule, easy = (bfenv.simulate(trace, policy) for policy in ("conservative", "easy"))
    found = bfenv.metrics(schedule, easy, tau=2)
    options = [option for name in names for option in ("--metric", name)]
    command = ("evaluate", "-w", swf, "-p", "conservative", "-p", "easy", "--tau", 2)
    status, out, _ = run(*command, *options, "-f", "markdown")
    (line,) = [line for line in out.splitlines() if line.startswith("| conservative")]
    assert status == 0 and "slowdowns are bounded at 2 s" in out
    for name in ("mean_bounded_slowdown", *names):
        assert f"{found[name]:.2f}" in line
    assert found["mean_bounded_slowdown"] > bfenv.metrics(schedule)["mean_bounded_slowdown"]
    status, out, err = run("evaluate", "-w", swf, "-p", "easy", "--metric", "mean_wiat")
    assert (status, out) == (2, "") and "mean_wait" in err
    several = ("-w", swf, "-w", "lublin:jobs=40", "--metric", "mean_wait")
    assert "--metric has no effect with several workloads" in run("evaluate", *several)[2]


def test_several_workloads(run):
    """A line for each policy has its slowdown on each split, and is a row of a booktabs table."""
    given = ("-w", "lublin:jobs=400,load=0.9", "-w", "lublin:jobs=400,load=0.9,seed=1")
    options = (*given, "--split", "test", "-p", "easy", "-p", "easy-sjf")
    _, out, _ = run("evaluate", *options, "-f", "json")
    rows = {(row["workload"], row["policy"]): row for row in json.loads(out)}
    trace = bfenv.load_workload(given[1], split="test")
    expected = bfenv.metrics(bfenv.simulate(trace, "easy-sjf"))
    assert rows[trace.name, "easy-sjf"]["mean_wait"] == expected["mean_wait"]
    _, out, _ = run("evaluate", *options, "-f", "latex")
    table = [line for line in out.splitlines() if " & " in line]
    lines = {line.split(" & ")[0].rstrip("*"): line for line in table}
    assert set(lines) == {"policy", "easy", "easy-sjf", ""}
    own = f"{expected['mean_bounded_slowdown']:,.2f}"
    assert own in lines["easy-sjf"] and lines["easy-sjf"].endswith(r"\\")
    assert {line.count("&") for line in table} == {5}  # one column for each workload
    below = table[table.index(lines["easy-sjf"]) + 1]
    assert below.startswith(" & {\\scriptsize ") and " to " in below
    assert r"\toprule" in out and "of the split test. Below it" in out


def test_workloads_of_one_name(run, tmp_path):
    """Workloads whose traces have one name have columns and rows of their own."""
    two = ("lublin:jobs=200,load=0.9", "lublin:jobs=300,seed=7")
    _, out, _ = run("evaluate", "-w", two[0], "-w", two[1], "-p", "easy", "-p", "fcfs", "-f", "csv")
    rows = {row["workload"]: row for row in csv.DictReader(io.StringIO(out))}
    assert {name: row["jobs"] for name, row in rows.items()} == {two[0]: "200", two[1]: "300"}


def test_given_twice(run):
    """A policy that is given twice, also in other words, runs once."""
    options = ("-p", "easy", "-p", "easy()", "-p", "easy", "-w", "lublin:jobs=50")
    _, out, _ = run("evaluate", *options, "-f", "json")
    assert [row["policy"] for row in json.loads(out)] == ["easy"]
    assert "of seeds" not in run("evaluate", *options)[1]


def test_notes_of_several(run):
    """Another bound is named, and no mark is explained that only a name has."""
    given = ("-w", "lublin:jobs=100", "-w", "sud:jobs=50", "-p", "easy")
    _, out, _ = run("evaluate", *given, "-p", "easy(order=submit * 1)", "--tau", 60)
    assert "slowdowns are bounded at 60 s, not at 10 s" in out and "starves" not in out


def test_shard_of_a_table(run):
    """The table of a shard says that it has a part of the runs."""
    options = ("-w", "lublin:jobs=50", "-p", "easy", "-p", "fcfs", "--shard", "2/2")
    _, out, err = run("evaluate", *options)
    assert "no runs of easy" in out and "this is shard 2/2, so means are over a part" in err


def test_short_names():
    """A workload is called as papers call it, unless two would then have one name."""
    names = ["KTH-SP2-1996-2.1-cln[16189:28467]", "SDSC-SP2-1998-4.2-cln", "lublin"]
    assert short_names(names) == ["KTH-SP2", "SDSC-SP2", "lublin"]
    twins = ["KTH-SP2-1996-2.1-cln[0:9]", "KTH-SP2-1996-2.1-cln[9:18]"]
    assert short_names([*twins, *names[1:]]) == [*twins, "SDSC-SP2", "lublin"]


def test_seeds_in_one_column(run, tmp_path):
    """A generated workload has one column, the mean of its seeds, also if their splits differ."""
    log = write_site(tmp_path / "site.swf")
    given = ("-w", "lublin:jobs=400,load=0.9", "-w", log, "--split", "test")
    options = (*given, "--seeds", 2, "-p", "easy", "-p", "fcfs")
    _, out, _ = run("evaluate", *options, "-f", "json")
    rows = [row for row in json.loads(out) if row["policy"] == "fcfs"]
    assert [row["workload"] for row in rows].count("lublin") == 2
    _, out, _ = run("evaluate", *options, "-f", "latex")
    (line,) = (line for line in out.splitlines() if line.startswith("fcfs"))
    cells = line.removesuffix(r" \\").split(" & ")
    assert len(cells) == 1 + 2 + 3
    slowdowns = [row["mean_bounded_slowdown"] for row in rows if row["workload"] == "lublin"]
    assert cells[1] == f"{sum(slowdowns) / 2:,.0f}"


def test_latex_compiles(run, tmp_path):
    """pdflatex makes a page of each table that is printed for it."""
    pdflatex = shutil.which("pdflatex")
    if pdflatex is None:
        pytest.skip("pdflatex is not installed")
    given = ("-w", "lublin:jobs=100", "-w", "lublin:jobs=100,seed=1", "-p", "easy", "-p", "fcfs")
    log = write_site(tmp_path / "site.swf", jobs=60)
    agent = ("--agent", "random", "--episodes", 1, *given[2:])
    options_of = (given, given[2:], agent, ("-w", log, *given[4:]))
    tables = [run("evaluate", *options, "-f", "latex")[1] for options in options_of]
    document = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}"
    (tmp_path / "a.tex").write_text("\n".join([document, *tables, "\\end{document}"]))
    command = [pdflatex, "-halt-on-error", "-interaction=nonstopmode", "a.tex"]
    compiled = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stdout[-2000:]


@pytest.mark.compiled
def test_expression(run):
    """A name with options is a policy, and its own name in the rows."""
    expression = "easy(order=wfp3, lookahead=100)"
    _, out, _ = run("evaluate", "-p", expression, "-f", "json")
    (row,) = json.loads(out)
    assert row["policy"] == expression


def test_failing_policy(run, tmp_path, monkeypatch):
    """A policy that raises is one line with its file and line, and the others have their rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_scheduler.py").write_text("def mine(cluster, jobs):\n    jobs.runtime\n")
    policies = ["-p", "easy", "-p", "broken_scheduler:mine"]
    arguments = ("-w", "lublin:jobs=50", *policies, "--seeds", 2, "-f", "json")
    status, out, err = run("evaluate", *arguments)
    assert [row["policy"] for row in json.loads(out)] == ["easy", "easy"]
    assert status == 1 and err.count("\n") == 1
    assert "AttributeError: 'Jobs' object has no attribute 'runtime'" in err
    assert "(broken_scheduler.py, line 2)" in err


@pytest.mark.together
def test_failing_player(run):
    """A player that does not greet costs only its own rows, and its error names it."""
    status, out, err = run(
        "evaluate", "-w", "lublin:jobs=30", "-p", "easy", "--player", "false", "-f", "json"
    )
    assert status == 1 and [row["policy"] for row in json.loads(out)] == ["easy"]
    assert err == "bfenv: false: its process died (exit status 1)\n"


def test_nothing_but_the_log(run, tmp_path, monkeypatch):
    """If all policies fail, the schedule of the log is shown alone."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "idle_scheduler.py").write_text("def idle(cluster, jobs):\n    pass\n")
    log = write_site(tmp_path / "site.swf", jobs=60)
    status, out, err = run("evaluate", "-w", log, "-p", "idle_scheduler:idle")
    assert status == 2 and "idle_scheduler:idle leaves 60 jobs waiting forever" in err
    assert "\n logged " in out and "division" not in out and "repeats" not in out


def test_verdict(run, tmp_path):
    """One policy is judged by how it repeats the log, and the note says that it is the closest."""
    log = write_site(tmp_path / "site.swf", jobs=60)
    status, out, _ = run("evaluate", "-w", log, "-p", "easy", "-p", "fcfs", "-p", "los")
    verdicts = [
        line for line in out.splitlines() if line.rstrip().endswith(("good", "fair", "poor"))
    ]
    assert status == 0 and len(verdicts) == 1
    assert "Only the closest policy is judged" in out


def test_notes_in_latex(run, tmp_path):
    """What is said of a log beside its tables is a comment in LaTeX."""
    log = write_site(tmp_path / "site.swf", jobs=60)
    _, out, _ = run("evaluate", "-w", log, "-p", "easy", "-p", "fcfs", "-f", "latex")
    beside = out.rpartition(r"\end{table}")[2].strip().splitlines()
    assert beside[0] == "% What the simulation leaves out, and contradictions in this log:"
    assert all(line.startswith("% ") for line in beside)
    assert r"\caption{}" not in out
