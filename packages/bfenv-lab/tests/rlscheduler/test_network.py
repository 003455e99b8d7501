"""The published networks of RLScheduler: their files, and their choices."""

import os
import struct

import numpy as np
import pytest

import bfenv
from bfenv.leaderboard.entrants import code_hash, find_entrant
from bfenv_lab.rlscheduler import network as rl
from bfenv_lab.rlscheduler.simulator import VISIBLE
from tests.conftest import log

pytestmark = pytest.mark.compiled  # networks look at many jobs

NETWORKS = ("lublin256", "sdsc_sp2", "hpc2n", "Lublin256new")


def number(value):
    """A varint."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])


def message(*fields):
    """A protocol buffer of numbers and bytes."""
    data = b""
    for key, value in fields:
        if isinstance(value, bytes):
            data += number(key << 3 | 2) + number(len(value)) + value
        else:
            data += number(key << 3) + number(value)
    return data


def block(pairs):
    """A block of a table, with its trailer."""
    data = b"".join(
        number(0) + number(len(key)) + number(len(value)) + key + value for key, value in pairs
    )
    data += struct.pack("<II", 0, 1) + b"\0"
    return data[:-1], data + struct.pack("<I", rl._masked_crc(data))


def write_network(folder, shift=0, rename=(), scale=1.0):
    """Write a network of random weights in TensorFlow's format."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(5)
    data, entries = bytearray(11_500), []
    for name, (offset, shape) in rl.LAYOUT.items():
        values = (scale * generator.normal(size=shape)).astype("<f4").tobytes()
        offset += shift
        data[offset : offset + len(values)] = values
        dims = message(*((2, message((1, size))) for size in shape))
        entry = message((1, 1), (2, dims), (4, offset), (5, len(values)))
        entry += bytes([6 << 3 | 5]) + struct.pack("<I", rl._masked_crc(values))
        entries.append((dict(rename).get(name, name).encode(), entry))
    content, first = block([(b"", b""), *entries])
    handle = number(0) + number(len(content))
    names, second = block([(b"z", handle)])
    footer = number(0) + number(0) + number(len(first)) + number(len(names))
    table = first + second + footer.ljust(40, b"\0") + struct.pack("<Q", rl.MAGIC)
    (folder / rl.INDEX).write_bytes(table)
    (folder / rl.DATA).write_bytes(data)
    return folder


def loaded(tmp_path, jobs=60):
    """A crowded trace, read by the rules of the network's loader."""
    path = tmp_path / "site.swf"
    bfenv.write_swf(bfenv.load_workload("lublin", procs=64, jobs=jobs, load=1.2, seed=2), path)
    return bfenv.load_workload(f"{path}:rules=rlscheduler")


def test_weights(tmp_path):
    """The weights that are read are those that were written, from the folder or one above."""
    folder = write_network(tmp_path / "sdsc" / "simple_save")
    data = (folder / rl.DATA).read_bytes()
    weights, biases = rl.read_net(*rl.weight_files(tmp_path))
    assert [part.shape for part in weights] == [(8, 32), (32, 16), (16, 8), (8, 1)]
    assert weights[0].tobytes() == data[400:1424] and biases[3].tobytes() == data[11440:11444]


def test_refused_files(tmp_path):
    """A forged file, one of another layout and a missing one each get a sentence."""
    policy = "agent:rlscheduler(path='{}')"
    with pytest.raises(bfenv.PolicyError, match="nowhere: no network of RLScheduler: name the"):
        bfenv.find_policy(policy.format(tmp_path / "nowhere"))
    forged = write_network(tmp_path / "forged")
    data = bytearray((forged / rl.DATA).read_bytes())
    data[500] ^= 1
    (forged / rl.DATA).write_bytes(data)
    with pytest.raises(
        bfenv.PolicyError, match=f"{rl.DATA}: was changed: the checksum of pi/dense/k"
    ):
        bfenv.find_policy(policy.format(forged))
    index = bytearray((forged / rl.INDEX).read_bytes())
    index[9] ^= 1
    (write_network(tmp_path / "table") / rl.INDEX).write_bytes(index)
    with pytest.raises(bfenv.PolicyError, match="not TensorFlow's index of variables: .* checksum"):
        bfenv.find_policy(policy.format(tmp_path / "table"))
    (write_network(tmp_path / "text") / rl.INDEX).write_text("weights")
    with pytest.raises(bfenv.PolicyError, match="it is not a table of LevelDB"):
        bfenv.find_policy(policy.format(tmp_path / "text"))
    moved = write_network(tmp_path / "moved", shift=4)
    with pytest.raises(
        bfenv.PolicyError, match=r"pi/dense/bias .* at byte 16, and is \[32\] at byte 20"
    ):
        bfenv.find_policy(policy.format(moved))
    other = write_network(tmp_path / "other", rename=[("pi/dense_3/bias", "pi/last/bias")])
    with pytest.raises(bfenv.PolicyError, match="another layout .*dense_3/bias.*is not there"):
        bfenv.find_policy(policy.format(other))
    with pytest.raises(bfenv.PolicyError, match=r"nan.*not finite|not finite"):
        bfenv.find_policy(policy.format(write_network(tmp_path / "nan", scale=np.nan)))
    (forged / rl.DATA).unlink()
    with pytest.raises(bfenv.PolicyError, match=f"{rl.DATA}: is missing"):
        bfenv.find_policy(policy.format(forged))
    with pytest.raises(bfenv.PolicyError, match=r"\d networks: name the folder that holds one"):
        bfenv.find_policy(policy.format(tmp_path))


