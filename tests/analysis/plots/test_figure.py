"""Files of pictures: their formats, and what is refused."""

import sys

import pytest

import bfenv
from bfenv.analysis.plots import check_target, write_workload

TRACE = bfenv.load_workload("lublin", jobs=300)


@pytest.mark.parametrize("name", ["a.gif", "a", "a.png.gz"])
def test_unknown_format(tmp_path, name):
    """A suffix that names no format is refused, with the formats there are."""
    with pytest.raises(bfenv.BfenvError, match=rf"{name}: .*\.png, \.svg, \.pdf"):
        check_target(tmp_path / name)


def test_missing_folder(tmp_path):
    """A folder that does not exist is named."""
    with pytest.raises(bfenv.BfenvError, match=str(tmp_path / "nowhere")):
        check_target(tmp_path / "nowhere" / "a.png")


def test_missing_matplotlib(tmp_path, monkeypatch):
    """Without matplotlib, the error has the command that installs it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(bfenv.BfenvError, match=r"pip install 'bfenv\[plot\]'"):
        write_workload(TRACE, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
