"""Versions, commit and machine."""

import re
from importlib.metadata import version

import numpy as np

from bfenv.leaderboard.provenance import commit, machine, versions


def test_provenance():
    """Each is what the packages, git and the system say."""
    assert versions()["numpy"] == np.__version__
    assert versions()["bfenv"] == version("bfenv")
    assert commit() is None or re.fullmatch(r"[0-9a-f]{40}(-dirty)?", commit())
    assert re.fullmatch(r".+, \d+ cores", machine())
