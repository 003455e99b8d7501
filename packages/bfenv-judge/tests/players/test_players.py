"""Programs that play: the same schedule as in this process, and what their mistakes lead to."""

import pickle
import sys

import numpy as np
import pytest

import bfenv
from bfenv.agents.network_agent import encode_array
from bfenv.core.simulator import ignore
from bfenv_judge.players.pass_messages import answer_from_json
from bfenv_judge.players.player_process import PlayerError, check_command
from bfenv_judge.players.remote_agent import remote_agent
from bfenv_judge.players.remote_env import RemoteEnv
from bfenv_judge.players.remote_policy import player_policy
from bfenv_judge.players.serve import python_player
from judge_helpers.programs import QUICK, few_jobs, player, program
from tests.conftest import ROOT

TRACE = few_jobs()


def test_program():
    """A program that serves jobs in order makes the schedule of FCFS, pickled as well."""
    policy = player_policy(program(), "mine", QUICK)
    assert (policy.name, policy.trials, policy.stochastic) == ("mine", False, False)
    expected = bfenv.simulate(TRACE, "fcfs")
    for each in (policy, pickle.loads(pickle.dumps(policy))):
        schedule = bfenv.simulate(TRACE, each).check()
        assert np.array_equal(schedule.start, expected.start)
        assert np.array_equal(schedule.end, expected.end)


def test_documented_program():
    """The program in the documentation makes the schedule of FCFS."""
    text = (ROOT / "docs" / "players.md").read_text()
    code = text.partition("```python\n")[2].partition("```")[0]
    policy = player_policy([sys.executable, "-S", "-c", code], "mine", QUICK)
    start = bfenv.simulate(TRACE, policy).start
    assert np.array_equal(start, bfenv.simulate(TRACE, "fcfs").start)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ({"start": [2**80]}, "its start must be an integer between"),
        ({"start": [0.0]}, "its start must be an integer between"),
        ({"start": [True]}, "its start must be an integer between .*, got true"),
        ({"start": True}, "its start is not a list: true"),
        ({"start": [[0]]}, "its start is not a list of jobs"),
        ({"wake": "soon"}, 'its wake must be an integer between .*, got "soon"'),
    ],
)
def test_answers(reply, error):
    """What a program answers is checked."""
    with pytest.raises(PlayerError, match=error):
        answer_from_json(reply)


@pytest.mark.parametrize(
    ("first", "error"),
    [
        ("reply = {'start': [0, 1]}", "illegal start of job 1 at 0 s: it needs 4 processors"),
        ("reply = {'start': [12]}", "illegal start of job 12 at 0 s: it has not been submitted$"),
        ("reply = {'start': [-1]}", "illegal start of job -1 at 0 s: it does not exist"),
        ("reply = {'start': [[0, 5]]}", "it starts job 0 for a trial, and has not declared trials"),
        ("reply = {'error': 'out of\\x1b[2J\\nluck'}", r"^out of\?\[2J luck$"),
        ("reply = [0]", "its reply is not a JSON object"),
        ("print('[' * 10 ** 6)", "its reply is not JSON"),
        ("sys.stdout.write('1' * 3 * 2 ** 20)", "its reply has more than 2,097,152 bytes"),
        ("sys.exit('no more')", r"its process died \(exit status 1\): no more"),
        ("os.kill(os.getpid(), 11)", r"its process died \(SIGSEGV\)"),
        ("starts.clear(); size.clear(); queue.clear()", "leaves .* jobs waiting"),
    ],
)
def test_mistakes(first, error):
    """What a program does wrong ends its run, and how it ends is said."""
    with pytest.raises(bfenv.PolicyError, match=error):
        bfenv.simulate(TRACE, player(first))


def test_closed_output(monkeypatch):
    """A program that closes its output, and goes on, is not waited for."""
    monkeypatch.setattr("bfenv_judge.players.player_process.GRACE", 0.2)
    with pytest.raises(PlayerError, match="it ended the connection"):
        bfenv.simulate(TRACE, player("os.close(1); time.sleep(60)"))


