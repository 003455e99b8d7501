"""The page of a leaderboard: what it shows, and that nothing a row's author wrote acts in it."""

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from bfenv.analysis.comparison import STARVES
from bfenv.evaluation.summary import longest_ratio, rows_by_run, starves
from bfenv.leaderboard.report.ranking import SHARED_RANK, ranked, render_markdown
from bfenv.leaderboard.store import read_leaderboard
from site_helpers.pages import Page, page_of
from tests.leaderboard.stores import write_store

HOSTILE = '<script>alert("x")</script>|`*[a](javascript:b)\u202e'


def test_ranking(leaderboard, page):
    """The ranked table has the order of the ranking."""
    table = re.search(r'<section id="ranking".*?</section>', page, re.S).group()
    names = re.findall(r'<span class="name">(.*?)</span>', table)
    assert names == [line.policy for line in ranked(leaderboard)]


def test_provenance(leaderboard, page):
    """Every row's source, hash and command are on the page."""
    cells = set(Page(page).cells)
    for row in leaderboard.rows:
        assert {row.source, row.workload_hash, row.command} <= cells


def test_starving_policy_is_marked(rows, tmp_path):
    """A policy that starves has a mark beside its name."""
    for (policy, _), row in rows.items():
        row["metrics"]["max_wait"] = 201.0 if policy == "los" else 100.0
    text = page_of(read_leaderboard(write_store(tmp_path / "store", rows.values())))
    section = re.search(r'<section id="ranking".*?</section>', text, re.S).group()
    table = re.search("<tbody>.*?</tbody>", section, re.S).group()
    marked = [row for row in table.split("</tr>") if 'class="starves"' in row]
    assert re.findall('class="name">(.*?)</span>', "".join(marked)) == ["los"]


def test_failed_rows(rows, tmp_path):
    """Failed rows are listed with their errors, as text."""
    row = rows["los", "lublin-64-0.8"]
    row |= {"status": "failed", "error": "illegal <start> of job 7", "metrics": {}, "versus": {}}
    row |= {"classes": {}, "curves": {}}
    text = page_of(read_leaderboard(write_store(tmp_path / "store", rows.values())))
    assert "illegal <start> of job 7" in Page(text).cells


def test_failures_only(rows, tmp_path):
    """A leaderboard of failures only has a page."""
    row = rows["easy", "lublin-64-0.8"]
    row |= {"status": "failed", "error": "out of time", "metrics": {}, "curves": {}}
    text = page_of(read_leaderboard(write_store(tmp_path / "store", [row])))
    assert "out of time" in Page(text).cells


def test_sparse_rows(rows, tmp_path):
    """Rows without curves, classes and comparison have a page."""
    for row in rows.values():
        row |= {"curves": {}, "classes": {}, "versus": {}}
        row["metrics"] = {"mean_wait": 3.0}
    Page(page_of(read_leaderboard(write_store(tmp_path / "store", rows.values()))))


def test_hostile_names(rows, tmp_path):
    """Names from rows are text and never markup, on the page and in Markdown."""
    for row in rows.values():
        if row["policy"] == "los":
            row["policy"] = HOSTILE
        row["workload"] = row["workload"] + HOSTILE
        row["command"] = row["source"] = row["suite"] = HOSTILE
    store = write_store(tmp_path / "store", rows.values())
    leaderboard = read_leaderboard(store, check_names=False)  # which would refuse them
    text = page_of(leaderboard)
    tags = [tag for tag, _ in Page(text).tags]
    assert tags.count("script") == 1 and "\u202e" not in text
    table = render_markdown(leaderboard)
    assert "<" not in table and "\n| \\|" not in table
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines() if "|" in line[:1]}
    assert widths == {12}


