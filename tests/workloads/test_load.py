"""Finding workloads: by name, by path, with options, and each only once."""

import functools
import os
import re
import shutil

import numpy as np
import pytest

import bfenv
from bfenv.workloads import load
from bfenv.workloads.models.estimates import FEWEST_JOBS
from bfenv.workloads.transform import (
    at_once,
    shaken,
    split_range,
    with_estimates,
    with_load,
    with_priorities,
)

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
    assert list(names) == ["lublin", "sud", "ANL-2009", "ANL-2010"]
    assert names["ANL-2010"] == str(folder / "ANL-2010.swf")
    assert "embedded" in names["lublin"]
    assert len(bfenv.load_workload("lublin", **SMALL)) == 300
    for nowhere in ("", str(folder / "nowhere")):
        monkeypatch.setenv("BFENV_TRACES", nowhere)
        assert list(load.workloads()) == ["lublin", "sud"]
    monkeypatch.delenv("BFENV_TRACES")
    assert list(load.workloads()) == ["lublin", "sud"]


def test_an_unknown_name_suggests_the_nearest(folder):
    with pytest.raises(
        bfenv.UnknownNameError, match=r"'ANL-2012'; did you mean ANL-20(09|10) or ANL"
    ):
        bfenv.load_workload("ANL-2012")
    with pytest.raises(bfenv.UnknownNameError, match="'lubin'; did you mean lublin"):
        bfenv.load_workload("lubin")
    with pytest.raises(
        bfenv.UnknownNameError, match=r"'\?\?\?'; known: ANL-2009, ANL-2010, ANL-Intrepid.* more"
    ):
        bfenv.load_workload("???")


@pytest.mark.parametrize("name", ["nowhere/log", "log.swf", "log.swf.gz", "./lublin"])
def test_a_path_that_leads_nowhere_is_named(folder, name):
    with pytest.raises(FileNotFoundError, match=f"^no such workload file: {re.escape(name)}$"):
        bfenv.load_workload(name)


@pytest.mark.parametrize("name", ["", "x" * 5000, "a\0b"])
def test_what_can_be_no_file_name_is_an_unknown_name(folder, name):
    with pytest.raises(bfenv.UnknownNameError):
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
    with pytest.warns(UserWarning, match="1 malformed line skipped"):
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
        ("ANL-2009", {"lod": 1}, "ANL-2009 has no option 'lod'; it has processors, overrun, on_er"),
        ("ANL-2009", {"emax": 9}, "ANL-2009: estimates=user takes no parameters; got emax"),
        ("ANL-2009:estimates=phi", {}, "ANL-2009: estimates=phi needs exact_share"),
        ("ANL-2009:estimates=phi,exact_share=2", {}, "exact_share=2.0: a fraction from 0 to 1"),
        ("ANL-2009:estimates=fi", {}, "unknown model of estimates 'fi'; did you mean .*phi"),
        ("ANL-2009:estimates=tsafrir,emax=1e30", {}, "ANL-2009: emax is whole seconds, not 1000"),
        ("ANL-2009", {"shake": -1}, "shake is whole seconds from 0 up, not -1"),
        ("ANL-2009", {"shake": 1.5}, "ANL-2009: shake is a whole number or none, not 1.5"),
        ("ANL-2009", {"shake": 1, "seed": -1}, "seed is not negative, got -1"),
        ("ANL-2009", {"high": 1.1}, "high is a share from 0 to 1, not 1.1"),
        ("ANL-2009", {"reserved": "nan"}, "reserved is a share from 0 to 1, not nan"),
        ("ANL-2009", {"reserved": 0.5, "ahead": 0}, "ahead is whole seconds from 1 up, not 0"),
        ("ANL-2009", {"ahead": 60}, "ANL-2009: ahead goes with reserved"),
        ("ANL-2009", {"arrival_rate": 0}, "arrival_rate is a positive number, not 0.0"),
        ("ANL-2009", {"offline": 1}, "ANL-2009: offline is true or false, not 1"),
        ("ANL-2009", {"trace": "x"}, "ANL-2009 has no option 'trace'"),
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
        ("lublin", {"estimates": "exat"}, "estimates of lublin 'exat'; did you mean exact"),
        ("lublin", {"estimates": "user"}, "unknown model of estimates of lublin 'user'"),
        ("lublin:estimates=exact,emax=36000", {}, "estimates=exact takes no emax"),
        ("lublin:jobs=300,factor=2", {}, "estimates=tsafrir takes emax, emax_share; got factor"),
        ("lublin:jobs=300,estimates=deterministic", {}, "estimates=deterministic needs factor"),
        ("sud", {"jobs": 0}, "sud: jobs is 1 to 100,000,000, not 0"),
        ("sud", {"procs": 0}, "sud: procs is 1 to 2,147,483,648, not 0"),
        ("sud", {"seed": -1}, "sud: seed is not negative, got -1"),
        ("sud", {"load": 0}, "sud: load is a positive number, not 0.0"),
        ("sud", {"load": 1e-300}, "sud: at load 1e-300 the jobs come later than ever"),
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


