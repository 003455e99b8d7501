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


COMMANDS = re.findall(
    r"^\$ (bfenv .*)$", "\n".join(re.findall(r"^```console\n(.*?)^```", TEXT, re.M | re.S)), re.M
)


FILES = re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```", TEXT, re.M | re.S)


def needed(command):
    """The commands above that write the files which this one reads, in their order."""
    above = COMMANDS[: COMMANDS.index(command)]
    written = {one: re.search(r" (?:-o|--out) (\S+)", one) for one in above}
    reads = [one for one, out in written.items() if out and re.search(rf"[ :]{out[1]}\b", command)]
    return [two for one in reads for two in (*needed(one), one)]


def run_command(command, folder):
    program = Path(sys.executable).parent / "bfenv"
    result = subprocess.run(
        [program, *shlex.split(command)[1:]],
        cwd=folder,
        env=os.environ | {"BFENV_TRACES": ""},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_works(command, tmp_path):
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    for one in needed(command):
        run_command(one, tmp_path)
    result = run_command(command, tmp_path)
    given = {name for name, _ in FILES}
    assert result.stdout or {path.name for path in tmp_path.iterdir()} - given


@pytest.mark.parametrize(
    ("command", "block"), re.findall(r"<!-- begin: (bfenv .*) -->\n((?s:.*?))<!-- end -->", TEXT)
)
def test_a_table_is_the_one_that_its_command_prints(command, block):
    program = Path(sys.executable).parent / "bfenv"
    words = [program, *shlex.split(command)[1:]]
    run = subprocess.run(words, capture_output=True, text=True, cwd=README.parent)
    assert block == run.stdout
