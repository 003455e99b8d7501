"""Workloads by name, by path and with options, each made once."""

import functools
import os
import shutil
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import numpy as np
import pytest

import bfenv
import bfenv.workloads.requests as rq
import bfenv.workloads.transform as tr
from bfenv.core.distributions import NotInstalledError
from bfenv.workloads import load
from tests.workloads.refusals import refused

LINES = [f"{i} {i * 60} -1 {5 + i} 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1" for i in range(8)]
LOG = "\n".join(["; MaxProcs: 8", *LINES, ""])
SMALL = {"jobs": 300}  # quick to generate


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of logs that $BFENV_TRACES names."""
    for name in ("ANL-2009.swf", "ANL-2010.swf"):
        (tmp_path / name).write_text(LOG)
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    return tmp_path


# Names and paths


def test_log_by_name(folder):
    """A log is found by its name, its file name and its path."""
    one = bfenv.load_workload("ANL-2009")
    assert len(one) == 8 and one.name == "ANL-2009"
    assert bfenv.load_workload("ANL-2009.swf") is one
    assert bfenv.load_workload(str(folder / "ANL-2009.swf")) is one
    assert bfenv.load_workload(folder / "ANL-2009.swf") is one


def test_path_before_name(folder, monkeypatch):
    """A file in the current folder wins over a log of its name."""
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "ANL-2009").write_text(LOG.replace("8", "9", 1))
    assert bfenv.load_workload("ANL-2009").processors == 8
    monkeypatch.chdir(folder / "elsewhere")
    assert bfenv.load_workload("ANL-2009").processors == 9


def test_folder_of_that_name(folder, monkeypatch):
    """A folder does not hide a log of its name, and is not a log."""
    monkeypatch.chdir(folder)
    (folder / "ANL-2009").mkdir()
    (folder / "ANL-2011.swf").mkdir()
    assert len(bfenv.load_workload("ANL-2009")) == 8
    assert "ANL-2011" not in load.workloads()


def test_zipped_first(folder):
    """Of a log and its zipped form, the zipped one is read."""
    (folder / "ANL-2009.swf.gz").write_bytes(b"\x1f\x8b")
    with refused(bfenv.WorkloadError, "ANL-2009.swf.gz"):
        bfenv.load_workload("ANL-2009")


def test_readers(folder, monkeypatch):
    """A reader of another package gets its options; one that is not there is refused by name."""

    def doubled(path, times: int = 2):
        trace = bfenv.read_swf(path)
        return replace(trace, jobs=trace.jobs._replace(estimate=times * trace.jobs.estimate))

    offered = {"doubled": EntryPoint("doubled", "own_readers:doubled", "bfenv.readers")}
    monkeypatch.setattr("bfenv.workloads.load.offers", lambda group: offered)
    monkeypatch.setattr("bfenv.core.distributions.offers", lambda group: offered)
    monkeypatch.setitem(sys.modules, "own_readers", SimpleNamespace(doubled=doubled))
    plain = bfenv.load_workload("ANL-2009").jobs.estimate
    for options, times in (("", 2), (",times=3", 3)):
        trace = bfenv.load_workload(f"ANL-2009:reader=doubled{options}")
        assert trace.jobs.estimate.tolist() == (times * plain).tolist()
    with refused(bfenv.UnknownNameError, "'dubbled'", "doubled"):
        bfenv.load_workload("ANL-2009:reader=dubbled")
    with refused(NotInstalledError, "the reader pbs", 'pip install "bfenv[site]"'):
        bfenv.load_workload("ANL-2009:reader=pbs")


def test_known_names(folder, monkeypatch):
    """`workloads` lists the generators and the logs of the folders, generators first."""
    (folder / "lublin.swf").write_text(LOG)
    (folder / "notes.txt").write_text("")
    names = load.workloads()
    assert list(names) == ["lublin", "sud", "ANL-2009", "ANL-2010"]
    assert names["ANL-2010"] == str(folder / "ANL-2010.swf")
    assert names["lublin"] == load.DESCRIPTIONS["lublin"]
    assert len(bfenv.load_workload("lublin", **SMALL)) == 300
    for nowhere in ("", str(folder / "nowhere")):
        monkeypatch.setenv("BFENV_TRACES", nowhere)
        assert list(load.workloads()) == ["lublin", "sud"]
    monkeypatch.delenv("BFENV_TRACES")
    assert list(load.workloads()) == ["lublin", "sud"]


@pytest.mark.parametrize(
    ("name", "suggested"),
    [("ANL-2012", "ANL-2009"), ("lubin", "lublin"), ("???", "ANL-2010"), ("lublin:jobs", "lublin")],
)
def test_unknown_name(folder, name, suggested):
    """An unknown name is refused with similar names, or all."""
    with refused(bfenv.UnknownNameError, repr(name), suggested):
        bfenv.load_workload(name)


@pytest.mark.parametrize("name", ["", "x" * 5000, "a\0b"])
def test_impossible_file_name(folder, name):
    """A text that cannot be a file's name is an unknown name."""
    with refused(bfenv.UnknownNameError, repr(name)[:40]):
        bfenv.load_workload(name)


