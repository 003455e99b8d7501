"""`bfenv record`: data sets of Minari."""

import sys

import numpy as np
import pytest

from bfenv.agents import PolicyAgent, RandomAgent
from bfenv.agents.player import play


def test_refused(run, tmp_path, monkeypatch):
    """A missing package, policy or agent is named."""
    monkeypatch.setitem(sys.modules, "minari", None)
    assert "needs minari: pip install" in run("record", "-p", "easy", "-o", tmp_path)[2]
    assert "give either --policy or --agent" in run("record", "-o", tmp_path)[2]


SMALL = "--set", "window=8", "--set", "episode_jobs=20", "--episodes", "2"


@pytest.mark.filterwarnings("ignore")  # of Minari
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("-p", "easy-wfp3"), "backfill/lublin-easy-wfp3-v0"),
        (("-p", "easy(order=size)", "-w", "lublin:jobs=900"), "backfill/lublin-easy-order-size-v0"),
        (("-a", "random", "--name", "mine/r-v3"), "mine/r-v3"),
    ],
)
def test_read_back(run, tmp_path, monkeypatch, words, name):
    """Minari reads what the policy did, as steps of the environment, with a mask for each."""
    minari = pytest.importorskip("minari", reason="needs Minari, see docs/third_party.md")
    monkeypatch.setenv("MINARI_DATASETS_PATH", "")
    status, out, _ = run("record", *words, *SMALL, "-o", tmp_path)
    assert status == 0 and out.startswith(f"{name}:")
    data = minari.load_dataset(name)
    first, second = data.iterate_episodes()
    for episode in (first, second):
        masks = episode.infos["action_mask"]
        assert masks.shape == (len(episode.actions) + 1, 9) and episode.terminations[-1]
        assert masks[np.arange(len(episode.actions)), episode.actions].all()
        assert episode.observations["queue"].shape[:2] == (len(masks), 8)
    env = data.recover_environment().unwrapped
    env.reset(seed=1)
    rewards = [env.step(int(action))[1] for action in second.actions]
    assert rewards == pytest.approx(list(second.rewards))
    agent = RandomAgent(env, 1) if "random" in words else PolicyAgent(words[1], env)
    metrics = play(env, agent, 1).info["metrics"]
    assert metrics["mean_wait"] == second.infos["metrics"]["mean_wait"][-1]
    assert "exists; give" in run("record", *words, *SMALL, "-o", tmp_path)[2]
