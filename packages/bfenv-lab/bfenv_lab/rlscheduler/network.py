"""The networks that RLScheduler's authors published, read from your clone of their repository.

A folder of TensorFlow's "saved model" holds `variables.index`, a table of LevelDB whose values are
protocol buffers, and `variables.data-00000-of-00001`, the numbers. Both are read here with NumPy
alone, and no code in them is run. What the index says must be the layout of the four networks; the
checksums of index and weights must be right.

Format: tensorflow/core/lib/io/format.cc and tensor_bundle.proto.
"""

import os
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from bfenv.baselines.policy_names import expression
from bfenv.core.arguments import check_choice
from bfenv.core.competitor import BoundPolicy
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.files import read_file
from bfenv_lab.rlscheduler.simulator import Net, make_policy

NAME = "rlscheduler"
FOLDER = "BFENV_RLSCHEDULER"  # names a folder of networks
INDEX, DATA = "variables.index", "variables.data-00000-of-00001"
# Offset (bytes) and shape by name: the same in all four networks of trained_models/bsld
LAYOUT: dict[str, tuple[int, tuple[int, ...]]] = {
    "pi/dense/bias": (16, (32,)),
    "pi/dense/kernel": (400, (8, 32)),
    "pi/dense_1/bias": (3472, (16,)),
    "pi/dense_1/kernel": (3664, (32, 16)),
    "pi/dense_2/bias": (9808, (8,)),
    "pi/dense_2/kernel": (9904, (16, 8)),
    "pi/dense_3/bias": (11440, (1,)),
    "pi/dense_3/kernel": (11452, (8, 1)),
}
FLOAT32 = 1  # in DataType
LARGEST = 2**20  # bytes of a file; the files of the four networks have at most 12 kB
MAGIC = 0xDB4775248B80FB57  # ends a table of LevelDB
FOOTER, TRAILER = 48, 5  # bytes of a table's end, and of a block's: compression and checksum
VARINT, BYTES, FIXED32 = 0, 2, 5  # wire types of protocol buffers
POLYNOMIAL = 0x82F63B78  # of CRC-32C, reflected


def rlscheduler(path: str, sampled: bool = False, backfill: str = "theirs") -> BoundPolicy:
    """Make a policy of a network that RLScheduler's authors published.

    The workload must be read with `rules=rlscheduler`. See `bfenv_lab.rlscheduler.simulator`.

    Args:
        path: A folder of your clone that holds the network, such as trained_models/bsld/sdsc_sp2,
            or its name in the folder that $BFENV_RLSCHEDULER names.
        sampled: Whether jobs are chosen with the network's probabilities, as in the published
            evaluation, and not by the largest score.
        backfill: "theirs", "off", or "easy" for correct EASY with the jobs in the network's order.

    Raises:
        PolicyError: If there is no such network, or it has another layout or a wrong checksum.
    """
    check_choice("sampled", sampled, (False, True), error=PolicyError)
    options = {"path": path, "sampled": sampled, "backfill": backfill}
    return make_policy(
        f"agent:{expression(rlscheduler, options)}",
        f"RLScheduler's network, {'sampled' if sampled else 'largest score'}",
        backfill,
        net=read_net(*weight_files(path)),
        sampled=sampled,
    )


def weight_files(path: str | Path) -> tuple[Path, Path]:
    """Return the index and the data of the one network in a folder or below.

    Raises PolicyError if there is none, or several.
    """
    folder = Path(path)
    if not folder.is_dir() and os.environ.get(FOLDER):
        folder = Path(os.environ[FOLDER]) / path
    index_files = sorted(folder.rglob(INDEX)) if folder.is_dir() else []
    if len(index_files) != 1:
        fault = "no network of RLScheduler" if not index_files else f"{len(index_files)} networks"
        raise PolicyError(f"{path}: {fault}: name the folder that holds one {INDEX}")
    data = index_files[0].with_name(DATA)
    if not data.is_file():
        raise PolicyError(f"{data}: is missing, and {INDEX} beside it has no weights")
    return index_files[0], data


