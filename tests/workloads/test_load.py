"""Finding workloads: by name, by path, with options, and each only once."""

import functools
import os
import re
import shutil

import numpy as np
import pytest

import bfenv
from bfenv.workloads import load
from bfenv.workloads.estimates import FEWEST_JOBS
from bfenv.workloads.transform import with_load

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


# Where from


def test_a_log_is_found_by_its_name_by_its_file_name_and_by_its_path(folder):
    one = bfenv.load_workload("ANL-2009")
    assert len(one) == 8 and one.name == "ANL-2009"
    assert bfenv.load_workload("ANL-2009.swf") is one
    assert bfenv.load_workload(str(folder / "ANL-2009.swf")) is one
    assert bfenv.load_workload(folder / "ANL-2009.swf") is one


def test_a_path_is_taken_before_a_name(folder, monkeypatch):
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "ANL-2009").write_text(LOG.replace("8", "9", 1))
    assert bfenv.load_workload("ANL-2009").processors == 8
    monkeypatch.chdir(folder / "elsewhere")
    assert bfenv.load_workload("ANL-2009").processors == 9


def test_a_folder_of_the_same_name_does_not_hide_a_log(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "ANL-2009").mkdir()
    (folder / "ANL-2011.swf").mkdir()
    assert len(bfenv.load_workload("ANL-2009")) == 8
    assert "ANL-2011" not in load.workloads()


