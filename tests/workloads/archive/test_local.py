"""Logs on this machine: in which folders they are looked for, and which file is found."""

import os

from bfenv.workloads.archive import catalogue
from tests.workloads.archive.server import GZ, KNOWN, PACKED, TEXT


def test_logs_are_looked_for_in_every_folder_named_and_then_in_the_cache(
    tmp_path, cache, monkeypatch
):
    first, second, missing = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    for folder in (first, second, cache):
        folder.mkdir(parents=True)
    monkeypatch.setenv("BFENV_TRACES", os.pathsep.join(map(str, (missing, first, "", second))))
    assert catalogue.log_folders() == [missing, first, second, cache]
    assert catalogue.locate(KNOWN) is None and catalogue.local_logs() == {}
    (cache / GZ).write_bytes(PACKED)
    assert catalogue.locate(KNOWN) == catalogue.locate(GZ) == cache / GZ
    (second / GZ).write_bytes(PACKED)
    (first / f"{KNOWN}.swf").write_bytes(TEXT)
    assert catalogue.locate(KNOWN) == first / f"{KNOWN}.swf"
    assert catalogue.locate(GZ) == second / GZ
    (first / GZ).write_bytes(PACKED)
    (first / "folder.swf").mkdir()
    (first / f"{GZ}.part").write_bytes(PACKED)
    assert catalogue.locate(KNOWN) == first / GZ
    (second / "other.swf").write_bytes(TEXT)
    assert catalogue.local_logs() == {KNOWN: first / GZ, "other": second / "other.swf"}
    assert all(catalogue.locate(name) == path for name, path in catalogue.local_logs().items())


def test_without_an_environment_the_cache_is_the_users(monkeypatch):
    monkeypatch.delenv("BFENV_CACHE")
    (folder,) = catalogue.log_folders()
    assert folder == catalogue.cache_folder() and folder.parts[-1] == "traces"
    assert "bfenv" in folder.parts
