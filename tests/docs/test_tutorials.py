"""Tutorials: their Python runs, and their commands do, in one folder and in order."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.torch, pytest.mark.slow]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
LONGEST = 30  # lines of code


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial(path, tmp_path):
    """Every block of a tutorial works."""
    blocks = re.findall(r"^```(python|console)\n(.*?)^```", path.read_text(), re.M | re.S)
    assert sum(text.count("\n") for _, text in blocks) <= LONGEST
    program = Path(sys.executable).parent / "bfenv"
    python = ""
    for kind, text in blocks:
        if kind == "python":
            python += text
            continue
        if python:
            execute([sys.executable, "-c", python], tmp_path)
            python = ""
        for line in text.splitlines():
            execute([program, *shlex.split(line.removeprefix("$ bfenv "))], tmp_path)
    assert (tmp_path / "curves.png").is_file()


def execute(command, folder):
    environment = os.environ | {"BFENV_TRACES": ""}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
