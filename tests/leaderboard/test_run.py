"""The leaderboard's runs: every row once, the same bytes whoever makes it, and whatever happens."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv
from bfenv.leaderboard.row import Task
from bfenv.leaderboard.run import plan, run, spent
from bfenv.leaderboard.suite import SUITES, Entry, Frozen, Suite, content_hash

SMOKE = SUITES["smoke-v1"]
POLICIES = ["fcfs", "easy", "easy-aged-random"]
PLAYERS = "tests.leaderboard.players"


def frozen(source):
    trace = bfenv.load_workload(source)
    return Frozen(source, len(trace), content_hash(trace))


TINY = Suite(
    "tiny-v1",
    "one trace",
    (Entry("one", (frozen("lublin:procs=16,jobs=40,load=0.8,seed=7"),), 0.8),),
    seeds=3,
)


def rows(folder):
    """As they were written, sorted by the names of their files."""
    return [json.loads(file.read_bytes()) for file in sorted((Path(folder) / "rows").iterdir())]


def contents(folder):
    return {path.name: path.read_bytes() for path in (Path(folder) / "rows").iterdir()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    run(SMOKE, POLICIES, out=folder)
    return folder


def test_a_row_says_what_was_run_and_what_came_out(whole):
    row = next(row for row in rows(whole) if row["policy"] == "easy" and row["seed"] == 1)
    trace = bfenv.load_workload(row["source"])
    expected = bfenv.metrics(bfenv.simulate(trace, "easy"))
    assert {name: row["metrics"][name] for name in expected} == expected
    assert (row["status"], row["error"], row["kind"]) == ("ok", "", "policy")
    assert row["workload_hash"] == content_hash(trace)
    assert (row["jobs"], row["processors"]) == (len(trace), trace.processors)
    assert row["offered_load"] == trace.offered_load
    assert row["command"] == "bfenv leaderboard run --suite smoke-v1 --policy easy --out DIR"
    assert row["versions"]["numpy"] == np.__version__
    assert len(rows(whole)) == 12
    suite = json.loads((whole / "suite.json").read_bytes())
    assert suite == json.loads(json.dumps(SMOKE.description()))


def test_what_differs_from_run_to_run_is_kept_apart(whole):
    timings = [json.loads(path.read_bytes()) for path in (whole / "timings").iterdir()]
    assert {path.name for path in (whole / "timings").iterdir()} == set(contents(whole))
    for timing in timings:
        assert 0 < timing["seconds"] <= timing["row_seconds"]
        assert {"host", "date", "argv", "workers", "decision_mean"} <= set(timing)
    told = spent(whole)
    assert [name for name, *_ in told["workload"]] and len(told["policy"]) == 3
    for lines in told.values():
        assert sum(count for _, count, _ in lines) == 12
        total = sum(timing["row_seconds"] for timing in timings)
        assert abs(sum(seconds for *_, seconds in lines) - total) < 1e-9


def test_two_workers_make_the_same_rows(whole, tmp_path):
    heard = []
    outcome = run(
        SMOKE, POLICIES, out=tmp_path, jobs=2, done=lambda row, cost: heard.append(cost > 0)
    )
    assert len(outcome.made) == len(heard) == 12 and all(heard)
    assert contents(tmp_path) == contents(whole)


def test_a_dask_cluster_makes_the_same_rows(whole, tmp_path, cluster):
    run(SMOKE, POLICIES, out=tmp_path, backend="dask", scheduler=cluster.scheduler_address)
    assert contents(tmp_path) == contents(whole)


def test_shards_merged_are_the_whole(whole, tmp_path):
    for part in (2, 1):
        run(SMOKE, POLICIES, out=tmp_path / str(part), shard=(part, 2))
    one, two = contents(tmp_path / "1"), contents(tmp_path / "2")
    assert not set(one) & set(two) and len(one) == len(two)
    assert one | two == contents(whole)
    shutil.copytree(tmp_path / "1", tmp_path / "2", dirs_exist_ok=True)
    outcome = run(SMOKE, POLICIES, out=tmp_path / "2")
    assert (outcome.made, len(outcome.there)) == ([], 12)


def test_a_run_adds_what_is_missing_and_touches_nothing_else(whole, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    before = {path: path.stat().st_mtime_ns for path in (folder / "rows").iterdir()}
    outcome = run(SMOKE, [*POLICIES, "sjf", "sjf"], out=folder)
    assert (len(outcome.made), len(outcome.there)) == (4, 12)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


@pytest.mark.parametrize(("workers", "most"), [(1, 3), (2, 5)])
def test_killed_again_and_again_it_ends_with_the_rows_of_an_undisturbed_run(
    whole, tmp_path, workers, most
):
    program = (
        "from bfenv.leaderboard.run import run; from bfenv.leaderboard.suite import SUITES\n"
        f"run(SUITES['smoke-v1'], {POLICIES}, out={str(tmp_path)!r}, jobs={workers})\n"
    )
    chance = random.Random(workers)
    expected, kills = contents(whole), 0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-c", program], stderr=subprocess.DEVNULL, env=os.environ
        )
        target = len(made(tmp_path)) + chance.randint(0, most)
        with process:
            while process.poll() is None and len(made(tmp_path)) < target:
                time.sleep(0.001)
            time.sleep(chance.random() * 0.03)
            process.send_signal(signal.SIGKILL)
        found = contents_so_far(tmp_path)
        assert found.items() <= expected.items()
        assert set(found) <= {path.name for path in (tmp_path / "timings").glob("*.json")}
        if process.returncode == 0:
            break
        kills += 1
        assert kills < 40
    assert found == expected
    assert kills >= 2


def made(folder):
    return list((Path(folder) / "rows").glob("*.json"))


def contents_so_far(folder):
    return {path.name: path.read_bytes() for path in made(folder)}


def test_bad_agents_cost_their_own_rows_only(tmp_path):
    names = ["raising", "crashing", "leaving", "illegal", "nonsense", "first"]
    agents = [f"{PLAYERS}:{name}:window=4" for name in names]
    outcome = run(TINY, ["easy"], agents, out=tmp_path, jobs=2)
    errors = {row["policy"].split(":")[1]: row["error"] for row in outcome.made if row["error"]}
    assert errors["raising"] == "RuntimeError: it cannot decide?[2J"
    assert errors["crashing"] == "its process died (SIGABRT)"
    assert errors["leaving"] == "SystemExit: 3"
    assert re.fullmatch(r"illegal action at \d+ s: slot 7", errors["illegal"])
    assert errors["nonsense"].startswith("ValueError")
    assert len(errors) == 5
    for row in rows(tmp_path):
        assert (row["status"] == "failed") == bool(row["error"]) == ("metrics" not in row)
        assert row["jobs"] == 40
    assert len(rows(tmp_path)) == 7


def test_an_endless_loop_costs_its_own_row_and_says_so(tmp_path):
    looping = f"{PLAYERS}:looping"
    outcome = run(TINY, [], [looping], out=tmp_path, timeout=4)
    (row,) = outcome.made
    assert (row["status"], row["error"]) == ("failed", "no result within 4 s")
    assert len(run(TINY, ["easy"], [looping], out=tmp_path, timeout=4).there) == 1


def test_failed_rows_are_made_again_on_request_only(tmp_path):
    raising = f"{PLAYERS}:raising"
    run(TINY, ["easy"], [raising], out=tmp_path)
    assert run(TINY, ["easy"], [raising], out=tmp_path).made == []
    (row,) = run(TINY, ["easy"], [raising], out=tmp_path, retry=True).made
    assert row["policy"] == raising


def test_a_file_cut_off_by_a_full_disk_is_made_again(tmp_path):
    run(TINY, ["easy", "fcfs"], out=tmp_path)
    before = contents(tmp_path)
    for folder in ("rows", "timings"):
        next((tmp_path / folder).glob("easy_*")).write_bytes(b"")
    assert [line[:2] for line in spent(tmp_path)["policy"]] == [("fcfs", 1)]
    for retry in (False, True):
        next((tmp_path / "rows").glob("easy_*")).write_bytes(b"[]" if retry else b"")
        outcome = run(TINY, ["easy", "fcfs"], out=tmp_path, retry=retry)
        assert [row["policy"] for row in outcome.made] == ["easy"]
        assert contents(tmp_path) == before
    assert len(spent(tmp_path)["policy"]) == 2


def test_a_trace_with_other_content_ends_the_run(tmp_path):
    trace = TINY.entries[0].traces[0]._replace(hash="sha256:0")
    other = TINY._replace(entries=(TINY.entries[0]._replace(traces=(trace,)),))
    with pytest.raises(bfenv.BfenvError, match="expected sha256:0, found sha256:"):
        run(other, ["easy"], out=tmp_path)
    assert contents(tmp_path) == {}


def test_a_row_finds_its_file_again_in_later_versions():
    name = "module_of_mine:easy(order=sjf, backfill=saf, reservations=2, lookahead=100)"
    task = Task("smoke-v1", "policy", name, "a_log@0.9", None, TINY.entries[0].traces[0], 1)
    assert task.key == ("module-of-mine-easy-order-sjf-backfill-s_a-log-0.9_1_2f12f8e04464")


def test_a_folder_without_rows_is_taken_by_another_suite(tmp_path):
    trace = TINY.entries[0].traces[0]._replace(hash="sha256:0")
    other = TINY._replace(entries=(TINY.entries[0]._replace(traces=(trace,)),))
    with pytest.raises(bfenv.BfenvError, match="expected sha256:0"):
        run(other, ["easy"], out=tmp_path)
    assert len(run(TINY, ["easy"], out=tmp_path).made) == 1


def test_a_folder_holds_one_suite(whole):
    with pytest.raises(bfenv.BfenvError, match="holds the rows of another suite or version"):
        run(TINY, ["easy"], out=whole)


def test_schedules_are_kept_on_request(tmp_path):
    run(TINY, ["easy", "easy-speculative"], out=tmp_path, keep_schedules=True)
    trace = bfenv.load_workload(TINY.entries[0].traces[0].source)
    for path in (tmp_path / "schedules").iterdir():
        policy = path.name.split("_")[0]
        schedule = bfenv.simulate(trace, policy)
        with np.load(path) as arrays:
            for name, values in arrays.items():
                assert np.array_equal(values, getattr(schedule, name))
            assert {"start", "end"} <= set(arrays)
    assert len(list((tmp_path / "schedules").iterdir())) == 2


def test_a_seed_is_a_trace_or_else_the_decisions_of_who_decides_at_random():
    def seeds(suite, *names, **options):
        return [(task.policy, task.seed) for task in plan(suite, *names, **options)]

    assert seeds(TINY, ["easy", "easy-aged-random"], []) == [
        ("easy", 0),
        ("easy-aged-random", 0),
        ("easy-aged-random", 1),
        ("easy-aged-random", 2),
    ]
    assert seeds(TINY, ["easy-aged-random"], [], seeds=1) == [("easy-aged-random", 0)]
    tasks = plan(SMOKE, ["easy"], [])
    assert [task.seed for task in tasks] == [0, 1, 0, 1]
    assert len({task.trace for task in tasks}) == 4
    agents = [f"{PLAYERS}:first", f"{PLAYERS}:easy"]
    assert [seed for _, seed in seeds(TINY, [], agents)] == [0, 0, 1, 2]
    with pytest.raises(bfenv.BfenvError, match="tiny-v1 has 1 to 3 seeds, not 4"):
        plan(TINY, ["easy"], [], 4)


def test_a_policy_and_an_agent_of_one_name_would_be_one_in_the_ranking():
    with pytest.raises(bfenv.BfenvError, match="players:easy is asked for as a policy and as"):
        plan(TINY, [f"{PLAYERS}:easy"], [f"{PLAYERS}:easy"])


def test_agents_are_not_scored_on_jobs_that_they_may_have_seen():
    with pytest.raises(bfenv.BfenvError, match="rlscheduler-windows-v1 takes no agents"):
        plan(SUITES["rlscheduler-windows-v1"], [], ["random"])


names = st.one_of(
    st.text(min_size=1, max_size=60), st.sampled_from(["..", "../../x", "a/b", "a b"])
)


@given(names, names, st.integers(0, 9), st.integers(0, 9))
def test_names_become_files_that_stay_in_the_folder_and_never_collide(one, two, seed, other):
    trace = Frozen("x", 1, "sha256:0")
    key = Task("s-v1", "policy", one, two, None, trace, seed).key
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+_-]{1,120}", key), key
    swapped = Task("s-v1", "policy", two, one, None, trace, other).key
    assert (key == swapped) == ((one, two, seed) == (two, one, other))
    assert key != Task("s-v1", "agent", one, two, None, trace, seed).key


def test_a_policy_whose_module_has_changed_is_run_again(tmp_path, monkeypatch):
    module = tmp_path / "changing_scheduler.py"
    text = (
        "from bfenv.core.cluster import may_start, start, waiting\n"
        "def mine(cluster, jobs):\n"
        "    for job in sorted(waiting(cluster), key=lambda job: SIGN * jobs.size[job]):\n"
        "        if may_start(cluster, jobs, job):\n"
        "            start(cluster, jobs, job)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    for sign in (1, -1, -1):
        module.write_text(text.replace("SIGN", str(sign)))
        outcome = run(TINY, ["easy", "changing_scheduler:mine"], out=tmp_path / "board")
        row = next(row for row in rows(tmp_path / "board") if row["policy"] != "easy")
        seen.append((len(outcome.made), row["code"], row["metrics"]["mean_wait"]))
    assert [made for made, _, _ in seen] == [2, 1, 0]
    assert seen[0][1] != seen[1][1] == seen[2][1]
    assert seen[0][2] != seen[1][2] == seen[2][2]