def test_all_that_can_be_done_to_a_log_may_be_said_in_one_string_and_is_done_in_one_order(folder):
    said = bfenv.load_workload(
        "ANL-2009:high=0.75,seed=3,shake=60,load=0.9,reserved=0.5,ahead=9,estimates=exact"
    )
    log = bfenv.load_workload("ANL-2009")
    done = shaken(with_load(with_estimates(log, "exact"), 0.9), seed=3, amount=60)
    done = with_priorities(done, 0.75, seed=3)
    assert np.array_equal(said.jobs.priority, done.jobs.priority)
    assert np.array_equal(said.jobs.submit, done.jobs.submit)
    assert said.name == "ANL-2009+exact@0.9+shaken-60+high-0.75+reserved-0.5"
    assert np.count_nonzero(said.jobs.requested_start) == 4
    assert np.all(said.jobs.requested_start <= said.jobs.submit + 9)
    offline = bfenv.load_workload("ANL-2009:offline=true,shake=60,seed=3")
    assert offline.hash == at_once(shaken(log, seed=3, amount=60)).hash


def test_a_seed_matters_where_something_is_random_and_only_there(folder):
    log = bfenv.load_workload("ANL-2009")
    assert bfenv.load_workload("ANL-2009", seed=1) is log
    assert bfenv.load_workload("ANL-2009:estimates=exact", seed=1) is bfenv.load_workload(
        "ANL-2009:estimates=exact"
    )
    one, two = (bfenv.load_workload("ANL-2009:shake=60", seed=seed) for seed in (1, 2))
    assert one.hash != two.hash
    for workload, answer in {
        "lublin": True,
        "sud:jobs=300": True,
        "ANL-2009": False,
        "ANL-2009:load=0.9,estimates=doubled": False,
        "ANL-2009:estimates=uniform-tsafrir,factor=3": True,
        "ANL-2009:high=0.5": True,
        "ANL-2009:reserved=0.5": True,
        "ANL-2009:shake=9": True,
    }.items():
        assert load.takes_seed(workload) is answer, workload


# The models


@pytest.mark.parametrize(
    ("workload", "begin"),
    [
        ("lublin", "4517d2682b6b5ef1"),
        ("lublin:typed=true", "b361ec603a6c7f5b"),
        ("lublin:procs=100,jobs=100,load=none,seed=3", "1cf995135ae9ed8a"),
        ("lublin:estimates=exact", "43b0257e1d49bbfe"),
        ("sud", "d45f914"),
    ],
)
def test_a_model_makes_the_very_jobs_it_has_always_made(workload, begin):
    assert bfenv.load_workload(workload).hash.startswith(begin)


def test_the_model_takes_every_model_of_estimates():
    parameters = {
        "deterministic": {"factor": 3}, "uniform-zotkin": {"factor": 3},
        "uniform-tsafrir": {"factor": 3}, "phi": {"exact_share": 0.2},
        "tsafrir": {"emax_share": 0.4},
    }  # fmt: skip
    own = bfenv.load_workload("lublin:estimates=exact", **SMALL)
    for model in load.MODELS.keys() - {"user"}:
        trace = bfenv.load_workload("lublin", estimates=model, **parameters.get(model, {}), **SMALL)
        assert np.all(trace.runtime <= trace.jobs.estimate)
        cut = 64_800 if model in ("tsafrir", "doubled") else own.runtime.max()
        assert np.array_equal(trace.runtime, np.minimum(own.runtime, cut))
    usual = bfenv.load_workload("lublin", **SMALL)
    doubled = bfenv.load_workload("lublin:estimates=doubled", **SMALL)
    assert np.array_equal(doubled.jobs.estimate, 2 * usual.jobs.estimate)
    worse = bfenv.load_workload("lublin:emax_share=0.4,jobs=1000")
    assert np.mean(worse.jobs.estimate == 64_800) == 0.4


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


# SUD


