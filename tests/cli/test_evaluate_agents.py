"""`bfenv evaluate --agent`: agents beside policies, on drawn episodes and on a long one."""

import csv
import io
import json
from dataclasses import replace

import pytest

import bfenv
from bfenv.agents.agent_policy import find_agent_competitor
from bfenv.agents.network_agent import load_network, save_network
from bfenv.agents.seen_jobs import span_of
from bfenv.cli.show_agents import disagreements, notes
from bfenv.evaluation import evaluate_agent
from bfenv.evaluation.agent_scores import CANDIDATES, REFERENCES, random_beside, workload_of
from bfenv.evaluation.summary import starving
from tests.leaderboard.suites import SAMPLES

pytestmark = pytest.mark.usefixtures("compiled_environments")

WORKLOAD = "lublin:jobs=3000,procs=32,seed=5"
SMALL = "lublin:jobs=1500,procs=32"


@pytest.mark.compiled
def test_rows(run):
    """The rows are those of `evaluate_agent`, of both protocols."""
    name = "random:window=16"
    arguments = ("--agent", name, "-w", WORKLOAD, "--load", 0.9, "--episodes", 2, "-p", "easy-sjf")
    arguments += ("--long",)
    status, out, _ = run("evaluate", *arguments, "-f", "json")
    assert status == 0
    rows = json.loads(out)
    trace = bfenv.load_workload(WORKLOAD, load=0.9)
    for length, episodes in ((640, 2), (None, 1)):
        shown = [row for row in rows if row["episode_jobs"] == length]
        expected = evaluate_agent(
            name,
            trace,
            episodes=episodes,
            references=["easy", "easy-sjf"],
            episode_jobs=length,
        )
        assert [row["policy"] for row in shown] == [row.policy for row in expected]
        for row, score in zip(shown, expected, strict=True):
            assert row["starves"] == (score.policy in starving(expected))
            assert {key: row[key] for key in score.metrics} == score.metrics
    assert {row["jobs"] for row in rows} == {
        2 * 640,
        len(bfenv.load_workload(f"{WORKLOAD},split=test,load=0.9")) - 256,
    }
    status, out, _ = run("evaluate", *arguments, "-f", "csv")
    assert len(list(csv.DictReader(io.StringIO(out)))) == len(rows)


@pytest.mark.compiled
def test_table(run):
    """There is a table of episodes, and of the long one on request, with explained marks."""
    arguments = ("-a", f"{SAMPLES}:easy", "-w", WORKLOAD, "--episodes", 2, "--long")
    status, out, _ = run("evaluate", *arguments)
    assert status == 0
    assert "split test: 2 episodes of 640 jobs" in out and "split test: all" in out
    assert out.count("+ the policy of bfenv with the lowest penalized slowdown") == 2
    assert out.count("° the lowest penalized slowdown of the policies that starve a job in no") == 2
    markdown = run("evaluate", *arguments[:-1], "-f", "markdown")[1]
    assert markdown.count(f"| {SAMPLES}:easy |") == 1 and "all 344 jobs" not in markdown


@pytest.mark.compiled
def test_small_split(run):
    """Where a split is too small for the default length, the episodes are shorter."""
    arguments = (
        "-a",
        "random",
        "-w",
        "lublin:jobs=2000,procs=32",
        "--episodes",
        1,
        "--long",
        "-f",
        "json",
    )
    status, out, _ = run("evaluate", *arguments)
    lengths = {row["episode_jobs"]: row["jobs"] for row in json.loads(out)}
    assert status == 0 and lengths[None] // 2 in lengths and lengths[None] < 640


