"""The command `bfenv report whatif`."""

import json
import re

import pytest

import bfenv
from bfenv_site.reports.variants import with_other_estimates, with_processors
from tests.site_log import write_site


@pytest.fixture
def site(tmp_path):
    return write_site(tmp_path / "site.swf", jobs=60)


def test_side_by_side(run, site, tmp_path):
    """Each option is a variant beside the site as it is, with the metrics of its simulation."""
    options = ("--processors", "+10%", "--processors", 48, "--estimates", "-30%", "--load", 0.5)
    status, out, _ = run(
        "report", "whatif", site, *options, "-p", "easy", "-p", "fcfs", "-f", "json"
    )
    assert status == 0
    rows = json.loads(out)
    labels = [
        "as is",
        "+10 % processors (70)",
        "48 processors (−25 %)",
        "estimates −30 %",
        "load 0.5",
    ]
    assert [(row["variant"], row["policy"]) for row in rows] == [
        (label, policy) for policy in ("easy", "fcfs") for label in labels
    ]
    trace = bfenv.load_workload(str(site))
    for policy, row in (("easy", rows[0]), ("fcfs", rows[5])):
        expected = bfenv.metrics(bfenv.simulate(trace, policy))
        assert {name: row[name] for name in expected} == expected


def test_processes(run, site):
    """Two processes print what one does."""
    command = ("report", "whatif", site, "--processors", "+10%", "-p", "easy", "-p", "fcfs")
    assert run(*command, "--jobs", 2) == run(*command)


def test_no_change(run, site):
    """Without a change there is nothing to compare, and a line says how to ask for one."""
    status, out, _ = run("report", "whatif", site, "-p", "easy")
    assert status == 0 and out.endswith("--estimates, --load or --variant.\n")


def test_same_name(run, site, tmp_path):
    """Variants that would have the same name are all there."""
    for folder, day in (("a", "01"), ("b", "02")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "down.csv").write_text(f"2026-01-01 {day}:00,2026-01-01 {day}:30\n")
    changes = [f"maintenance='{tmp_path / folder / 'down.csv'}'" for folder in "ab"]
    _, out, _ = run(
        "report", "whatif", site, "--variant", changes[0], "--variant", changes[1], "-f", "json"
    )
    names = [row["variant"] for row in json.loads(out)]
    assert names == ["as is", "with down.csv", changes[1]]


def test_told(run, site, tmp_path):
    """What is left out, cut or held stands below the table and on the page."""
    page = tmp_path / "page.html"
    small = ("--processors", 8, "--max-estimate", "10min")
    status, out, _ = run("report", "whatif", site, *small, "-o", page, columns=160)
    assert status == 0
    assert "<nav" not in page.read_text()  # to a single section
    for words in ("larger than 8 processors and left out", "cut at the limit"):
        assert words in out and words in page.read_text()


def test_jobs_left_out(run, site, tmp_path):
    """Jobs of the log that are in no variant are counted below the table and on the page."""
    page = tmp_path / "page.html"
    workload = f"{site}:processors=16"
    dropped = bfenv.load_workload(workload).cleaning.dropped
    assert dropped > 1
    _, out, _ = run("report", "whatif", workload, "-o", page, columns=160)
    line = f"as is: {dropped} jobs of the whole log are left out (larger than the machine)"
    assert line in out and line in page.read_text()


def test_zero(run, site, tmp_path):
    """A variant that changes no wait has a change of 0; only the site as it is has none."""
    page = tmp_path / "page.html"
    options = ("--without", "outages", "-o", page, "-f", "markdown")
    _, out, _ = run("report", "whatif", site, *options)
    table = [line for line in out.splitlines() if line.startswith("|")]
    as_is, changed = (line.split("|")[4:7] for line in table[2:4])
    assert [cell.strip() for cell in as_is] == [""] * 3
    assert {cell.split()[0] for cell in changed} == {"0"}
    assert re.search(r"the mean wait of easy stays at [0-9.]+ \S+ \(", page.read_text())


def test_long_labels(run, site):
    """The label of several changes is broken between them, and is there once with all its notes."""
    changes = "processors=+10%,split-estimate=10min,estimates=-30%"
    _, out, _ = run("report", "whatif", site, "--variant", changes, columns=80)
    label = "+10 % processors (70), at most 10min, split, estimates −30 %"
    assert out.count("variant ") == 2  # tables, of which only the names would fill one
    parts = ["+10 % processors (70),", "at most 10min, split,"]
    assert re.findall(r"(?m)^ (\S+(?: \S+)*,)", out) == 2 * parts
    (notes,) = re.findall(rf"(?m)^{re.escape(label)}: (.+)$", out)
    assert "become" in notes and "keep the runtime as estimate" in notes


def test_days(run, site):
    """The table says whether days become longer or shorter."""
    _, out, _ = run("report", "whatif", site, "--load", "+20%", "--load", "-20%", columns=160)
    assert re.search(r"load \+20 % \(.*: jobs come faster .*days are shorter\n", out)
    assert re.search(r"load −20 % \(.*: jobs come slower .*days are longer\n", out)


def test_in_words(run, site):
    """A change of the estimates may be told in words."""
    options = ("--estimates", "users ask 30 % less", "--estimates", "50% more", "--no-as-is")
    _, out, _ = run("report", "whatif", site, *options, "-f", "json")
    options = ("--estimates", "-30%", "--estimates", "+50%", "--no-as-is")
    _, same, _ = run("report", "whatif", site, *options, "-f", "json")
    assert out == same and [row["variant"] for row in json.loads(out)] == [
        "estimates −30 %",
        "estimates +50 %",
    ]


def test_several_changes(run, site):
    """A variant may change several things, and the site as it is may be left out."""
    text = "processors=+50%,estimates=-30%"
    options = ("--variant", text, "--processors", "+50%", "--no-as-is")
    status, out, _ = run("report", "whatif", site, *options, "-f", "json")
    assert status == 0
    rows = json.loads(out)
    both = "+50 % processors (96), estimates −30 %"
    assert [row["variant"] for row in rows] == ["+50 % processors (96)", both]
    trace = bfenv.load_workload(str(site))
    more = with_other_estimates(with_processors(trace, "+50%").trace, "-30%").trace
    expected = bfenv.metrics(bfenv.simulate(more, "easy"))
    assert {name: rows[1][name] for name in expected} == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--processors", "many"], "'many'"),
        (["--split-longer"], "--max-estimate"),
        (["--without", "jobs"], "'jobs'"),
        (["--estimates", "fewer"], "'fewer'"),
        (["--estimates", "30"], "estimates: write +30% or -30%, got '30'"),
        (["--load", "80"], "load must be at most 5, got 80; a load of 80 % is load=0.8"),
        (["--maintenance", "none.csv"], "none.csv"),
        (["--variant", "processors=4,speed=2"], "'speed'"),
        (["--no-as-is"], "no variant"),
    ],
)
def test_wrong(run, site, options, message):
    """A wrong value is reported in one line."""
    status, out, err = run("report", "whatif", site, *options)
    assert (status, out) == (2, "")
    assert message in err and len(err.splitlines()) == 1