@pytest.mark.parametrize("name", ["nowhere/log", "log.swf", "log.swf.gz", "./lublin"])
def test_missing_file(folder, name):
    """A path that leads nowhere is named."""
    with refused(FileNotFoundError, name):
        bfenv.load_workload(name)


def test_not_downloaded(monkeypatch, tmp_path):
    """A log of the archive that is not on this machine is refused with how to fetch it."""
    monkeypatch.setenv("BFENV_TRACES", "")
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path))
    with refused(bfenv.WorkloadError, "bfenv workloads fetch KTH-SP2-1996-2.1-cln"):
        bfenv.load_workload("KTH-SP2-1996-2.1-cln")


def test_folder_is_refused(folder):
    """A folder is not a workload."""
    with refused(bfenv.WorkloadError, folder):
        bfenv.load_workload(folder)


@pytest.mark.parametrize("workload", [None, 3, b"lublin", ["lublin"]])
def test_neither_name_nor_path(workload):
    """What is neither text nor a path is named."""
    with refused(bfenv.WorkloadError, workload):
        bfenv.load_workload(workload)


# Once per process


def test_made_once(folder, monkeypatch):
    """A log is read once for all options that transform it."""
    reads = []

    @functools.wraps(load.read_swf)
    def read(path, **options):
        reads.append(path)
        return bfenv.read_swf(path, **options)

    monkeypatch.setattr(load, "read_swf", read)
    one = bfenv.load_workload("ANL-2009", load=0.5)
    assert bfenv.load_workload("ANL-2009", load=0.5, overrun="kill") is one
    assert bfenv.load_workload("ANL-2009:load=0.50") is one
    assert bfenv.load_workload("ANL-2009") is bfenv.load_workload("ANL-2009", load=None)
    assert bfenv.load_workload("ANL-2009", load=0.6) is not one
    assert len(reads) == 1


def test_generated_once():
    """Equal options are equal in text, in Python, and as defaults."""
    one = bfenv.load_workload("lublin", jobs=300, seed=1, load=0.8)
    assert bfenv.load_workload("lublin", seed=np.int64(1), jobs=300.0) is one
    assert bfenv.load_workload("lublin:seed=1, jobs=3e2,typed=False") is one
    assert bfenv.load_workload("lublin:seed=1", jobs=300) is one
    assert bfenv.load_workload("lublin", jobs=300, seed=2).hash != one.hash


def test_changed_file(folder):
    """A changed file is read again."""
    path = folder / "ANL-2009.swf"
    one = bfenv.load_workload("ANL-2009")
    path.write_text(LOG + LINES[0] + "\n")
    assert len(bfenv.load_workload("ANL-2009")) == 9
    path.write_text(LOG)
    other = bfenv.load_workload("ANL-2009")
    assert other is not one and other.hash == one.hash


def test_replaced_file(folder):
    """A file put in another's place is read, even if it is as old and as long."""
    path = folder / "ANL-2009.swf"
    one = bfenv.load_workload("ANL-2009")
    before = path.stat()
    new = folder / "new"
    new.write_text(LOG.replace("MaxProcs: 8", "MaxProcs: 9"))
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.rename(path)
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (before.st_mtime_ns, before.st_size)
    assert bfenv.load_workload("ANL-2009").processors == one.processors + 1