def test_of_a_log_and_its_zipped_form_the_latter_is_taken(folder, tmp_path):
    (folder / "ANL-2009.swf.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(bfenv.WorkloadError, match=r"ANL-2009\.swf\.gz: corrupted gzip"):
        bfenv.load_workload("ANL-2009")


def test_the_names_are_the_model_and_the_logs_in_the_folder(folder, monkeypatch):
    (folder / "lublin.swf").write_text(LOG)
    (folder / "notes.txt").write_text("")
    names = load.workloads()
    assert list(names) == ["lublin", "ANL-2009", "ANL-2010"]
    assert names["ANL-2010"] == str(folder / "ANL-2010.swf")
    assert "embedded" in names["lublin"]
    assert len(bfenv.load_workload("lublin", **SMALL)) == 300
    for nowhere in ("", str(folder / "nowhere")):
        monkeypatch.setenv("BFENV_TRACES", nowhere)
        assert list(load.workloads()) == ["lublin"]
    monkeypatch.delenv("BFENV_TRACES")
    assert list(load.workloads()) == ["lublin"]


def test_an_unknown_name_suggests_the_nearest(folder):
    with pytest.raises(bfenv.UnknownName, match=r"'ANL-2012'; did you mean ANL-20(09|10) or ANL"):
        bfenv.load_workload("ANL-2012")
    with pytest.raises(bfenv.UnknownName, match="'lubin'; did you mean lublin"):
        bfenv.load_workload("lubin")
    with pytest.raises(bfenv.UnknownName, match=r"'\?\?\?'; known: ANL-2009, ANL-2010, lublin"):
        bfenv.load_workload("???")


@pytest.mark.parametrize("name", ["nowhere/log", "log.swf", "log.swf.gz", "./lublin"])
def test_a_path_that_leads_nowhere_is_named(folder, name):
    with pytest.raises(FileNotFoundError, match=f"^no such workload file: {re.escape(name)}$"):
        bfenv.load_workload(name)


@pytest.mark.parametrize("name", ["", "x" * 5000, "a\0b"])
def test_what_can_be_no_file_name_is_an_unknown_name(folder, name):
    with pytest.raises(bfenv.UnknownName):
        bfenv.load_workload(name)


def test_a_folder_is_no_workload(folder):
    with pytest.raises(bfenv.WorkloadError, match=f"^{re.escape(str(folder))}: not a file$"):
        bfenv.load_workload(folder)


# Once per process


def test_a_workload_is_read_or_generated_once(folder, monkeypatch):
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


def test_the_model_is_drawn_once_however_its_options_are_given():
    one = bfenv.load_workload("lublin", jobs=300, seed=1, load=0.8)
    assert bfenv.load_workload("lublin", seed=np.int64(1), jobs=300.0) is one
    assert bfenv.load_workload("lublin:seed=1, jobs=3e2,typed=False") is one
    assert bfenv.load_workload("lublin:seed=1", jobs=300) is one
    assert bfenv.load_workload("lublin", jobs=300, seed=2).hash != one.hash


def test_a_changed_file_is_read_anew(folder):
    path = folder / "ANL-2009.swf"
    one = bfenv.load_workload("ANL-2009")
    path.write_text(LOG + LINES[0] + "\n")
    assert len(bfenv.load_workload("ANL-2009")) == 9
    path.write_text(LOG)
    other = bfenv.load_workload("ANL-2009")
    assert other is not one and other.hash == one.hash


def test_a_file_put_in_anothers_place_is_read_though_as_old_and_as_long(folder):
    path = folder / "ANL-2009.swf"
    one = bfenv.load_workload("ANL-2009")
    before = path.stat()
    new = folder / "new"
    new.write_text(LOG.replace("MaxProcs: 8", "MaxProcs: 9"))
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.rename(path)
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (before.st_mtime_ns, before.st_size)
    assert bfenv.load_workload("ANL-2009").processors == one.processors + 1


def test_a_relative_path_is_another_file_in_another_folder(folder, monkeypatch):
    for name, processors in (("a", 8), ("b", 9)):
        (folder / name).mkdir()
        (folder / name / "log.swf").write_text(
            LOG.replace("MaxProcs: 8", f"MaxProcs: {processors}")
        )
        shutil.copystat(folder / "a" / "log.swf", folder / name / "log.swf")
        monkeypatch.chdir(folder / name)
        assert bfenv.load_workload("log.swf").processors == processors
        assert bfenv.load_workload("log.swf") is bfenv.load_workload(folder / name / "log.swf")


def test_a_workload_is_shared_and_cannot_be_written(folder):
    for trace in (bfenv.load_workload("ANL-2009", load=0.7), bfenv.load_workload("ANL-2009")):
        for values in (*trace.jobs, trace.runtime, trace.records):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1


# Options


def test_options_reach_the_reader_and_the_load(folder):
    trace = bfenv.load_workload("ANL-2009", processors=4, overrun="extend")
    assert trace.processors == 4
    expected = with_load(trace, 0.5)
    loaded = bfenv.load_workload("ANL-2009", processors=4, overrun="extend", load=0.5)
    assert loaded.hash == expected.hash != trace.hash
    assert loaded.offered_load == pytest.approx(0.5, rel=0.05)
    with open(folder / "ANL-2009.swf", "a") as file:
        file.write("oops\n")
    with pytest.warns(UserWarning, match="1 malformed lines skipped"):
        assert len(bfenv.load_workload("ANL-2009", on_error="skip")) == 8


def test_options_reach_the_model():
    trace = bfenv.load_workload("lublin", procs=64, jobs=400, load=0.5, seed=3, emax=36_000)
    assert (trace.processors, len(trace)) == (64, 400)
    assert trace.jobs.estimate.max() == 36_000
    assert trace.offered_load == pytest.approx(0.5, rel=0.1)  # that counts from the first job
    exact = bfenv.load_workload("lublin", procs=64, jobs=400, seed=3, estimates="exact")
    assert np.array_equal(exact.jobs.estimate, exact.runtime)
    assert bfenv.load_workload("lublin:typed=true", **SMALL).hash != trace.hash
    free = bfenv.load_workload("lublin:load=none", **SMALL)
    assert free.offered_load == load.lublin(load=None, **SMALL).offered_load


def test_the_options_may_follow_the_name(folder):
    one = bfenv.load_workload("lublin", procs=128, jobs=300, load=0.9)
    assert bfenv.load_workload("lublin:procs=128,jobs=300,load=0.9") is one
    file = bfenv.load_workload("ANL-2009", processors=4, overrun="extend")
    assert bfenv.load_workload("ANL-2009:processors=4,overrun=extend") is file
    assert bfenv.load_workload(f"{folder}/ANL-2009.swf:processors=4,overrun=extend") is file


def test_a_file_whose_name_looks_like_options_is_a_file(folder):
    path = folder / "log:load=9"
    path.write_text(LOG)
    assert len(bfenv.load_workload(path)) == 8


@pytest.mark.parametrize(
    ("workload", "options", "message"),
    [
        ("lublin", {"lod": 1}, "lublin has no option 'lod'; it has procs, jobs, load, seed, est"),
        ("lublin", {"overrun": "kill"}, "lublin has no option 'overrun'"),
        ("ANL-2009", {"seed": 1}, "ANL-2009 has no option 'seed'; it has processors, overrun, on"),
        ("ANL-2009", {"path": "x"}, "ANL-2009 has no option 'path'"),
        ("ANL-2009", {"overrun": "x"}, "overrun is 'kill' or 'extend', not 'x'"),
        ("ANL-2009", {"overrun": 1}, "ANL-2009: overrun is text, not 1"),
        ("ANL-2009", {"processors": 1.5}, "processors is a whole number or none, not 1.5"),
        ("ANL-2009", {"load": "much"}, "ANL-2009: load is a number or none, not 'much'"),
        ("ANL-2009", {"load": -1}, "load is a positive number, not -1.0"),
        ("ANL-2009", {"load": "nan"}, "load is a positive number, not nan"),
        ("lublin", {"jobs": 0}, "lublin: jobs is 1 to 100,000,000, not 0"),
        ("lublin", {"jobs": 10**30}, "lublin: jobs is 1 to 100,000,000"),
        ("lublin", {"jobs": "many"}, "lublin: jobs is a whole number, not 'many'"),
        ("lublin", {"jobs": [300]}, r"lublin: jobs is a whole number, not \[300\]"),
        ("lublin", {"jobs": None}, "lublin: jobs is a whole number, not None"),
        ("lublin", {"jobs": float("inf")}, "lublin: jobs is a whole number, not inf"),
        ("lublin", {"jobs": float("nan")}, "lublin: jobs is a whole number, not nan"),
        ("lublin", {"jobs": True}, "lublin: jobs is a whole number, not True"),
        ("lublin", {"procs": -1}, "lublin: procs is 1 to 2,147,483,648, not -1"),
        ("lublin", {"procs": 10**30}, "lublin: procs is 1 to 2,147,483,648"),
        ("lublin", {"emax": 10**30}, "lublin: emax is 1 to 2,147,483,648"),
        ("lublin", {"emax": 10}, "emax=10 s"),
        ("lublin", {"load": 0}, "load=0.0: a positive number is needed"),
        ("lublin", {"load": 10**400}, "lublin: load is a number or none, not 1000"),
        ("lublin", {"load": 1e-300}, "load=1e-300"),
        ("lublin", {"seed": -1}, "lublin: seed is not negative, got -1"),
        ("lublin", {"typed": 1}, "lublin: typed is true or false, not 1"),
        ("lublin", {"estimates": "bad"}, "estimates are 'tsafrir' or 'exact', not 'bad'"),
        ("lublin:lod=1", {}, "lublin has no option 'lod'"),
        ("lublin:jobs=many", {}, "lublin: jobs is a whole number, not 'many'"),
        ("lublin:jobs=", {}, "lublin: jobs is a whole number, not ''"),
        ("lublin:jobs=300,", {}, "lublin:jobs=300,: '' is not option=value"),
        ("lublin:jobs=300:load=1", {}, "lublin: jobs is a whole number, not '300:load=1'"),
        ("lublin:jobs=300,jobs=400", {}, "lublin:jobs=300,jobs=400: jobs is given twice"),
        ("lublin:jobs=300", {"jobs": 300}, "lublin:jobs=300: jobs is given twice"),
        ("lublin:jobs", {}, "unknown workload 'lublin:jobs'; did you mean lublin"),
        ("lubin:jobs=300", {}, "unknown workload 'lubin'; did you mean lublin"),
    ],
)
def test_a_bad_option_is_refused_by_name(folder, workload, options, message):
    with pytest.raises(bfenv.BfenvError, match=message):
        bfenv.load_workload(workload, **options)


# The model


def test_the_model_is_the_same_for_a_seed_and_begins_with_its_first_job():
    one = load.lublin(seed=5, **SMALL)
    assert load.lublin(seed=5, **SMALL).hash == one.hash
    assert one.jobs.submit[0] == 0 < one.time_of_day < 86_400


def test_a_short_sample_has_the_estimates_of_a_long_one():
    for jobs in (1, 2, FEWEST_JOBS - 1):
        for seed in range(20):
            trace = load.lublin(jobs=jobs, seed=seed)
            assert len(trace) == jobs and np.all(trace.jobs.estimate >= trace.runtime)
    values = [load.lublin(jobs=100, seed=seed).jobs.estimate for seed in range(20)]
    assert np.mean(np.concatenate(values) == 64_800) == pytest.approx(0.217, abs=0.04)


def test_a_machine_of_one_processor_and_one_of_many_are_served():
    for procs in (1, 3, 100_000):
        trace = load.lublin(procs=procs, **SMALL)
        assert trace.jobs.size.max() <= procs
