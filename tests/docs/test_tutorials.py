"""Tutorials: each script runs, with fewer jobs and steps than on the site, and draws figures."""

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

plt = pytest.importorskip("matplotlib.pyplot", reason="needs the extra plot")
pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore:.*non-interactive:UserWarning"),
]
FOLDER = ROOT / "docs" / "tutorials"
SHORT = {  # the constants at the top of each script
    "compare_policies": {"JOBS": 500},
    "report_on_a_cluster": {"JOBS": 200},
    "search_a_formula": {"GENERATIONS": 1, "POPULATION": 4},
    "train_an_agent": {"STEPS": 512},
    "write_a_scheduler": {"JOBS": 300},
}


def test_every_tutorial_is_tested():
    """A script without a short form would not run here."""
    assert {path.stem for path in FOLDER.glob("*.py")} == set(SHORT)


def test_clean_folder():
    """What a tutorial writes does not stay in the sources."""
    assert {path.suffix for path in FOLDER.iterdir()} == {".py", ".rst"}


def shortened(name):
    """The script with its constants replaced."""
    text = (FOLDER / f"{name}.py").read_text()
    for constant, value in SHORT[name].items():
        text, count = re.subn(rf"^{constant} = [\d_]+", f"{constant} = {value}", text, flags=re.M)
        assert count == 1, f"{name}: no constant {constant}"
    return text


def test_thirty_lines():
    """The tutorial has at most thirty lines of code, from gymnasium.make to a ranked row."""
    text = (FOLDER / "train_an_agent.py").read_text()
    tree = ast.parse(text)
    code = [line for line in text.splitlines()[tree.body[0].end_lineno :] if line.strip()]
    code = [line for line in code if not line.startswith("#")]
    assert len(code) <= 30
    first, last = (text.index(call) for call in ("gymnasium.make(", "rank_policies(read"))
    assert first < text.index("train(Args(") < text.index("run_suite(suite") < last


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.torch] if "train" in name else []) for name in SHORT],
)
def test_tutorial(name, tmp_path, monkeypatch, capsys):
    """It runs to its end, prints something, and every figure has axes with something in them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BFENV_TRACES", "")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    plt.switch_backend("agg")
    (tmp_path / f"{name}.py").write_text(shortened(name))
    try:
        runpy.run_path(str(tmp_path / f"{name}.py"))
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert figures and all(axes.has_data() for one in figures for axes in one.axes)
    finally:
        plt.close("all")
    assert capsys.readouterr().out.count("\n") >= 4