def test_relative_path(folder, monkeypatch):
    """A relative path is another file in another folder."""
    for name, processors in (("a", 8), ("b", 9)):
        (folder / name).mkdir()
        (folder / name / "log.swf").write_text(
            LOG.replace("MaxProcs: 8", f"MaxProcs: {processors}")
        )
        shutil.copystat(folder / "a" / "log.swf", folder / name / "log.swf")
        monkeypatch.chdir(folder / name)
        assert bfenv.load_workload("log.swf").processors == processors
        assert bfenv.load_workload("log.swf") is bfenv.load_workload(folder / name / "log.swf")


def test_read_only(folder):
    """A workload is shared, so its arrays cannot be written."""
    for trace in (bfenv.load_workload("ANL-2009", load=0.7), bfenv.load_workload("ANL-2009")):
        for values in (*trace.jobs, trace.runtime, trace.records):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1


# Options


def test_options_of_reader(folder):
    """Options reach the reader of logs, and the transformations."""
    trace = bfenv.load_workload("ANL-2009", processors=4, overrun="extend")
    assert trace.processors == 4
    expected = tr.with_load(trace, 0.5)
    loaded = bfenv.load_workload("ANL-2009", processors=4, overrun="extend", load=0.5)
    assert loaded.hash == expected.hash != trace.hash
    assert loaded.offered_load == pytest.approx(0.5, rel=0.05)
    with open(folder / "ANL-2009.swf", "a") as file:
        file.write("oops\n")
    with pytest.warns(UserWarning, match=r"\b1\b.*ANL-2009.swf:10"):
        assert len(bfenv.load_workload("ANL-2009", on_error="skip")) == 8


def test_shares_and_factors():
    """Levels of priority are written as a tuple, users' estimates times a factor by its name."""
    text = bfenv.load_workload(
        "lublin:jobs=100,high_priority_share=(0.3, 0.1),estimates=user,factor=3"
    )
    plain = bfenv.load_workload("lublin:jobs=100")
    assert np.bincount(text.jobs.priority).tolist() == [60, 30, 10]
    assert np.array_equal(text.jobs.estimate, 3 * plain.jobs.estimate)
    with pytest.raises(bfenv.WorkloadError, match=r"numbers as in \(0.3, 0.1\)"):
        bfenv.load_workload("lublin:jobs=100,high_priority_share=(0.3, much)")


@pytest.mark.parametrize("name", ["log:load=9", "log(load=9)", "log (1)", "log:load=9,load=9"])
def test_path_is_not_parsed(folder, name):
    """The path of an existing file is a path, whatever it looks like."""
    path = folder / name
    path.write_text(LOG)
    assert len(bfenv.load_workload(path)) == 8
    assert bfenv.load_workload(str(path), load=0.5).offered_load == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    ("workload", "options", "named"),
    [
        ("lublin:jobs=300,load", {}, ["'load'"]),
        ("lublin:jobs=", {}, ["jobs="]),
        ("lublin(jobs=300", {}, ["lublin(jobs=300"]),
        ("lublin:jobs=300,jobs=400", {}, ["jobs"]),
        ("lublin:jobs=300", {"jobs": 300}, ["lublin:jobs=300", "jobs"]),
        ("lublin:jobs=300:load=1", {}, ["jobs", "300:load=1"]),
        ("lubin:jobs=300", {}, ["'lubin'", "lublin"]),
        ("lublin", {"lod": 1}, ["lublin", "'lod'; did you mean load?"]),
        ("lublin", {"fast": 1}, ["lublin", "'fast'", "procs", "emax", "shake_seconds"]),
        ("lublin", {"overrun": "kill"}, ["'overrun'"]),
        ("ANL-2009", {"lod": 1}, ["ANL-2009", "'lod'; did you mean load?"]),
        ("ANL-2009", {"fast": 1}, ["ANL-2009", "'fast'", "processors", "load"]),
        ("ANL-2009", {"trace": "x"}, ["'trace'"]),
        ("ANL-2009", {"path": "x"}, ["'path'"]),
        ("ANL-2009", {"overrun": "x"}, ["overrun", "'x'"]),
        ("ANL-2009", {"overrun": 1}, ["overrun", "1"]),
        ("ANL-2009", {"processors": 1.5}, ["processors", "1.5"]),
        ("ANL-2009:processors=0", {}, ["processors", "0"]),
        ("ANL-2009", {"emax": 9}, ["ANL-2009", "emax"]),
        ("ANL-2009:shake_seconds=9,max_advance=60", {}, ["max_advance=60"]),
    ],
)
def test_bad_option(folder, workload, options, named):
    """A bad option is refused by name."""
    with refused(bfenv.BfenvError, *named):
        bfenv.load_workload(workload, **options)