def test_no_requests(page):
    """The page names nothing outside itself, and its policy allows no other content."""
    parsed = Page(page)
    assert all(url.startswith("#") for url in parsed.urls)
    assert not re.search(r"url\((?!#)", page) and "@import" not in page
    assert not [tag for tag, attributes in parsed.tags if "style" in attributes]
    assert not [
        tag for tag, attributes in parsed.tags if any(a.startswith("on") for a in attributes)
    ]
    (policy,) = (
        a["content"] for tag, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_links(page):
    """Every link leads to an element of the page, and no id is given twice."""
    parsed = Page(page)
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = [a["aria-labelledby"] for _, a in parsed.tags if "aria-labelledby" in a]
    wanted = [url[1:] for url in parsed.urls] + " ".join(named).split()
    assert set(wanted) <= set(ids)


def test_names_of_pictures(page):
    """Every picture has a name for screen readers."""
    pictures = [a for tag, a in Page(page).tags if tag == "svg" and a.get("role") == "img"]
    assert len(pictures) > 5
    for attributes in pictures:
        assert attributes.get("aria-labelledby") or attributes.get("aria-label")


NUMBERS = st.none() | st.integers(-3, 3) | st.floats(-1e18, 1e18)
METRICS = st.fixed_dictionaries(
    {},
    optional={
        name: NUMBERS
        for name in ("mean_bounded_slowdown", "mean_wait", "p95_wait", "max_wait", "utilization")
    },
)
INTERVALS = st.none() | st.fixed_dictionaries(
    {}, optional={name: NUMBERS for name in ("difference", "low", "high")}
)
TIMES = st.lists(st.floats(0, 1e9), min_size=1, max_size=4).map(sorted)


@given(data=st.data())
@settings(max_examples=40)
def test_any_row(store, tmp_path_factory, data):
    """Every row that is accepted has a page, without NaN and infinities."""
    rows = [json.loads(path.read_text()) for path in sorted((store / "rows").glob("easy-*.json"))]
    for row in rows[:4]:
        time = data.draw(TIMES)
        jobs = data.draw(st.lists(st.floats(0, 1e18), min_size=len(time), max_size=len(time)))
        row["metrics"] = data.draw(METRICS)
        row["versus"] = {name: data.draw(INTERVALS) for name in ("mean_wait", "mean_response")}
        row["curves"] = {
            "wait_quantiles": data.draw(TIMES),
            "queue_length": {"time": time, "jobs": jobs[1:]},
        }
        row["workload_hash"] = ""  # no Gantt chart
    folder = write_store(tmp_path_factory.mktemp("any") / "store", rows[:4])
    leaderboard = read_leaderboard(folder)
    text = page_of(leaderboard)
    assert not re.search(r"""["' ,]-?(nan|inf)\b""", text.partition("<script>")[0])
    Page(text)
    render_markdown(leaderboard)


def test_extreme_waits(rows, tmp_path):
    """Waits whose ratios are 0 or infinite as numbers have a page, too, and cause no warning."""
    smallest, largest = 5e-324, 4e18
    for values in ((smallest, largest), (largest, smallest)):
        for (policy, _), row in rows.items():
            for name in ("mean_wait", "max_wait", "mean_bounded_slowdown"):
                row["metrics"][name] = values[policy == "easy"]
        Page(page_of(read_leaderboard(write_store(tmp_path / str(values[0]), rows.values()))))


def test_band_and_mark(rows, tmp_path):
    """A policy is in the band of starvation exactly if it is marked, on however many workloads."""
    for (policy, workload), row in rows.items():
        is_bad = policy == "los" and workload == "lublin-64-0.8"  # on one of two workloads
        row["metrics"]["max_wait"] = 300.0 if is_bad else 100.0
    board = read_leaderboard(write_store(tmp_path / "store", rows.values()))
    board_rows = rows_by_run(board.rows)
    for policy in {row.policy for row in board.rows}:
        marked = any(starves(row, board_rows) for row in board.rows if row.policy == policy)
        assert marked == (longest_ratio(policy, board_rows) > STARVES)
    assert longest_ratio("los", board_rows) == 3.0
    assert longest_ratio("nobody", board_rows) is None


def test_shared_rank(rows, tmp_path):
    """The rule of shared ranks stands below a table that has some."""
    copies = [row | {"policy": "copy"} for row in rows.values() if row["policy"] == "fcfs"]
    leaderboard = read_leaderboard(write_store(tmp_path / "all", [*rows.values(), *copies]))
    assert SHARED_RANK in page_of(leaderboard)


def test_single_run(rows, tmp_path):
    """A page of a single run has no columns that compare runs, and says why there are no ranks."""
    silent = {"rank", "95 % interval", "runs", "failed"}
    single = [row for (_, workload), row in rows.items() if workload == "lublin-64-0.8"]
    page = page_of(read_leaderboard(write_store(tmp_path / "one", single)))
    table = page.partition('<section id="ranking"')[2].partition("</table>")[0]
    assert not any(f">{name}</th>" in table for name in silent) and "bounded slowdown" in table
    assert "There are no ranks" in page
    page = page_of(read_leaderboard(write_store(tmp_path / "all", rows.values())))
    table = page.partition('<section id="ranking"')[2].partition("</table>")[0]
    assert all(f">{name}</th>" in table for name in silent)
    assert "There are no ranks" not in page
