"""Logs on this machine: in which folders they are looked for, and which file is found."""

import os

from bfenv.workloads.archive import local
from tests.workloads.archive.server import GZ, KNOWN, PACKED, TEXT


def test_logs_are_looked_for_in_every_folder_named_and_then_in_the_cache(
    tmp_path, cache, monkeypatch
):
    first, second, missing = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    for folder in (first, second, cache):
        folder.mkdir(parents=True)
    monkeypatch.setenv("BFENV_TRACES", os.pathsep.join(map(str, (missing, first, "", second))))
    assert local.log_folders() == [missing, first, second, cache]
    assert local.locate(KNOWN) is None and local.local_logs() == {}
    (cache / GZ).write_bytes(PACKED)
    assert local.locate(KNOWN) == local.locate(GZ) == cache / GZ
    (second / GZ).write_bytes(PACKED)
    (first / f"{KNOWN}.swf").write_bytes(TEXT)
    assert local.locate(KNOWN) == first / f"{KNOWN}.swf"
    assert local.locate(GZ) == second / GZ
    (first / GZ).write_bytes(PACKED)
    (first / "folder.swf").mkdir()
    (first / f"{GZ}.part").write_bytes(PACKED)
    assert local.locate(KNOWN) == first / GZ
    (second / "other.swf").write_bytes(TEXT)
    assert local.local_logs() == {KNOWN: first / GZ, "other": second / "other.swf"}
    assert all(local.locate(name) == path for name, path in local.local_logs().items())


def test_without_an_environment_the_cache_is_the_users(monkeypatch):
    monkeypatch.delenv("BFENV_CACHE")
    (folder,) = local.log_folders()
    assert folder == local.cache_folder() and folder.parts[-1] == "traces"
    assert "bfenv" in folder.parts