def test_all_steps(folder):
    """All transformations may follow one name; they are applied in one order."""
    loaded = bfenv.load_workload(
        "ANL-2009:high_priority_share=0.75,seed=3,shake_seconds=60,load=0.9,"
        "requested_start_share=0.5,max_advance=9,estimates=exact"
    )
    log = bfenv.load_workload("ANL-2009")
    expected = tr.shaken(tr.with_load(rq.with_estimates(log, "exact"), 0.9), 60, seed=3)
    expected = rq.with_priorities(expected, 0.75, seed=3)
    assert np.array_equal(loaded.jobs.priority, expected.jobs.priority)
    assert np.array_equal(loaded.jobs.submit, expected.jobs.submit)
    assert loaded.name == "ANL-2009+exact@0.9+shaken-60+high-0.75+reserved-0.5"
    assert np.count_nonzero(loaded.jobs.requested_start) == 4
    assert np.all(loaded.jobs.requested_start <= loaded.jobs.submit + 9)
    together = bfenv.load_workload("ANL-2009:all_at_once=true,shake_seconds=60,seed=3")
    assert together.hash == tr.at_once(tr.shaken(log, 60, seed=3)).hash


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15min", 900), ("2d", 172_800), ("1-12:00", 129_600)],
)
def test_durations(folder, text, seconds):
    """Options that are durations take text with units."""
    one = bfenv.load_workload("ANL-2009", requested_start_share=1, max_advance=seconds)
    assert bfenv.load_workload(f"ANL-2009(requested_start_share=1, max_advance={text})") is one
    one = bfenv.load_workload("ANL-2009", shake_seconds=seconds, seed=4)
    assert bfenv.load_workload("ANL-2009", shake_seconds=text, seed="4") is one


def test_seed_where_random(folder):
    """A seed has an effect where something is random, and only there."""
    log = bfenv.load_workload("ANL-2009")
    assert bfenv.load_workload("ANL-2009", seed=1) is log
    assert bfenv.load_workload("ANL-2009:estimates=exact", seed=1) is bfenv.load_workload(
        "ANL-2009:estimates=exact"
    )
    one, two = (bfenv.load_workload("ANL-2009:shake_seconds=60", seed=seed) for seed in (1, 2))
    assert one.hash != two.hash


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        ("lublin", True),
        ("lublin(seed=3)", False),
        ("sud:jobs=300", True),
        ("ANL-2009", False),
        ("ANL-2009:load=0.9,estimates=doubled", False),
        ("ANL-2009:estimates=uniform-tsafrir,factor=3", True),
        ("ANL-2009(estimates=uniform-tsafrir, factor=3, seed=1)", False),
        ("ANL-2009:high_priority_share=0.5", True),
        ("ANL-2009:requested_start_share=0.5", True),
        ("ANL-2009:shake_seconds=9", True),
    ],
)
def test_takes_seed(folder, workload, expected):
    """`takes_seed` tells what is random, unless a seed is given already."""
    assert load.takes_seed(workload) is expected


def test_parts():
    """A split and a range of jobs are options of any workload."""
    whole = bfenv.load_workload("lublin:jobs=200,procs=32")
    begin, end = tr.split_range(whole, "test")
    part = bfenv.load_workload("lublin:jobs=200,procs=32,split=test")
    assert part.hash == whole[begin:end].hash
    window = bfenv.load_workload("lublin:jobs=200,procs=32,split=test,first_job=3,job_count=5")
    assert window.hash == part[3:8].hash
    assert bfenv.load_workload("lublin:jobs=200,procs=32,first_job=150").hash == whole[150:].hash