@cache
def read_net(index: Path, data: Path) -> Net:
    """Read the network that chooses jobs.

    Raises PolicyError if the files are not those of such a network.
    """
    entries, numbers = _read_index(index), _content(data)
    arrays = {}
    for name, (offset, shape) in LAYOUT.items():
        size = 4 * int(np.prod(shape))
        entry = entries.get(name)
        if entry is None or entry[:4] != (FLOAT32, shape, offset, size):
            raise PolicyError(
                f"{index}: another layout than RLScheduler's networks: {name} must be float32 "
                f"{list(shape)} at byte {offset}, and is "
                + ("not there" if entry is None else f"{list(entry[1])} at byte {entry[2]}")
            )
        part = numbers[offset : offset + size]
        if len(part) < size or _masked_crc(part) != entry[4]:
            raise PolicyError(f"{data}: was changed: the checksum of {name} is not that in {INDEX}")
        arrays[name] = np.frombuffer(part, dtype="<f4").astype(np.float32).reshape(shape)
        if not np.isfinite(arrays[name]).all():
            raise PolicyError(f"{data}: {name} has weights that are not finite numbers")
    parts = list(arrays.values())  # each bias stands before the kernel of its layer
    return tuple(parts[1::2]), tuple(parts[::2])


def _content(path: Path) -> bytes:
    """Return the bytes of a file; PolicyError if it cannot be read, or has too many."""
    try:
        return read_file(path, LARGEST)
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}") from error
    except BfenvError as error:
        raise PolicyError(str(error)) from error


Entry = tuple[int, tuple[int, ...], int, int, int]  # type, shape, offset, bytes, checksum


def _read_index(path: Path) -> dict[str, Entry]:
    """Return the entries of an index by name; PolicyError if it is not one, or was changed."""
    table = _content(path)
    try:
        if len(table) < FOOTER or struct.unpack("<Q", table[-8:])[0] != MAGIC:
            raise ValueError("it is not a table of LevelDB")
        _, place = _handle(table, len(table) - FOOTER)  # of the blocks' names, which are unused
        handle, _ = _handle(table, place)
        entries = {}
        for _, value in _block(table, *handle):
            block, _ = _handle(value, 0)
            for key, entry in _block(table, *block):
                if key:  # the first one is of the format
                    entries[key.decode()] = _entry(entry)
        return entries
    except (IndexError, KeyError, UnicodeDecodeError, ValueError, struct.error) as error:
        raise PolicyError(f"{path}: is not TensorFlow's index of variables: {error}") from error


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return a number of 7 bits a byte, and the place behind it."""
    value = shift = 0
    while shift < 64:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
    raise ValueError("a number is too long")


def _handle(data: bytes, place: int) -> tuple[tuple[int, int], int]:
    """Return the offset and the size of a block, and the place behind them."""
    offset, place = _varint(data, place)
    size, place = _varint(data, place)
    return (offset, size), place


def _block(table: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a block; a key leaves out what it shares with the one before."""
    block, trailer = table[offset : offset + size], table[offset + size :][:TRAILER]
    if len(trailer) < TRAILER or trailer[0] != 0:
        raise ValueError("a block is compressed, or not whole")
    if _masked_crc(block + trailer[:1]) != struct.unpack("<I", trailer[1:])[0]:
        raise ValueError("the checksum of a block is wrong")
    end = size - 4 * (1 + struct.unpack("<I", block[-4:])[0])
    place, key = 0, b""
    while place < end:
        prefix_length, place = _varint(block, place)  # of the key before
        suffix_length, place = _varint(block, place)
        length, place = _varint(block, place)
        key = key[:prefix_length] + block[place : place + suffix_length]
        place += suffix_length
        yield key, block[place : place + length]
        place += length


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield numbers and values of the fields of a protocol buffer."""
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        kind = tag & 7
        if kind not in (VARINT, BYTES, FIXED32):
            raise ValueError("a field is of another kind")
        number, place = (4, place) if kind == FIXED32 else _varint(data, place)
        value = b"" if kind == VARINT else data[place : place + number]
        place += len(value)
        if kind == FIXED32:
            number = int.from_bytes(value, "little")
        yield tag >> 3, value if kind == BYTES else number


def _entry(data: bytes) -> Entry:
    """Read a BundleEntryProto; fields that are 0 are left out."""
    fields = dict(_fields(data))
    shape = fields.get(2, b"")
    if not isinstance(shape, bytes):
        raise ValueError("a shape is a number")
    dims = tuple(
        int(dict(_fields(dim)).get(1, 0)) for _, dim in _fields(shape) if isinstance(dim, bytes)
    )
    kind, offset, size, checksum = (int(fields.get(key, 0)) for key in (1, 4, 5, 6))
    return kind, dims, offset, size, checksum


def _masked_crc(data: bytes) -> int:
    """Return the CRC-32C of the data, masked as in tables of LevelDB."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (POLYNOMIAL if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