def test_sud_is_uniform_in_runtimes_and_sizes_and_reaches_its_load():
    trace = bfenv.load_workload("sud")
    assert (len(trace), trace.processors) == (18_415, 256)
    assert (trace.runtime.min(), trace.runtime.max()) == pytest.approx((60, 14_400), abs=5)
    assert (trace.jobs.size.min(), trace.jobs.size.max()) == (1, 256)
    for values, longest in ((trace.runtime, 14_400), (trace.jobs.size, 256)):
        tenths = np.histogram(values, np.linspace(1, longest, 11))[0] / len(trace)
        assert np.all(np.abs(tenths - 0.1) < 0.012)
    assert trace.offered_load == pytest.approx(0.78, rel=1e-6)
    assert np.array_equal(trace.jobs.estimate, trace.runtime)
    assert bfenv.load_workload("sud", seed=1).hash != trace.hash
    for jobs in (1, 2):
        assert len(bfenv.load_workload("sud", jobs=jobs, procs=1)) == jobs


def test_sud_all_at_once_gives_the_mean_waits_that_zotkin_keleher_and_perkovic_print():
    printed = {"fcfs": (1, 46.12e6), "easy": (1, 28.07e6), "easy ": (2, 26.00e6)}  # their Table 5
    for policy, (factor, wait) in printed.items():
        trace = bfenv.load_workload(f"sud:offline=true,estimates=deterministic,factor={factor}")
        schedule = bfenv.simulate(trace, policy.strip())
        assert bfenv.metrics(schedule)["mean_wait"] == pytest.approx(wait, rel=0.02)


def test_sud_gives_easy_the_mean_wait_of_zotkin_keleher_and_perkovics_table_3():
    wait = np.mean(
        [
            bfenv.metrics(bfenv.simulate(bfenv.load_workload("sud", seed=seed), "easy"))[
                "mean_wait"
            ]
            for seed in range(5)
        ]
    )
    assert wait == pytest.approx(38.25e3, rel=0.06)


def test_a_split_and_a_window_of_jobs_are_options_of_any_name():
    whole = bfenv.load_workload("lublin:jobs=200,procs=32")
    begin, end = split_range(whole, "test")
    part = bfenv.load_workload("lublin:jobs=200,procs=32,split=test")
    assert part.hash == whole[begin:end].hash
    window = bfenv.load_workload("lublin:jobs=200,procs=32,split=test,first_job=3,job_count=5")
    assert window.hash == part[3:8].hash
    assert bfenv.load_workload("lublin:jobs=200,procs=32,first_job=150").hash == whole[150:].hash


@pytest.mark.parametrize("bad", ["first_job=200", "first_job=-1", "job_count=0", "job_count=201"])
def test_a_window_that_leaves_the_trace_is_refused(bad):
    with pytest.raises(bfenv.WorkloadError, match="lublin has jobs 0 to 199: no"):
        bfenv.load_workload(f"lublin:jobs=200,{bad}")


# The knobs of the Lublin-Feitelson model


def test_the_models_shares_are_as_chosen():
    size = bfenv.load_workload("lublin:p_serial=0.6,p_pow2=0.4,jobs=4000,procs=64").jobs.size
    assert (size == 1).mean() == pytest.approx(0.6, abs=4 * np.sqrt(0.24 / 4000))
    assert set(np.unique(size)) <= {1, 2, 4, 8, 16, 32, 64}
    assert len(np.unique(bfenv.load_workload("lublin:p_pow2=0,jobs=4000,procs=64").jobs.size)) > 30


def test_runtime_and_size_are_tied_by_pa():
    def rank_correlation(pa):
        trace = bfenv.load_workload("lublin", jobs=4000, pa=pa, estimates="exact")
        ranks = np.argsort(
            np.argsort([trace.jobs.size, trace.runtime], axis=1, kind="stable"), axis=1
        )
        return np.corrcoef(ranks)[0, 1]

    none, published, strong = rank_correlation(0.0), rank_correlation(None), rank_correlation(-0.05)
    assert abs(none) < 0.05
    assert none + 0.05 < published < strong - 0.05


def test_the_model_begins_at_the_start_hour():
    for hour in (0, 9, 23):
        trace = bfenv.load_workload("lublin", start_hour=hour, **SMALL)
        assert 0 <= (trace.time_of_day - hour * 3600) % 86400 < 6 * 3600


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("p_serial=0.9", "p_serial and p_pow2 are shares, together at most 1, not .0.9, 0.576"),
        ("p_pow2=-1", "p_serial and p_pow2 are shares"),
        ("p_serial=nan", "p_serial"),
        ("pa=0.1", "pa is at most 0, not 0.1"),
        ("typed=true,pa=-0.1", "pa is of the model without types"),
        ("start_hour=24", "start_hour=24"),
    ],
)
def test_a_knob_beyond_its_range_is_named(options, message):
    with pytest.raises(bfenv.WorkloadError, match=message):
        bfenv.load_workload(f"lublin:{options}")