def test_trials():
    """A program that declares trials gets the jobs whose trials ended in a kill."""
    first = "reply['start'] = [[job, 7] for job in starts]"
    schedule = bfenv.simulate(TRACE, player(first, trials=True)).check()
    assert schedule.trial_start[0] == 0 and schedule.trial_end[0] == 7
    assert schedule.start[0] >= 7
    assert (schedule.trial_start[1:] < 0).all()


def test_outages():
    """A player does not follow outages, and that is an error, not a wrong schedule."""
    outage = bfenv.core.jobs.Outage(100, 200, 4)
    trace = bfenv.core.jobs.Trace(TRACE.jobs, TRACE.runtime, 4, outages=(outage,))
    with pytest.raises(PlayerError, match="follow neither outages"):
        bfenv.simulate(trace, player())


@pytest.mark.parametrize(
    ("text", "error"), [("", "empty"), ("'", "cannot read"), ("./no-such-program", "no such")]
)
def test_bad_command(text, error):
    """A command that cannot be run is refused by name."""
    with pytest.raises(bfenv.BfenvError, match=error):
        check_command(text)


def test_bad_greeting():
    """A program that declares nonsense is refused."""
    text = "print('{\"trials\": 1}', flush=True); input()"
    with pytest.raises(PlayerError, match="its trials is not true or false"):
        player_policy([sys.executable, "-S", "-c", text], "mine", QUICK)


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
"""


@pytest.mark.parametrize(
    ("agent", "error"),
    [("First", None), ("Resets", "the referee resets the environment, once: an agent may not")],
)
def test_agents(tmp_path, monkeypatch, agent, error):
    """An agent plays one episode; one that resets its environment while it is made fails."""
    (tmp_path / "agents_that_reset.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"agents_that_reset:{agent}"
    with remote_agent(name, python_player("agent", name)) as remote:
        if error is None:
            assert (remote.run(TRACE, 0, ignore).start >= 0).all()
        else:
            with pytest.raises(bfenv.PolicyError, match=error):
                remote.run(TRACE, 0, ignore)


def test_step_before_reset():
    """The environment that an agent gets begins with a reset, by the referee."""
    space = {"low": encode_array(np.zeros(1)), "high": encode_array(np.ones(1))}
    begin = {"settings": {}, "window": 1, "actions": 2, "observation_space": space}
    with pytest.raises(bfenv.BfenvError, match=r"call reset\(\) before step\(\)"):
        RemoteEnv(begin, lambda reply: reply).step(0)


@pytest.mark.parametrize(
    ("first", "error"),
    [
        (f"#!{sys.executable}\r", "its first line ends in CR LF, so there is no interpreter"),
        (f"#!{sys.executable} -u\r", "its first line ends in CR LF, so there is no interpreter"),
        ("#!/usr/bin/env python3\r", "its first line ends in CR LF, so there is no interpreter"),
        ("#!/no/such/python", "the interpreter of its first line, /no/such/python, is not there"),
        (f"\ufeff#!{sys.executable}", "it begins with a byte order mark, so its first line"),
        (
            "import os",
            "it is not a program for this machine, and its first line names no interpreter",
        ),
    ],
)
def test_no_interpreter(first, error, tmp_path):
    """If a program is there and its interpreter is not, the error says so."""
    path = tmp_path / "player"
    path.write_bytes(f"{first}\nimport sys\n".encode())
    path.chmod(0o755)
    with pytest.raises(PlayerError, match=error):
        bfenv.simulate(TRACE, player_policy([str(path)], "mine", QUICK))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("./gone.py", "player './gone.py': no such program"),
        ("./folder", "player './folder': it is a folder"),
        ("./closed.py", r"it is not executable; run chmod \+x ./closed.py"),
    ],
)
def test_no_program(name, error, tmp_path, monkeypatch):
    """The message says whether there is nothing, a folder, or a file that is not executable."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "closed.py").write_text("#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(bfenv.BfenvError, match=error):
        check_command(name)
