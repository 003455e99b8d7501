"""`bfenv workloads`: the list."""

import json

from bfenv.workloads import load_workload, write_swf
from bfenv.workloads.archive.catalogue import CATALOGUE


def test_order(run, tmp_path, monkeypatch):
    """Models come first, then the logs on this machine, then all others of the archive."""
    log = CATALOGUE[5].name
    for name in (log, "site"):
        write_swf(load_workload("lublin:jobs=20"), tmp_path / f"{name}.swf")
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    monkeypatch.setenv("BFENV_DATA", str(tmp_path / "nothing"))
    names = [row["workload"] for row in json.loads(run("workloads", "-f", "json")[1])]
    assert names[:4] == ["lublin", "sud", log, "site"]
    assert names[4:] == [each.name for each in CATALOGUE if each.name != log]