def test_large_files(tmp_path):
    """Index and weights of more than a megabyte are refused."""
    for name in (rl.INDEX, rl.DATA):
        folder = write_network(tmp_path / name)
        with (folder / name).open("ab") as file:
            file.truncate(2**40)
        with pytest.raises(bfenv.PolicyError, match=f"{name}: has more than 1,048,576 bytes"):
            rl.read_net(*rl.weight_files(folder))


def test_choices(tmp_path):
    """It starts jobs by the largest score of a network that numpy computes in three lines."""
    trace = loaded(tmp_path)
    net = rl.read_net(*rl.weight_files(write_network(tmp_path / "net")))
    jobs, longest = trace.jobs, trace.runtime.max()
    rows = np.ones((len(trace), 8), dtype=np.float32)
    rows[:, 0], rows[:, 7] = 0, 1 - 1e-5
    rows[:, 1] = np.minimum(jobs.estimate / longest, 1 - 1e-5)
    rows[:, 2] = np.minimum(jobs.size / trace.processors, 1 - 1e-5)
    for weight, bias in zip(*net, strict=True):
        rows = rows @ weight + bias
        rows = np.maximum(rows, 0) if len(bias) > 1 else rows
    at_once = bfenv.load_workload(f"{tmp_path / 'site.swf'}:rules=rlscheduler", all_at_once=True)
    policy = rl.rlscheduler(str(tmp_path / "net"), backfill="easy")
    assert bfenv.simulate(at_once, policy).check().start[np.argmax(rows)] == 0


def test_sampled(tmp_path):
    """A sampled network depends on the seed, the largest score does not; both see many jobs."""
    trace = loaded(tmp_path, jobs=3 * VISIBLE)
    path = write_network(tmp_path / "net")
    for backfill in ("theirs", "easy"):
        largest, sampled = (
            rl.rlscheduler(str(path), sampled=sampled, backfill=backfill)
            for sampled in (False, True)
        )
        assert sampled.stochastic and not largest.stochastic
        starts = [bfenv.simulate(trace, sampled, seed).check().start for seed in (0, 0, 1)]
        assert np.array_equal(starts[0], starts[1]) and not np.array_equal(starts[0], starts[2])
        assert np.array_equal(*(bfenv.simulate(trace, largest, seed).start for seed in (0, 1)))


def test_rules(tmp_path):
    """A log that was read by other rules is refused."""
    policy = rl.rlscheduler(str(write_network(tmp_path / "net")))
    with pytest.raises(bfenv.PolicyError, match="load the log with rules=rlscheduler"):
        bfenv.simulate(bfenv.load_workload("lublin:jobs=5"), policy)


def test_competitor(tmp_path):
    """It competes without a player, and its files are part of the row."""
    name = f"agent:rlscheduler(path='{write_network(tmp_path / 'net')}')"
    one, before = find_entrant("policy", name), code_hash("policy", name)
    assert not one.command and one.code == before
    write_network(tmp_path / "net", scale=2)
    assert code_hash("policy", name) != before


def test_published_networks():
    """The largest scores give what an independent program replayed from the same weights."""
    log("SDSC-SP2-1998-4.2-cln")
    if not os.environ.get(rl.FOLDER):
        pytest.skip(f"{rl.FOLDER} names no folder of networks")
    names = ("lublin_256_10k", "SDSC-SP2-1998-4.2-cln", "HPC2N-2002-2.2-cln", "lublin_256_new2")
    means = []
    for network, name in zip(NETWORKS, names, strict=True):
        policy = rl.rlscheduler(network)
        windows = [
            f"{name}:rules=rlscheduler,overrun=extend,job_count=1024,first_job={first}"
            for first in bfenv.leaderboard.suite.WINDOWS
        ]
        schedules = [bfenv.simulate(bfenv.load_workload(window), policy) for window in windows]
        means.append(np.mean([bfenv.metrics(s)["mean_bounded_slowdown"] for s in schedules]))
    assert np.allclose(means, [58.43, 429.09, 113.37, 98.88], rtol=2e-3)
