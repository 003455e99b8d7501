"""Public logs by name, units of columns, and tables whose limits are in another unit."""

import numpy as np
import pytest

from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv_site.cli.import_options import source_of
from bfenv_site.logs.presets import NEEDS_LIMITS, find_preset, preset_names
from bfenv_site.logs.table import read_columns

BEGIN = 1_600_000_000
JOBS = 20
# A row in the published schema of each log: job i is submitted at BEGIN + i, runs from a minute
# later for 1,800 s on two processors, and has a limit of 3,600 s.
ROWS = {
    "fdata": lambda i: {
        "jid": i, "usr": f"u{i % 3}", "adt": iso(BEGIN + i, 9), "sdt": iso(BEGIN + i + 60, 9),
        "edt": iso(BEGIN + i + 1860, 9), "elpl": 3600, "nnuma": 2, "nnumr": 2, "pri": 127,
    },
    "pm100": lambda i: {
        "job_id": i, "user_id": i % 3, "submit_time": iso(BEGIN + i, 0), "partition": 1, "qos": 0,
        "start_time": iso(BEGIN + i + 60, 0), "end_time": iso(BEGIN + i + 1860, 0),
        "run_time": 1800, "time_limit": 60, "num_nodes_alloc": 2, "num_gpus_alloc": 8,
    },
    "supercloud": lambda i: {
        "id_job": i, "id_user": i % 3, "time_submit": BEGIN + i, "time_start": BEGIN + i + 60,
        "time_end": BEGIN + i + 1860, "timelimit": 60, "cpus_req": 2, "partition": "normal",
    },
    "kestrel": lambda i: {
        "job_id": i, "user": f"u{i % 3}", "account": "a", "partition": "short", "qos": "normal",
        "submit_time": iso(BEGIN + i, -6), "start_time": iso(BEGIN + i + 60, -6),
        "end_time": iso(BEGIN + i + 1860, -6), "wallclock_req": 3600, "nodes_req": 1,
        "processors_req": 2,
    },
}  # fmt: skip


def iso(instant, hours):
    return f"{np.datetime64(instant + 3600 * hours, 's')}{hours:+03}:00"


