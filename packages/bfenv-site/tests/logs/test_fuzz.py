"""The readers of logs under attack: shortly by hypothesis, and by atheris where it is installed.

The long ones are run by hand: `BFENV_FUZZ=20000 python -m pytest tests/fuzz`, whose logs are the
same each time, or `python -m site_helpers.fuzz --help`.
"""

import importlib.util
import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from site_helpers.fuzz.claims import CLAIMS
from site_helpers.fuzz.grammars import FORMATS, attack
from site_helpers.fuzz.seeds import seeds, vocabulary

SECONDS = 1
LOGS = int(os.environ.get("BFENV_FUZZ", "1350"))  # damaged logs in all


@st.composite
def files(draw, reader):
    """A seed of which parts are left out, doubled, or replaced by a word or by chance."""
    data = draw(st.sampled_from(seeds(reader)))
    words = st.sampled_from(vocabulary(reader)).map(str.encode)
    for _ in range(draw(st.integers(0, 6))):
        begin = draw(st.integers(0, len(data)))
        end = draw(st.integers(begin, min(len(data), begin + 60)))
        part = draw(st.one_of(words, st.binary(max_size=4), st.just(data[begin:end] * 2)))
        data = data[:begin] + part + data[end:]
    return data


@pytest.mark.parametrize("reader", CLAIMS)
def test_damaged_logs(reader):
    """Each line of a damaged log is a job or counted, or an error says why no trace is made."""

    @settings(max_examples=-(-LOGS // len(CLAIMS)), derandomize=True, database=None)
    @given(files(reader))
    def attack(data):
        CLAIMS[reader](data)

    for seed in seeds(reader):
        CLAIMS[reader](seed)
    attack()


@pytest.mark.parametrize("name", FORMATS)
def test_grammars(name):
    """Of each format's inputs at least a third is read; no other has a traceback, or takes long.

    What is mostly refused at its first line tests little of a reader.
    """
    count = max(30, LOGS // 20)
    assert attack(name, count) >= count / 3


@pytest.mark.thorough
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_the_fuzzer_finds_nothing(tmp_path):
    """Each reader is attacked in one process after another, of which only the first is started."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "site_helpers.fuzz", "all", "--seconds", str(SECONDS)]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    counts = re.findall(r"^reader (\S+)$.*?Done ([0-9]+) runs", run.stderr, re.M | re.S)
    assert [reader for reader, _ in counts] == list(CLAIMS)
    for reader, runs in counts:
        assert int(runs) > len(seeds(reader))
    assert not list(tmp_path.iterdir())
