"""`bfenv train` and `bfenv train curves`: what they write, print and refuse."""

import sys

import pytest

from bfenv.envs.settings import LOADS
from bfenv_lab.search.curves import REFERENCES
from bfenv_lab.search.training import GENERATIONS, NETWORK_OPTIONS, OPTIONS, ORDER

pytestmark = pytest.mark.compiled  # searches simulate many schedules

SMALL = (
    "-w lublin:jobs=600,procs=32 --load 0.9 --population 4 --generations 2 --options guard=1.5"
).split()


def test_train(run, tmp_path):
    """A training prints the score of its agent; the same command again changes nothing."""
    pytest.importorskip("cma")
    folder = tmp_path / "run"
    status, out, _ = run("train", *SMALL, "--out", folder)
    assert status == 0
    assert out.startswith(f"{folder / 'agent.json'}: on validation penalized ")
    agent = (folder / "agent.json").read_bytes()
    assert run("train", *SMALL, "--out", folder) == (0, out, "")
    assert (folder / "agent.json").read_bytes() == agent
    status, _, err = run("train", *SMALL, "--seed", 1, "--out", folder)
    assert status == 2 and "is of another search: its seed is 0, not 1" in err


def test_help(run):
    """The help has the formula and the options that are the default."""
    status, out, _ = run("train", "--help")
    words = " ".join(out.split())
    assert status == 0 and f"{ORDER} {OPTIONS} With --units: {NETWORK_OPTIONS}" in words
    assert f"[default: {GENERATIONS};" in words
    assert f"[default: {', '.join(f'{load:g}' for load in LOADS)}]" in words


def test_interrupt(run, tmp_path, monkeypatch):
    """After Ctrl-C, a message says how the training goes on."""
    pytest.importorskip("cma")

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("bfenv_lab.search.training.run_search", stop)
    status, _, err = run("train", *SMALL, "--out", tmp_path / "run")
    assert status == 130 and "the same command goes on" in err and err.endswith("interrupted\n")


def test_seeds(run, tmp_path):
    """Trainings with several seeds are drawn as one curve, beside three orders."""
    pytest.importorskip("cma")
    status, _, _ = run("train", *SMALL, "--seeds", 2, "--out", tmp_path)
    assert status == 0
    status, out, _ = run("train", "curves", tmp_path)
    assert status == 0
    assert [line.split(",")[:3] for line in out.splitlines()[1:]] == [
        *(["cma-es", seed, generation] for seed in "01" for generation in "12"),
        *([name, "0", generation] for name in REFERENCES for generation in "12"),
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--algo", "ppo"], "to train a network, use python -m bfenv.train_sb3"),
        (["--units", "7"], "hidden must be an integer from 0 to 6"),
        (["--units", "2", "--order", "2 * size"], "give either an order or units"),
        (["--order", "size"], "no number to tune in 'size'"),
        (["--load", "much"], "--load is own or a number"),
    ],
)
def test_refused(run, tmp_path, arguments, message):
    """Bad input is refused in one line, before anything is written."""
    status, _, err = run("train", *arguments, "--out", tmp_path / "run")
    assert status == 2
    assert message in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_missing_package(run, tmp_path, monkeypatch):
    """Without the package of the evolution, the error says what to install."""
    monkeypatch.setitem(sys.modules, "cma", None)
    status, _, err = run("train", "--out", tmp_path / "run")
    assert status == 2 and 'pip install "bfenv[lab]"' in err and err.count("\n") == 1