@pytest.mark.compiled
def test_several_agents(run):
    """Agents are competitors in one table, which has each reference once."""
    agents = ("random:window=4", f"{SAMPLES}:easy", "random:window=16", f"{SAMPLES}:easy:window=16")
    options = [word for agent in agents for word in ("-a", agent)]
    arguments = ("evaluate", *options, "-w", WORKLOAD, "--episodes", 2, "-f")
    _, out, _ = run(*arguments, "markdown")
    lines = [line for line in out.splitlines() if line.startswith("| ")]
    names = [line.split(" | ")[0].removeprefix("| ") for line in lines]
    rows = json.loads(run(*arguments, "json")[1])
    shown = [row["policy"] for row in rows]
    assert shown == [name.rstrip("+°") for name in names[1:]] and "easy-saf-aged" in shown
    assert names[0] == "policy" and len(set(names)) == len(names) and "easy" in names
    assert names[1:5] == list(agents)
    assert [name for name in names[5:] if name.startswith("random")] == ["random"]


@pytest.mark.parametrize(
    ("names", "added"),
    [
        (["easy"], ["random"]),
        (["easy:window=8", "conservative"], ["random"]),
        ([f"{SAMPLES}:easy:window=8"], ["random:window=8"]),
        ([f"{SAMPLES}:easy:window=64"], ["random"]),
        ([f"{SAMPLES}:easy:window=8", f"{SAMPLES}:easy"], ["random:window=8", "random"]),
        ([f"{SAMPLES}:easy:window=8", "random(window=8)"], []),
        (["random:window=64"], []),
        (["random:reservations=1"], ["random"]),
    ],
)
def test_random_beside(names, added):
    """Random actions see as many slots as the agents beside them, except for policies."""
    agents = [find_agent_competitor(name) for name in names]
    assert [random.name for random in random_beside(agents)] == added


def test_policy_in_the_environment(run):
    """A policy's name plays it in the environment, with a count of what was replaced."""
    free = "conservative:reservations=0,idle=every_pass,window=256"
    arguments = ("-a", "conservative", "-a", free, "-p", "conservative", "-w", SMALL)
    _, out, _ = run("evaluate", *arguments, "--episodes", 1, "-f", "json")
    acting, free_acting, *others = json.loads(out)
    assert [row["policy"] for row in others[:3]] == ["random", "easy", "conservative"]
    assert acting["policy"] == "conservative (agent)" and acting["kind"] == "agent"
    assert 0 < acting["replaced_actions"] < acting["decisions"]
    assert free_acting["replaced_actions"] == 0
    for metric in ("mean_bounded_slowdown", "mean_wait", "max_wait"):
        assert free_acting[metric] == others[2][metric]


@pytest.mark.compiled
def test_best_without_starving(run):
    """The last row is the best of all policies tried that starve a job in no episode."""
    arguments = ("-a", "random", "-w", WORKLOAD, "--episodes", 2, "-f", "json")
    shown = json.loads(run("evaluate", *arguments)[1])
    tried = [word for name in (*REFERENCES, *CANDIDATES) for word in ("-p", name)]
    every = json.loads(run("evaluate", *arguments, *tried)[1])
    fair = [row for row in every if row["kind"] == "policy" and row["starving_episodes"] == 0]
    best = min(fair, key=lambda row: row["penalized_slowdown"])
    assert len(every) == 1 + len(REFERENCES) + len(CANDIDATES) > len(fair)
    assert [row for row in shown if row["best_without_starving"]] == [best]
    others = [row["policy"] for row in shown if row["policy"] != best["policy"]]
    assert others == [name for name in ("random", *REFERENCES) if name != best["policy"]]
    rows = evaluate_agent("random", bfenv.load_workload(WORKLOAD), episodes=2)
    assert [row.policy for row in rows] == [row["policy"] for row in shown]


def test_policies_on_episodes(run):
    """Policies alone can be compared on episodes."""
    arguments = ("-p", "easy", "-p", "los", "-w", SMALL, "--episodes", 2, "-f", "json")
    rows = json.loads(run("evaluate", *arguments)[1])
    assert [row["policy"] for row in rows] == ["easy", "los"] and rows[0]["relative_slowdown"] == 1
    assert {row["episodes"] for row in rows} == {2}


