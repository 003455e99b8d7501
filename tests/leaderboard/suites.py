"""A suite of one small trace, and how tests look into a folder of rows."""

import json
from pathlib import Path

import bfenv
from bfenv.leaderboard.suite import Entry, FrozenTrace, Suite

SAMPLES = "tests.leaderboard.sample_agents"


def frozen(source):
    trace = bfenv.load_workload(source)
    return FrozenTrace(source, len(trace), trace.content_hash)


TINY = Suite(
    "tiny-v1",
    "one trace",
    (Entry("one", (frozen("lublin:procs=16,jobs=40,load=0.8,seed=7"),), 0.8),),
    seeds=3,
)


def with_other_content(suite):
    """The suite with a hash that its trace does not have."""
    trace = suite.entries[0].traces[0]._replace(hash="sha256:0")
    return suite._replace(entries=(suite.entries[0]._replace(traces=(trace,)),))


def row_files(folder):
    """Content of the rows' files, by name."""
    return {path.name: path.read_bytes() for path in (Path(folder) / "rows").glob("*.json")}


def json_rows(folder):
    """The rows as JSON, in the order of their files' names."""
    return [json.loads(data) for _, data in sorted(row_files(folder).items())]
