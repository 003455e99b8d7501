"""The README: its examples are run, its tables are those the commands print."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bfenv.baselines import registry

README = Path(__file__).resolve().parent.parent / "README.md"
TEXT = README.read_text()


def test_the_python_examples_print_what_they_say(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_registered", {})  # what they register is gone after them
    source = "\n".join(re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S))
    test = doctest.DocTestParser().get_doctest(source, {}, "README", str(README), 0)
    assert len(test.examples) > 15
    failures = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=failures.append)
    assert not failures, "".join(failures)


BLOCKS = [
    re.findall(r"^\$ (bfenv .*)$", block, re.M)
    for block in re.findall(r"^```console\n(.*?)^```", TEXT, re.M | re.S)
]

FILES = re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```", TEXT, re.M | re.S)


@pytest.mark.parametrize("commands", BLOCKS, ids=lambda commands: commands[0])
def test_the_commands_of_a_block_work_in_order(commands, tmp_path):
    """Each command of a block prints something or writes a file, which the next ones may use."""
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    environment = os.environ | {"BFENV_TRACES": ""}
    program = Path(sys.executable).parent / "bfenv"
    for command in commands:
        before = set(tmp_path.iterdir())
        result = subprocess.run(
            [program, *shlex.split(command)[1:]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, f"{command}: {result.stderr}"
        assert result.stdout or set(tmp_path.iterdir()) - before, command


@pytest.mark.parametrize(
    ("command", "block"), re.findall(r"<!-- begin: (bfenv .*) -->\n((?s:.*?))<!-- end -->", TEXT)
)
def test_a_table_is_the_one_that_its_command_prints(command, block):
    program = Path(sys.executable).parent / "bfenv"
    words = [program, *shlex.split(command)[1:]]
    run = subprocess.run(words, capture_output=True, text=True, cwd=README.parent)
    assert block == run.stdout
