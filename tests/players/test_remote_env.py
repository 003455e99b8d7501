"""The environment that an agent gets in a player's process."""

import pytest

import bfenv
from bfenv.players.remote_agent import play_remotely, remote_agent
from bfenv.players.serve import python_player
from tests.players.programs import few_jobs

AGENTS = """
class First:
    def __init__(self, env):
        self.env = env

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return int(self.env.action_masks().argmax()), state


class Resets(First):
    def __init__(self, env):
        super().__init__(env)
        env.reset()


class Steps(First):
    def __init__(self, env):
        super().__init__(env)
        env.step(0)
"""


@pytest.mark.parametrize(
    ("agent", "error"),
    [
        ("First", None),
        ("Resets", "the referee resets the environment, once: an agent may not"),
        ("Steps", r"call reset\(\) before step\(\)"),
    ],
)
def test_reset(tmp_path, monkeypatch, agent, error):
    """An agent that resets or steps its environment while it is made fails at once."""
    (tmp_path / "agents_that_reset.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"agents_that_reset:{agent}"
    with remote_agent(name, python_player("agent", name)) as remote:
        if error is None:
            assert (play_remotely(few_jobs(), remote, 0).times.start >= 0).all()
        else:
            with pytest.raises(bfenv.PolicyError, match=error):
                play_remotely(few_jobs(), remote, 0)