def test_workers(run):
    """Rows of agents and policies on episodes do not depend on the number of workers."""
    arguments = ("-a", "random", "-p", "easy", "-w", SMALL, "--episodes", 1, "-f", "csv")
    assert run("evaluate", *arguments, "-j", 2) == run("evaluate", *arguments)


@pytest.mark.thorough
def test_divisions(run):
    """Who makes trials is in another division, with its own best policy."""
    arguments = ("-a", "random", "-p", "multiqueue", "-w", WORKLOAD)
    rows = json.loads(run("evaluate", *arguments, "--episodes", 1, "--long", "-f", "json")[1])
    assert {row["policy"] for row in rows if row["division"] == "trials"} == {"multiqueue"}
    assert {row["division"] for row in rows} == {"trials", "completion"}
    for length in (640, None):
        best = [row["division"] for row in rows if row["best"] and row["episode_jobs"] == length]
        assert best.count("completion") == 1 and best.count("trials") <= 1
    out = run("evaluate", *arguments, "--episodes", 1)[1]
    assert "division" in out and "of its division with the lowest penalized slowdown" in out
    arguments = ("-a", "random", "-w", f"{WORKLOAD},estimates=exact", "--episodes", 1, "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(run("evaluate", *arguments)[1])))
    assert {row["division"] for row in rows} == {"clairvoyant"}


def test_failing_policy(run, tmp_path, monkeypatch):
    """A policy that fails is one line that names it; the tables have all others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "agent_rival.py").write_text("def mine(cluster, jobs):\n    jobs.runtime\n")
    arguments = ("evaluate", "-a", "random", "-w", WORKLOAD, "--episodes", 1)
    status, out, err = run(*arguments, "-p", "agent_rival:mine", "-p", "easy-sjf", "-f", "json")
    assert json.loads(out) == json.loads(run(*arguments, "-p", "easy-sjf", "-f", "json")[1])
    assert status == 1 and err.count("\n") == 1
    assert err.startswith("bfenv: agent_rival:mine failed, AttributeError: ")


ROW = {
    "policy": "models/a.zip",
    "starves": False,
    "best_without_starving": False,
    "division": "completion",
    "decisions": 200,
    "replaced_actions": 0,
    "illegal_actions": 0,
    "outside_window": 0.0,
}


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"starves": True}, "* starves: its longest wait is over 2 times EASY's"),
        ({"replaced_actions": 7}, "actions replaced: "),
        ({"division": "trials"}, 'Each division has its own ranks. In "trials", a policy may kill'),
        ({"division": "clairvoyant"}, "clairvoyant: the estimates are the runtimes"),
        (
            {"illegal_actions": 3},
            "models/a.zip: 3 of 200 actions were illegal, and counted as passes",
        ),
        ({"outside_window": 0.25}, "models/a.zip: at 25.0 % of its decisions jobs waited outside"),
    ],
)
def test_notes(changes, note):
    """What must be known to judge a score stands below the table, and only then."""
    assert any(line.startswith(note) for line in notes([ROW | changes]))
    assert not any(line.startswith(note) for line in notes([ROW]))


def test_note_on_the_choice():
    """A note names the policies that were tried and are not shown, if any were tried."""
    rows = [ROW, ROW | {"policy": "easy-sjbf", "best_without_starving": True}]
    (note,) = (line for line in notes(rows, ["easy-sjbf", "los"]) if line.startswith("°"))
    assert note.endswith("Tried: the policies above; los")
    assert not any(line.startswith("°") for line in notes(rows))


def test_note_on_the_window():
    """A note names the share of decisions with jobs outside the window, if it is large."""
    row = ROW | {"policy": "a.zip", "outside_window": 0.25}
    (note,) = (line for line in notes([row]) if line.startswith("a.zip"))
    assert note == "a.zip: at 25.0 % of its decisions jobs waited outside the window"
    small = row | {"outside_window": 0.04}
    assert not any(line.startswith("a.zip") for line in notes([small]))


@pytest.mark.parametrize(
    ("episodes", "long", "notes"),
    [
        ({}, {}, []),
        ({}, {"relative_slowdown": 0.6}, []),
        ({"starves": True}, {}, []),
        (
            {},
            {"relative_slowdown": 0.61},
            ["models/a.zip: to EASY, 0.400 in the episodes, but 0.610 in the"],
        ),
        (
            {"relative_slowdown": 0.9},
            {},
            ["models/a.zip: to EASY, 0.900 in the episodes, but 0.400 in the"],
        ),
        ({}, {"starves": True}, ["models/a.zip: starves jobs in the long episode, but not"]),
    ],
)
def test_disagreements(episodes, long, notes):
    """A note says where the long episode tells something else of an agent, not of references."""
    one = ROW | {"relative_slowdown": 0.4}
    random, easy = ROW | {"policy": "random"}, ROW | {"policy": "easy", "decisions": 0}
    for reference in (random, ROW | {"policy": "random:window=8"}, easy):
        near, far = (reference | {"relative_slowdown": ratio} for ratio in (1.0, 3.0))
        found = disagreements([one | episodes, near], [one | long, far])
        assert all(line.startswith(note) for line, note in zip(found, notes, strict=True))


@pytest.mark.compiled
def test_workload_of_the_card(run, tmp_path):
    """By default an agent plays the first workload on its card; without one, the default."""
    workload, path = "lublin:procs=32,jobs=3000,seed=0", tmp_path / "mine.json"
    trained, agent = bfenv.load_workload(workload, split="train"), load_network("network")
    found = {"settings": {"workload": [workload]}}
    card = replace(agent.card, found=found, trained_on=(span_of(trained),))
    save_network(path, card, agent.weights)
    assert workload_of(str(path)) == workload
    assert workload_of("random") is None
    arguments = "evaluate", "-a", path, *"--episodes 1 --load 0.5 -f csv".split()
    status, out, err = run(*arguments)
    assert status == 0 and out == run(*arguments, "-w", workload)[1]
    assert err.startswith(f"bfenv: {path} plays the split test of {workload}")
    assert err.count("\n") == 1 and "which is on its card" in err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--agent", "randm"), "'randm'"),
        (("--agent", "esay"), "did you mean easy"),
        (("--agent", "easy(ordr=sjf)"), "ordr"),
        (("--agent", "easy:windw=8"), "windw"),
        (("--agent", "random", "--split", "tset"), "'tset'"),
        (("--agent", "random", "--seeds", 2), "--seeds has no effect on episodes"),
        (("--episodes", 2), "episodes need --agent or --policy"),
        (("--agent", "easy", "-w", "lublin:jobs=500"), "split 'test' has"),
        (("--agent", "random", "--shard", "1/2"), "--shard"),
        (("--agent", "random", "-w", "lublin", "-w", "sdu"), "sdu"),
        (("--trust",), "--trust"),
        (("--agent", "random", "-w", "lublin:jobs=100"), "too few"),
        (("--agent", "no/such.zip"), "no/such.zip"),
    ],
)
def test_errors(run, arguments, named):
    """Wrong input is one line that names what is wrong."""
    status, out, err = run("evaluate", *arguments)
    *notes, error = err.splitlines()
    assert (status, out) == (2, "") and named in error
    assert all("plays the split" in note for note in notes) and len(notes) < 2


def test_unknown_agent(run):
    """An unknown agent is refused in one line, before it is said what plays which workload."""
    status, out, err = run("evaluate", "--agent", "easy", "--agent", "nothing")
    assert (status, out) == (2, "")
    assert err.startswith("bfenv: unknown agent 'nothing'") and err.count("\n") == 1
