"""The command line: what it prints, and how it says no."""

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import bfenv
from bfenv import cli
from bfenv.speed.engine import row as measured
from bfenv.speed.measurements import write_record

SWF = """; MaxProcs: 4
1 0 -1 4 2 -1 -1 2 4 -1 1 1 -1 -1 -1 -1 -1 -1
2 1 -1 4 4 -1 -1 4 4 -1 1 1 -1 -1 -1 -1 -1 -1
3 2 -1 2 2 -1 -1 2 2 -1 1 2 -1 -1 -1 -1 -1 -1
"""


@pytest.fixture
def bfenv_command(monkeypatch, capsys):
    """Run the command in this process: (status, stdout, stderr)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["bfenv", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "100")
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def swf(tmp_path):
    path = tmp_path / "three.swf"
    path.write_text(SWF)
    return path


def test_evaluate_prints_every_registered_policy_best_first(bfenv_command):
    status, out, _ = bfenv_command("evaluate")
    assert status == 0
    for policy in bfenv.policies():
        assert re.search(rf"^ ?{re.escape(policy)} ", out, re.M)
    assert out.index("\n easy ") < out.index("\n fcfs ")


def test_evaluate_leaves_out_who_cannot_plan_for_requested_starts_and_says_so(bfenv_command):
    workload = "lublin:jobs=40,procs=16,requested_start_share=0.3"
    status, out, err = bfenv_command("evaluate", "-w", workload, "-f", "csv")
    assert status == 0
    shown = {row["policy"] for row in csv.DictReader(io.StringIO(out))}
    assert shown == {p.name for p in bfenv.policies().values() if p.requested_starts}
    left_out = err.removeprefix("bfenv: left out, for they do not plan for requested start times: ")
    assert set(left_out.strip().split(", ")) == set(bfenv.policies()) - shown
    status, out, err = bfenv_command("evaluate", "-w", workload, "-p", "fcfs")
    assert (status, out) == (2, "")
    assert "fcfs does not plan for requested start times, and job" in err


def test_evaluate_prints_rows_that_are_the_metrics_of_simulate(bfenv_command, swf):
    status, out, _ = bfenv_command("evaluate", "-w", swf, "-p", "easy", "-p", "fcfs", "-f", "json")
    assert status == 0
    rows = json.loads(out)
    for row, policy in zip(rows, ("easy", "fcfs"), strict=True):
        expected = bfenv.metrics(bfenv.simulate(bfenv.read_swf(swf), policy))
        assert row["policy"] == policy
        assert {name: row[name] for name in expected} == expected
    status, out, _ = bfenv_command("evaluate", "-w", swf, "-p", "easy", "-f", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert float(row["mean_wait"]) == rows[0]["mean_wait"]


def test_a_seed_draws_the_jobs_of_a_generated_workload_and_nothing_of_a_log(bfenv_command, swf):
    _, out, _ = bfenv_command("evaluate", "-p", "easy", "--seeds", 3, "-f", "json", "--load", 0.7)
    rows = json.loads(out)
    assert [row["seed"] for row in rows] == [0, 1, 2]
    assert len({row["mean_wait"] for row in rows}) == 3
    assert all(abs(row["offered_load"] - 0.7) < 0.01 for row in rows)
    _, out, _ = bfenv_command("evaluate", "-w", swf, "-p", "easy", "--seeds", 3, "-f", "json")
    assert len(json.loads(out)) == 1


def test_a_new_combination_is_a_policy_by_its_expression(bfenv_command):
    expression = "easy(order=wfp3, lookahead=100)"
    _, out, _ = bfenv_command("evaluate", "-p", expression, "-f", "json")
    (row,) = json.loads(out)
    assert row["policy"] == expression


def test_simulate_writes_one_line_per_job(bfenv_command, swf, tmp_path):
    status, out, _ = bfenv_command("simulate", "-w", swf)
    assert status == 0
    assert out == (
        "job,submit,size,estimate,runtime,start,end\n0,0,2,4,4,0,4\n1,1,4,4,4,4,8\n2,2,2,2,2,2,4\n"
    )
    target = tmp_path / "schedule.csv"
    assert bfenv_command("simulate", "-w", swf, "-o", target)[0] == 0
    assert target.read_text() == out


def test_a_leaderboard_run_says_what_it_made_what_failed_and_where_the_time_went(
    bfenv_command, tmp_path
):
    agent = "tests.leaderboard.players:raising:window=4"
    command = ["leaderboard", "run", "-s", "smoke-v1", "-p", "easy", "-a", agent, "-j", 1, "-o"]
    status, out, err = bfenv_command(*command, tmp_path / "board")
    assert status == 1
    assert "Time by policy" in out and "Time by workload" in out
    assert out.endswith("board: 8 rows made, 0 there already\n")
    assert err.count("RuntimeError: it cannot decide?[2J") == 4
    status, out, err = bfenv_command(*command, tmp_path / "board")
    assert (status, err.count("failed: ")) == (1, 4)
    assert out.endswith("board: 0 rows made, 8 there already\n")


@pytest.mark.parametrize("command", ["simulate", "gantt --out gantt.png", "evaluate"])
@pytest.mark.parametrize(
    "body, told",
    [("raise KeyError(job)", "NameError: name 'job'"), ("raise SystemExit(3)", "SystemExit: 3")],
)
def test_a_policy_that_fails_is_one_line_that_names_it(
    bfenv_command, tmp_path, monkeypatch, command, body, told
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = f"failing_{abs(hash((command, body)))}"
    (tmp_path / f"{module}.py").write_text(f"def crash(cluster, jobs, memory):\n    {body}\n")
    workload = ("--workload", "lublin:jobs=20", "--policy", f"{module}:crash")
    status, out, err = bfenv_command(*command.split(), *workload)
    assert (status, out) == (2, "")
    assert err.startswith(f"bfenv: {module}:crash failed, {told}") and err.count("\n") == 1
    assert err.endswith(f"{module}.py:2)\n")


def test_an_option_that_is_no_list_is_not_taken_twice(bfenv_command):
    command = "evaluate -w lublin --policy easy --policy fcfs --workload sud"
    assert bfenv_command(*command.split()) == (2, "", "bfenv: --workload is given twice\n")


def test_the_version_is_told(bfenv_command):
    status, out, _ = bfenv_command("--version")
    assert status == 0
    assert out.startswith("bfenv ") and "numba" in out


def test_numbers_are_never_cut(bfenv_command, monkeypatch):
    monkeypatch.setattr(sys, "argv", [])
    name = "easy(order=wfp3, reservations=2, lookahead=100)"
    _, out, _ = bfenv_command("evaluate", "-w", "lublin:jobs=50", "-p", name)
    assert "…" not in out and " ms" in out


def test_an_agent_of_ones_own_is_found_in_the_folder_one_is_in(tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Mine:\n"
        "    stochastic = False\n"
        "    def predict(self, observation, action_masks, **others):\n"
        "        return action_masks.argmax(), None\n"
        "mine = Mine()\n"
    )
    command = "leaderboard run -s smoke-v1 -a mine:mine -j 2 -o board".split()
    program = [Path(sys.executable).parent / "bfenv", *command]
    run = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stdout.splitlines()[-1]) == (
        0,
        "board: 4 rows made, 0 there already",
    )
    assert "failed" not in run.stderr


@pytest.mark.parametrize("name", ["schedule.csv.gz", "schedule"])
def test_a_schedule_is_not_written_under_a_name_that_tells_no_format(
    bfenv_command, swf, tmp_path, name
):
    status, _, err = bfenv_command("simulate", "-w", swf, "-o", tmp_path / name)
    assert status == 2
    assert err.endswith(f"{name}: the name of a schedule's file ends in .csv, .swf or .swf.gz\n")
    assert not (tmp_path / name).exists()


def test_a_file_that_is_there_is_overwritten_only_by_force(bfenv_command, swf):
    status, _, err = bfenv_command("simulate", "-w", swf, "-o", swf)
    assert (status, swf.read_text()) == (2, SWF)
    assert "--force" in err
    assert bfenv_command("simulate", "-w", swf, "-o", swf, "--force")[0] == 0
    assert "\n2 1 3 4 4 " in swf.read_text()  # as SWF, the second job having waited 3 s


def test_lists_name_what_there_is(bfenv_command):
    assert all(name in bfenv_command("policies")[1] for name in bfenv.policies())
    assert "lublin" in bfenv_command("workloads")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "-p", "esay"], "unknown policy 'esay'; did you mean easy"),
        (["evaluate", "-w", "lubin"], "unknown workload 'lubin'; did you mean lublin"),
        (["evaluate", "-w", "no/such.swf"], "no such workload file: no/such.swf"),
        (["evaluate", "--load", "0"], "load"),
        (["evaluate", "--load", "nan"], "load"),
        (["evaluate", "--load", "much"], "--load"),
        (["evaluate", "--seeds", "0"], "--seeds"),
        (["evaluate", "--format", "xml"], "xml"),
        (["evaluate", "--bogus"], "--bogus"),
        (["evaluate", "-p", "easy(order=fcfs"], "cannot read the policy"),
        (["evaluate", "-p", "easy(ordr=fcfs)"], "easy has no option 'ordr'"),
        (["evaluate", "-p", "easy(order=wfp9)"], "wfp9"),
        (["evaluate", "-p", "easy(order=[])"], "'[]' is neither text nor a number"),
        (["evaluate", "-p", "easy(order={[]:1})"], "order is one of fcfs"),
        (["evaluate", "-p", "easy(lookahead=10000000000000000000000)"], "is out of range"),
        (["evaluate", "-p", "eazy(order=fcfs)"], "unknown family of policies 'eazy'"),
        (["simulate", "-o", "no/such/folder.csv"], "no such folder: no/such"),
        (["evaluate", "--jobs", "0"], "jobs is a number of processes from 1 up, or -1"),
        (["evaluate", "--backend", "dusk"], "unknown backend 'dusk'; did you mean dask"),
        (["evaluate", "--backend", "dask"], "needs the address of a scheduler"),
        (["evaluate", "--shard", "4/3"], "a shard is like 3/20"),
        (["leaderboard", "run", "-o", "b"], "nothing to run: see --policy, --all and --agent"),
        (["leaderboard", "run", "-p", "easy"], "--out"),
        (["leaderboard", "run", "-o", "b", "-p", "esay"], "unknown policy 'esay'"),
        (["leaderboard", "run", "-o", "b", "-a", "randm"], "unknown agent 'randm'"),
        (["leaderboard", "run", "-o", "b", "-a", "no.zip"], "no such saved model: no.zip"),
        (["leaderboard", "run", "-o", "b", "-a", "EMPTY.zip"], "--trust"),
        (["leaderboard", "run", "-o", "b", "-p", "easy", "-s", "smok"], "did you mean smoke-v1"),
        (["leaderboard", "run", "-o", "b", "-p", "easy", "--seeds", "9"], "has 1 to 5 seeds"),
        (["leaderboard", "run", "-o", "b", "-p", "easy", "--timeout", "0"], "time limit"),
        (["leaderboard", "run", "-o", "b", "-p", "easy", "-j", "0"], "jobs is a number"),
        (["leaderboard", "run", "-o", "EMPTY", "-p", "easy"], "EMPTY: cannot be made a folder"),
        (["nonsense"], "nonsense"),
        (["simulate", "-w", "MALFORMED"], "MALFORMED:2: field 4 (run time): 'x' is not a number"),
        (["simulate", "-w", "EMPTY"], "empty"),
        (["simulate", "-w", "BROKEN.gz"], "corrupted gzip"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(
    bfenv_command, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "MALFORMED").write_text(SWF.replace("0 -1 4 2", "0 -1 x 2"))
    (tmp_path / "EMPTY").write_text("; MaxProcs: 4\n")
    (tmp_path / "EMPTY.zip").write_bytes(b"")
    (tmp_path / "BROKEN.gz").write_bytes(b"\x1f\x8b" + b"\0" * 20)
    before = sorted(tmp_path.iterdir())
    status, out, err = bfenv_command(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("bfenv: ") and err.count("\n") == 1
    assert message in err
    assert sorted(tmp_path.iterdir()) == before


def examples(bfenv_command):
    """The lines under Examples in every help text."""
    found = []
    for command in (
        ["evaluate"],
        ["simulate"],
        ["policies"],
        ["workloads"],
        ["leaderboard", "run"],
        ["bench", "engine"],
        ["bench", "policies"],
    ):
        status, out, _ = bfenv_command(*command, "--help")
        assert status == 0
        lines = re.findall(r"^ +(bfenv .*)$", out.partition("Examples:")[2], re.M)
        assert lines, command
        found += lines
    return found


def test_the_examples_in_the_help_texts_work(bfenv_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BFENV_TRACES", raising=False)
    for example in examples(bfenv_command):
        status, out, err = bfenv_command(*shlex.split(example)[1:])
        assert status == 0, (example, err)
        assert out or (tmp_path / "schedule.csv").exists()


def test_without_arguments_it_shows_the_help(bfenv_command):
    for arguments in ([], ["bench"]):
        status, out, _ = bfenv_command(*arguments)
        assert status == 2
        assert "Usage: bfenv" in out


def test_the_installed_command_needs_neither_torch_nor_a_plotting_library():
    program = (
        "import sys, runpy; sys.argv = ['bfenv', 'evaluate', '-p', 'easy', '-f', 'csv']\n"
        "from bfenv.cli import main\n"
        "try: main()\n"
        "except SystemExit as e: assert not e.code\n"
        "heavy = {'torch', 'stable_baselines3', 'matplotlib', 'scipy.stats', 'pygame'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ, capture_output=True)


def test_measurements_are_kept_shown_and_compared(bfenv_command, tmp_path):
    rows = [
        measured("traces", "log", "easy", 3, [2.0]),
        measured("env", "64", "", 0, [5.0], "steps/s"),
    ]
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    write_record(before, rows)
    write_record(after, [rows[0] | {"best": 0.5}])
    _, out, _ = bfenv_command("bench", "show", before, "--group", "env")
    assert "5.00 steps/s" in out and "log" not in out
    _, out, _ = bfenv_command("bench", "show", before, "-f", "json")
    assert json.loads(out) == rows
    _, out, _ = bfenv_command("bench", "compare", before, after)
    assert re.search(r"log +easy +4.00x +2.00 s", out) and re.search(r"64 +-", out)
    for arguments, message in (
        (("show", before, "-g", "trace"), "unknown group 'trace'; did you mean traces"),
        (("show", tmp_path / "none.json"), "No such file"),
        (("compare", before, __file__), "holds no measurements"),
    ):
        status, out, err = bfenv_command("bench", *map(str, arguments))
        assert (status, out) == (2, "") and message in err and err.count("\n") == 1


def test_a_policy_that_raises_is_one_line_that_says_where(bfenv_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_scheduler.py").write_text("def mine(cluster, jobs):\n    jobs.runtime\n")
    status, out, err = bfenv_command("evaluate", "-p", "easy", "-p", "broken_scheduler:mine")
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert "mine failed, AttributeError: 'Jobs' object has no attribute 'runtime'" in err
    assert "broken_scheduler.py:2)" in err
