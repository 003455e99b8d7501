"""The wheels of all four distributions in an empty environment; `make wheel` runs this.

Nothing is downloaded: what the wheels depend on is linked from the environment of the tests.
"""

import os
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.conftest import ROOT

DIST = ROOT / "dist"
OTHERS = ("bfenv-site", "bfenv-judge", "bfenv-lab")


class Environment:
    """A virtual environment that has the dependencies of bfenv, and none of its distributions."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.work = folder / "env", folder / "work"
        self.work.mkdir()
        command = [sys.executable, "-m", "venv", "--without-pip", self.folder]
        subprocess.run(command, check=True)
        linked = folder / "dependencies"
        linked.mkdir()
        for packages in map(Path, site.getsitepackages()):
            for entry in packages.iterdir():
                if "bfenv" not in entry.name and not (linked / entry.name).exists():
                    (linked / entry.name).symlink_to(entry)
        paths = {"base": str(self.folder), "platbase": str(self.folder)}
        own = Path(sysconfig.get_path("purelib", scheme="venv", vars=paths))
        (own / "dependencies.pth").write_text(f"{linked}\n")

    def install(self, *names: str) -> None:
        """Install wheels of `dist` by name."""
        pip = [sys.executable, "-m", "pip", "--python", str(self.folder)]
        options = ["--quiet", "--no-index", "--no-deps", "--find-links", str(DIST)]
        subprocess.run([*pip, "install", *options, *names], check=True)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command `bfenv` of this environment in a folder of its own."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [self.folder / "bin" / "bfenv", *words],
            cwd=self.work,
            env=kept | {"BFENV_COMPILE": "never", "BFENV_TRACES": ""},
            capture_output=True,
            text=True,
        )

    def works(self, *words: str) -> str:
        """Run the command, which must succeed; return what it printed."""
        done = self.run(*words)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment with bfenv alone; the tests install the others."""
    made = Environment(tmp_path_factory.mktemp("wheels"))
    made.install("bfenv")
    return made


def test_bfenv_alone(environment):
    """bfenv works alone, and says how to install what other distributions have."""
    assert "Commands after pip install" in environment.works("--help")
    table = environment.works("evaluate", "-w", "lublin:jobs=60", "-p", "fcfs", "-p", "easy")
    assert "easy" in table
    for words, extra in [
        (("report", "site.swf.gz"), "site"),
        (("leaderboard", "verify", "board"), "judge"),
        (("search", "search.yaml"), "lab"),
    ]:
        done = environment.run(*words)
        assert done.returncode == 2 and f'pip install "bfenv[{extra}]"' in done.stderr


def test_all_four(environment):
    """With the others, their commands and policies work, with the data files that they need."""
    environment.install(*OTHERS)
    assert "Commands after" not in environment.works("--help")
    assert {"slurm", "rlscheduler"} <= set(environment.works("evaluate", "policies").split())
    workload = ("-w", "lublin:jobs=60,procs=32")
    environment.works("workloads", "simulate", *workload, "-p", "easy", "-o", "site.swf.gz")
    environment.works("evaluate", "-w", "site.swf.gz", "-p", "easy", "-p", "slurm")
    environment.works("report", "whatif", "site.swf.gz", "--processors=+10%", "--out", "page.html")
    assert "<script" in (environment.work / "page.html").read_text()  # beside the page's code
    environment.works("check", "conformance", "--policy", "easy")
    environment.works("evaluate", "bound", "lublin:jobs=30", "--moves", "1")
    environment.works("evolve-task", "task")
    assert "lublin" in environment.works("search", "--help")
