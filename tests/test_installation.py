"""The package in other people's projects: beside folders and distributions of the same names."""

import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

PROGRAM = textwrap.dedent(
    """
    import pickle
    from pathlib import Path

    import bfenv
    import gymnasium

    def main():
        trace = bfenv.make_trace([0, 0], [1, 1], [7, 3], 1)
        assert bfenv.simulate(trace, "easy").end.tolist() == [7, 10]
        env = gymnasium.make("Backfill-v0", episode_jobs=8, warmup_jobs=8)
        env.reset(seed=0)
        bfenv.PolicyAgent("easy", env)
        many = bfenv.simulate_many([trace, "lublin:jobs=20"], ["easy", "fcfs"], jobs=2)
        assert len(list(many)) == 4
        easy = bfenv.find_policy("easy")
        assert pickle.loads(pickle.dumps(easy)) == easy
        assert bfenv.find_policy("agent:formula").name
        from bfenv import agents, baselines
        print(*(Path(module.__file__).resolve() for module in (bfenv, baselines, agents)))

    if __name__ == "__main__":
        main()
    """
)


def run(folder: Path, *paths: Path) -> list[Path]:
    """Run the program as a script in a folder; the files of bfenv, its baselines and agents."""
    (folder / "program.py").write_text(PROGRAM)
    environment = {"PYTHONPATH": ":".join(map(str, paths))} if paths else {}
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env={**_environment(), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [Path(word) for word in done.stdout.split()]


def _environment() -> dict[str, str]:
    import os

    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def foreign(folder: Path) -> Path:
    """A folder with packages `agents` and `baselines` that have nothing to do with ours."""
    for name in ("agents", "baselines"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text('ALL = FAMILIES = "not a registry of bfenv"\n')
    return folder


CHECKOUT = [ROOT / "bfenv/__init__.py", ROOT / "baselines/__init__.py", ROOT / "agents/__init__.py"]


def test_own_folders(tmp_path):
    """A script beside a user's own `agents/` and `baselines/` works."""
    assert run(foreign(tmp_path)) == CHECKOUT


def test_from_a_wheel(tmp_path, installed):
    """The wheel works without the checkout, beside distributions with packages of these names."""
    (tmp_path / "work").mkdir()
    found = run(tmp_path / "work", foreign(tmp_path / "site"), installed)
    assert [file.parent.name for file in found] == ["bfenv", "baselines", "agents"]
    assert all(file.is_relative_to(installed / "bfenv") for file in found)


def test_in_the_checkout(tmp_path, installed):
    """Python started in the checkout finds all rooms, even where a wheel is installed."""
    program = "import bfenv, bfenv.agents as a, bfenv.baselines as b; print(a.__file__, b.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**_environment(), "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [Path(word) for word in done.stdout.split()] == [CHECKOUT[2], CHECKOUT[1]]


@pytest.mark.parametrize("module", ["tests", "bfenv", "reproductions", "packages"])
def test_no_second_copies(module):
    """In the checkout, only the rooms of the package can be imported from it."""
    program = f"import bfenv.{module}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=_environment(),
        capture_output=True,
        text=True,
    )
    assert f"No module named 'bfenv.{module}'" in done.stderr


def test_files_of_wheel(tmp_path):
    """The wheel installs `bfenv`, with every file of the three folders, and nothing else."""
    source = tmp_path / "source"  # building leaves files behind
    source.mkdir()
    for name in ("bfenv", "baselines", "agents", "pyproject.toml", "README.md", "LICENSE"):
        subprocess.run(["cp", "-r", ROOT / name, source / name], check=True)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path]
    subprocess.run([*command, source], check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as archive:
        names = archive.namelist()
    packaged = {name for name in names if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in packaged} == {"bfenv"}
    tree = set()
    for folder in ("bfenv", "baselines", "agents"):
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                inside = file.relative_to(ROOT)
                tree.add(str(inside if folder == "bfenv" else Path("bfenv") / inside))
    assert packaged == tree
    assert any(name.endswith("licenses/LICENSE") for name in names)
