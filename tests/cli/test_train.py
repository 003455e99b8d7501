"""`bfenv train` and `bfenv train curves`: what they write, print and refuse."""

import sys

import pytest

from bfenv.agents.training import presets

pytestmark = pytest.mark.torch

SMALL = "--preset toy --set num_envs=4 --set num_steps=8 --set validate_every=1 --steps 64".split()


def test_train(run, tmp_path):
    """A training prints its score, and its folder cannot be used twice but for going on."""
    folder = tmp_path / "run"
    status, out, _ = run("train", *SMALL, "--out", folder)
    assert status == 0
    assert f"{folder / 'agent.json'}: " in out and "mean bounded slowdown on validation" in out
    assert (folder / "agent.json").is_file()
    status, _, err = run("train", *SMALL, "--out", folder)
    assert status == 2 and "use --resume" in err
    status, out, _ = run("train", *SMALL, "--out", folder, "--resume")
    assert status == 0 and "training is complete" in out


@pytest.mark.parametrize(
    ("where", "then"),
    [("imitate", "no checkpoint yet"), ("improve", "goes on from the last checkpoint")],
)
def test_interrupt(run, tmp_path, monkeypatch, where, then):
    """After Ctrl-C, a message says what --resume would do."""

    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"bfenv.agents.training.ppo.{where}", stop)
    order = ("--warm-start", "order:estimate", "--set", "warm_start_steps=64")
    status, _, err = run("train", *SMALL, *order, "--out", tmp_path / "run")
    assert status == 130 and then in err and "--resume" in err and err.endswith("interrupted\n")


def test_seeds(run, tmp_path):
    """Trainings with several seeds are drawn as one curve, beside random actions and easy-sjf."""
    status, _, _ = run("train", *SMALL, "--seeds", 2, "--out", tmp_path)
    assert status == 0
    status, out, _ = run("train", "curves", tmp_path)
    assert status == 0
    assert [line.split(",")[:3] for line in out.splitlines()[1:]] == [
        *(["scorer", seed, steps] for seed in "01" for steps in ("0", "32", "64")),
        *([name, "0", steps] for name in ("random", "easy-sjf") for steps in ("0", "64")),
    ]
    status, _, _ = run("train", "curves", tmp_path, "--out", tmp_path / "curves.png")
    assert status == 0 and (tmp_path / "curves.png").stat().st_size > 1000
    status, _, err = run("train", "curves", tmp_path, "--out", tmp_path / "curves.png")
    assert status == 2 and "--force" in err


def test_folder_of_something_else(run, tmp_path):
    """Seeds are not trained in a folder of other files."""
    (tmp_path / "board").mkdir()
    (tmp_path / "board/suite.json").write_text("{}")
    status, _, err = run("train", *SMALL, "--seeds", 2, "--out", tmp_path / "board")
    assert status == 2 and "holds other things than seeds" in err
    assert [file.name for file in (tmp_path / "board").iterdir()] == ["suite.json"]


def test_help(run):
    """The help names every preset."""
    _, out, _ = run("train", "--help")
    for name in presets():
        assert f"{name}:" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "nothing"], "unknown preset 'nothing'"),
        (["--set", "gamma=3"], "gamma must be"),
        (["--algo", "dqn"], "algo must be one of"),
        (["--warm-start", "order:nothing", *SMALL], "unknown name 'nothing'"),
        (["--set", 'learning_rate=!!int ""'], "is no value"),
        (["--device", "abacus", *SMALL], "'abacus' cannot be used by torch"),
        (["--preset", "scorer", "--set", f"num_envs={10**15}"], "not enough memory"),
    ],
)
def test_refused(run, tmp_path, arguments, message):
    """Bad input is refused in one line, before anything is written."""
    status, _, err = run("train", *arguments, "--out", tmp_path / "run")
    assert status == 2
    assert message in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_missing_packages(run, tmp_path, monkeypatch):
    """All packages that are missing are named at once, with the extra that has them."""
    for module in ("yaml", "torch", "cma"):
        monkeypatch.setitem(sys.modules, module, None)
    for options, message in (
        (["--algo", "ppo"], "training needs PyYAML and torch: pip install 'bfenv[agents]'"),
        (["--algo", "es"], "training needs PyYAML and cma: pip install 'bfenv[search]'"),
    ):
        status, _, err = run("train", *options, "--out", tmp_path / "run")
        assert status == 2 and message in err and err.count("\n") == 1