def write_table(path, rows):
    lines = [",".join(map(str, rows[0])), *(",".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("name", ROWS)
def test_public_logs(name, tmp_path):
    """A preset reads sizes, runtimes and limits from the columns of its log."""
    preset = find_preset(name)
    path = write_table(tmp_path / "jobs.csv", [ROWS[name](i) for i in range(JOBS)])
    options = {"processors": preset.processors, "timezone": preset.timezone}
    trace = read_columns(path, preset.columns, **options)
    assert len(trace) == JOBS and preset.cite
    assert set(trace.jobs.size.tolist()) == {2}
    assert set(trace.runtime.tolist()) == {1800} and set(trace.jobs.estimate.tolist()) == {3600}
    assert "UnixStartTime: 1600000000" in trace.header and trace.jobs.user.max() == 2


def test_all_presets_are_tested():
    """Each public log that is known by name has a row in the published schema here."""
    assert preset_names() == list(ROWS)


@pytest.mark.parametrize("name", ["philly", "helios", "pai"])
def test_no_limits(name):
    """A source without limits is refused, and the message says how to draw some."""
    with pytest.raises(WorkloadError, match="has no time limits, and backfilling needs limits"):
        find_preset(name)
    assert "with_estimates" in NEEDS_LIMITS


def test_own_file(tmp_path, monkeypatch):
    """BFENV_PRESETS adds logs to the known ones; an entry that lacks a field is refused."""
    path = tmp_path / "own.toml"
    path.write_text(
        '[mine]\ntitle = "Mine"\ncite = "me"\nsize_of = "cores"\nprocessors = 8\n'
        'columns = { submit = "s", size = "n", runtime = "r:min" }\n'
    )
    monkeypatch.setenv("BFENV_PRESETS", str(path))
    assert find_preset("mine").processors == 8 and find_preset("pm100").processors == 980
    other = tmp_path / "other.toml"
    other.write_text('[mine]\ntitle = "Mine"\n')
    monkeypatch.setenv("BFENV_PRESETS", str(other))
    with pytest.raises(WorkloadError, match=r"\[mine\] lacks cite"):
        find_preset("mine")
    monkeypatch.delenv("BFENV_PRESETS")
    with pytest.raises(UnknownNameError, match="unknown kind of log 'mined'"):
        source_of("mined")


def table(path, limit, runtime=1800):
    rows = [{"s": BEGIN + i, "n": 1, "r": runtime, "l": limit} for i in range(JOBS)]
    return write_table(path, rows)


@pytest.mark.parametrize(
    ("limit", "unit"), [(60, "min"), (3600, "s"), (1, "h"), (3_600_000, "ms"), (3.6e9, "us")]
)
def test_named_unit(limit, unit, tmp_path):
    """A limit in any unit that is named behind its column becomes seconds."""
    path = table(tmp_path / "jobs.csv", limit)
    mapping = {"submit": "s", "size": "n", "runtime": "r", "estimate": f"l:{unit}"}
    assert set(read_columns(path, mapping, processors=4).jobs.estimate.tolist()) == {3600}


@pytest.mark.parametrize(("limit", "unit"), [(60, "min"), (1, "h")])
def test_unit_of_limits(limit, unit, tmp_path):
    """Limits in another unit stop the import, unless jobs may outlive their limits.

    The message has the likely unit, and the option.
    """
    path = table(tmp_path / "jobs.csv", limit)
    mapping = {"submit": "s", "size": "n", "runtime": "r", "estimate": "l"}
    with pytest.raises(WorkloadError, match=f"20 of 20 jobs .* give --map estimate=l:{unit}"):
        read_columns(path, mapping, processors=4)
    trace = read_columns(path, mapping, processors=4, overrun="extend")
    assert set(trace.jobs.estimate.tolist()) == {1800}


@pytest.mark.parametrize(("declared", "limit", "unit"), [("min", 1, "h"), ("h", 60, "min")])
def test_declared_unit(declared, limit, unit, tmp_path):
    """A unit that is too large is no fault of the jobs; one that is too small names the other."""
    path = table(tmp_path / "jobs.csv", limit)
    mapping = {"submit": "s", "size": "n", "runtime": "r", "estimate": f"l:{declared}"}
    if unit == "min":
        assert set(read_columns(path, mapping, processors=4).jobs.estimate.tolist()) == {216_000}
        return
    with pytest.raises(WorkloadError, match="likely in hours; give --map estimate=l:h,"):
        read_columns(path, mapping, processors=4)


def test_unit_of_runtimes(tmp_path):
    """Runtimes in another unit stop the import, and the message has the likely unit.

    It has not that of the limits: these would be months.
    """
    path = table(tmp_path / "jobs.csv", 7200, 1_800_000)
    mapping = {"submit": "s", "size": "n", "runtime": "r", "estimate": "l"}
    with pytest.raises(WorkloadError, match="give --map runtime=r:ms, or --overrun"):
        read_columns(path, mapping, processors=4)
    trace = read_columns(path, mapping | {"runtime": "r:ms"}, processors=4)
    assert set(trace.runtime.tolist()) == {1800}


def test_unlimited(tmp_path):
    """Unlimited, 2**32 - 1 minutes in Slurm's database, is read as the longest limit."""
    rows = [{"s": BEGIN + i, "n": 1, "r": 600, "l": (60, 2**32 - 1)[i % 2]} for i in range(JOBS)]
    mapping = {"submit": "s", "size": "n", "runtime": "r", "estimate": "l:min"}
    trace = read_columns(write_table(tmp_path / "jobs.csv", rows), mapping, processors=64)
    assert set(trace.jobs.estimate.tolist()) == {3600}


def test_limits_of_months(tmp_path):
    """If half of the limits are months long, a warning asks for their unit."""
    path = table(tmp_path / "jobs.csv", 7_200_000)
    mapping = {"submit": "s", "size": "n", "runtime": "r", "estimate": "l"}
    with pytest.warns(UserWarning, match="half of the limits are above 83.3 d: is the column 'l'"):
        read_columns(path, mapping, processors=4)


@pytest.mark.parametrize(("factor", "unit"), [(1000, "ms"), (10**6, "us")])
def test_unit_of_times(factor, unit, tmp_path):
    """Times of a named unit become seconds; without the unit, the message has the option."""
    rows = [{"s": (BEGIN + i) * factor, "n": 1, "r": 60, "l": 60} for i in range(JOBS)]
    path = write_table(tmp_path / "jobs.csv", rows)
    mapping = {"submit": "s", "size": "n", "runtime": "r", "estimate": "l"}
    with pytest.raises(WorkloadError, match="add the unit to the column, as in --map submit="):
        read_columns(path, mapping, processors=4)
    trace = read_columns(path, mapping | {"submit": f"s:{unit}"}, processors=4)
    assert trace.jobs.submit.tolist() == list(range(JOBS))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"estimate": "l:minutes"},
            "'l:minutes': there is no unit 'minutes'; the units are s, min",
        ),
        ({"size": "n:min"}, "size is no time, so 'n:min' has no unit"),
    ],
)
def test_wrong_unit(change, message, tmp_path):
    """An unknown unit, or one of a column that is no time, is refused by its column."""
    mapping = {"submit": "s", "size": "n", "runtime": "r"} | change
    with pytest.raises(WorkloadError, match=message):
        read_columns(table(tmp_path / "jobs.csv", 60), mapping, processors=4)


def test_parquet(tmp_path):
    """A file of Parquet with several groups of rows gives the jobs of all groups."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [ROWS["pm100"](i) for i in range(JOBS)]
    columns = arrow.table({name: [row[name] for row in rows] for name in rows[0]})
    path = tmp_path / "jobs.parquet"
    parquet.write_table(columns, path, row_group_size=3)
    preset = find_preset("pm100")
    trace = read_columns(path, preset.columns, processors=preset.processors)
    assert len(trace) == JOBS and set(trace.jobs.estimate.tolist()) == {3600}
