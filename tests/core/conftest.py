"""The package `own`, whose kernels tests compile, change and compile again."""

import sys

import numpy as np
import pytest

from bfenv.core import kernel_sources
from bfenv.core.cache_folder import cache_root
from tests.core.own_package import forget, write_package


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The folder of the package `own`, which can be imported; the cache is empty."""
    write_package(tmp_path / "own")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_sources, "PROCESS_START", np.inf)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    cache_root.cache_clear()
    yield tmp_path / "own"
    cache_root.cache_clear()
    forget()
