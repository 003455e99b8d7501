"""Files of arrays, whole and damaged."""

import numpy as np
import pytest

from bfenv.core.files import load_arrays


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "arrays.npz"
    numbers = np.random.default_rng(0).integers(0, 10, 2000)
    np.savez_compressed(path, numbers=numbers, text=np.array("text"))
    return path


def test_names(path):
    """All arrays are read, or those of some names that are there."""
    assert load_arrays(path).keys() == {"numbers", "text"}
    assert load_arrays(path, ("text", "other")).keys() == {"text"}


def test_no_file(tmp_path):
    """A missing file is an OSError."""
    with pytest.raises(FileNotFoundError):
        load_arrays(tmp_path / "none.npz")


def test_damage(path):
    """Whatever is wrong with a file, the error is a ValueError or an OSError."""
    data, generator = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        damaged = bytearray(data[: generator.integers(1, len(data) + 1)])
        for place in generator.integers(len(damaged), size=generator.integers(1, 20)):
            damaged[place] = generator.integers(256)
        path.write_bytes(damaged)
        try:
            load_arrays(path)
        except (ValueError, OSError):
            refused += 1
    assert refused > 250


def test_pickled_objects(tmp_path):
    """Objects that only pickle can hold are refused."""
    np.savez(tmp_path / "objects.npz", objects=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="it is damaged"):
        load_arrays(tmp_path / "objects.npz")
