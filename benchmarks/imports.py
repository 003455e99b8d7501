"""How much memory and time the import of a large Parquet table needs, in a new process."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measurements import Measurement, measurement

GROUP = 100_000  # rows of a row group
USERS = 500
BEGIN = 1_600_000_000  # seconds since 1970
MAPPING = {
    "submit": "submit",
    "start": "start",
    "end": "end",
    "estimate": "limit:min",
    "size": "cores",
    "user": "user",
}
IMPORT = """
import json, resource, sys, time
from bfenv.workloads.logs.swf import write_swf
from bfenv_site import read_columns
path, out, mapping = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
begin = time.process_time()
write_swf(read_columns(path, mapping, processors=10**6), out)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([time.process_time() - begin, peak / 1024]))
"""


def measure_imports(rows: int) -> Iterator[Measurement]:
    """Measure the import of a generated table, and of one with a tenth of the rows."""
    with tempfile.TemporaryDirectory() as folder:
        for count in (rows // 10, rows):
            seconds, peak = import_table(Path(folder), count)
            case = f"{count:,} rows of Parquet"
            yield measurement("imports", case, "read_columns", count, [seconds])
            yield measurement("imports", case, "read_columns", 0, [peak], "MiB")


def import_table(folder: Path, rows: int) -> tuple[float, float]:
    """Write a table and import it in a new process; return its CPU seconds and peak MiB."""
    path = folder / "jobs.parquet"
    write_table(path, rows)
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            IMPORT,
            path,
            folder / "out.swf.gz",
            json.dumps(MAPPING),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def write_table(path: Path, rows: int) -> None:
    """Write jobs of 1 to 64 cores with limits of 30 min to 24 h, group by group."""
    import pyarrow as arrow
    from pyarrow import parquet

    generator, last = np.random.default_rng(0), BEGIN
    time = arrow.timestamp("s", tz="UTC")
    types = {
        "submit": time,
        "start": time,
        "end": time,
        "limit": arrow.int32(),
        "cores": arrow.int32(),
        "user": arrow.string(),
    }
    with parquet.ParquetWriter(path, arrow.schema(types.items()), compression="zstd") as writer:
        for first in range(0, rows, GROUP):
            count = min(GROUP, rows - first)
            submit = last + np.cumsum(generator.integers(0, 3, count))
            last = int(submit[-1])
            start = submit + generator.integers(0, 600, count)
            limit = 30 * generator.integers(1, 49, count)
            end = start + 1 + (60 * limit * generator.random(count)).astype(np.int64)
            user = np.char.add("user", generator.integers(0, USERS, count).astype(str))
            cores = generator.integers(1, 65, count)
            columns = (submit, start, end, limit, cores, user)
            arrays = [
                arrow.array(column, kind)
                for column, kind in zip(columns, types.values(), strict=True)
            ]
            writer.write_table(arrow.table(arrays, names=list(types)))
