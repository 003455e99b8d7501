"""The folder that `bfenv agents push` writes for the Hugging Face Hub."""

import re
import sys
from pathlib import Path

import imageio_ffmpeg
import pytest
import yaml

import bfenv
from bfenv.agents.card import MODELS, read_card
from bfenv.envs.settings import SEEDS
from bfenv.evaluation.agent_scores import evaluate_agent
from bfenv.evaluation.cases import short_length
from bfenv_judge import hub

WORKLOAD = "lublin:procs=64,jobs=2000,seed=9"
SHORT = "-w", WORKLOAD, "--episodes", "2"


@pytest.mark.parametrize("agent", ["agent:network", "agent:formula"])
def test_folder(run, tmp_path, agent):
    """Metadata, scores and video are there; the agent is its card, read without running code."""
    folder = tmp_path / "mine"
    status, out, _ = run("agents", "push", agent, "--to", folder, *SHORT)
    names = {"README.md", "agent.json", "replay.mp4"}
    assert status == 0 and {path.name for path in folder.iterdir()} == names
    _, front, text = (folder / "README.md").read_text().split("---\n", 2)
    found = yaml.safe_load(front)
    (model,) = found["model-index"]
    (result,) = model["results"]
    assert found["library_name"] == "bfenv" and model["name"] == "mine"
    assert result["dataset"]["name"] == f"Backfill-v0, {WORKLOAD}"
    reward, ratio = result["metrics"]
    network = agent == "agent:network"
    options = {} if network else {"references": ["easy", agent]}
    options["episode_jobs"] = short_length(bfenv.load_workload(WORKLOAD), "test")
    rows = evaluate_agent(agent if network else "random", WORKLOAD, episodes=2, **options)
    (own,) = (row.metrics for row in rows if row.policy == agent)
    assert reward["type"] == "mean_reward" and reward["value"] in out
    assert reward["value"] == f"{own['mean_reward']:.2f} +/- {own['reward_deviation']:.2f}"
    assert ratio["value"] == pytest.approx(own["relative_slowdown"], rel=1e-3)
    assert f"| mine | {reward['value']} |" in text and "| easy | -1.00 +/- 0.00 |" in text
    assert "EASY itself has -1, so above -1 is better" in text
    assert "$" not in text and "\nhf download USER/mine agent.json" in text
    assert all(failure in text for failure in read_card(agent[6:]).failures)
    shipped = (MODELS / f"{agent[6:]}.json").read_bytes()
    assert (folder / "agent.json").read_bytes() == shipped
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(folder / "replay.mp4")
    assert (frames, seconds) == (200, 20)


def test_run(run, tmp_path, monkeypatch):
    """The command of the README scores the agent of a training; no file is lost unasked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "FRAMES", 2)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/agent.json").write_bytes((MODELS / "formula.json").read_bytes())
    push = "agents", "push", "run", "--to", "hub", *SHORT
    assert run(*push)[0] == 0 and "use --force" in run(*push)[2]
    monkeypatch.chdir(tmp_path / "hub")
    command = re.search("^bfenv (evaluate .*)$", Path("README.md").read_text(), re.M).group(1)
    assert run(*command.split())[0] == 0


COMMANDS = {
    "agent:network": "--agent agent.json",
    "agent:formula": "--agent random --policy agent:agent.json",
}


@pytest.mark.parametrize("agent", COMMANDS)
def test_default_workload(run, tmp_path, monkeypatch, agent):
    """Without a workload, an agent is scored on the test episodes of the environment's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "FRAMES", 2)
    monkeypatch.setattr(hub, "workload_of", lambda agent: None)
    monkeypatch.setattr(hub, "short_length", lambda *_: 20)  # jobs of an episode
    monkeypatch.setitem(SEEDS, "test", (5,))  # instead of four
    assert run("agents", "push", agent, "--to", "hub", "--episodes", 1)[0] == 0
    text = Path("hub/README.md").read_text()
    assert 'name: "Backfill-v0", split: test' in text
    assert "1 episodes of 20 jobs of the test split of Backfill-v0." in text
    assert f"\nbfenv evaluate {COMMANDS[agent]} --split test\n" in text


def test_refused(run, tmp_path, monkeypatch):
    """An unknown agent, a file that would run code and a missing library are refused by name."""
    messages = {"model.zip": "opening a saved model runs code", "nobody": "unknown agent 'nobody'"}
    messages["agent:formula"] = "pip install 'bfenv[video]'"
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    for name, message in messages.items():
        status, _, err = run("agents", "push", name, "--to", tmp_path / "hub", *SHORT)
        assert status == 2 and message in err and not (tmp_path / "hub").exists()
