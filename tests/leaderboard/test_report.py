"""The report of a leaderboard: what it says, and that nothing a row's author wrote acts in it."""

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.leaderboard.report.element import element, escaped
from bfenv.leaderboard.report.gantt_selection import choose
from bfenv.leaderboard.report.markdown import BEGIN, END, markdown, ranked, with_block, write_readme
from bfenv.leaderboard.report.markdown import escaped as plain
from bfenv.leaderboard.report.page import page
from bfenv.leaderboard.report.summary import results
from bfenv.leaderboard.store import read_board
from tests.leaderboard.boards import make_board, write_row

HOSTILE = '<script>alert("x")</script>|`*[a](javascript:b)\u202e'


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return make_board(tmp_path_factory.mktemp("board") / "board", keep=True)


@pytest.fixture
def rows(folder):
    """Rows by policy and workload, to be changed and written elsewhere."""
    found = [json.loads(path.read_text()) for path in (folder / "rows").glob("*.json")]
    return {(row["policy"], row["workload"]): row for row in found}


def written(path, rows):
    (path / "rows").mkdir(parents=True)
    for row in rows:
        write_row(path, row)
    return read_board(path)


class Page(HTMLParser):
    """Elements of a page that are open nowhere, and the text of its tables' cells."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells, self.urls = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.urls += [v for k, v in attributes if k in ("src", "href", "action", "xlink:href")]
        if tag not in ("meta", "input", "link", "br"):
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data


@pytest.fixture(scope="session")
def shown(folder):
    board = read_board(folder)
    return page(board, choose(board))


def test_the_ranking_is_that_of_the_standings_and_in_the_page(folder, shown):
    board = read_board(folder)
    order = [line.policy for line in ranked(board)]
    table = re.search(r'<section id="ranking".*?</section>', shown, re.S).group()
    assert re.findall(r'<span class="name">(.*?)</span>', table) == order
    names = re.findall(r"^\| ([a-z0-9-]+) \|", markdown(board), re.M)
    assert names == ["policy", *order]


def test_every_number_has_its_provenance(folder, shown):
    cells = set(Page(shown).cells)
    for row in read_board(folder).rows:
        assert {row["source"], row["workload_hash"], row["command"]} <= cells


def test_a_policy_that_starves_is_marked_wherever_its_mean_is(rows, tmp_path):
    for (policy, _), row in rows.items():
        row["metrics"]["max_wait"] = 100.0
        if policy == "los":
            row["metrics"]["max_wait"] = 200.0  # twice is not over twice
    board = written(tmp_path / "no", rows.values())
    assert "starves" not in markdown(board)
    assert not any(line.starves for line in ranked(board))
    rows["los", "lublin-64-0.8"]["metrics"]["max_wait"] = 201.0
    board = written(tmp_path / "yes", rows.values())
    assert [line.policy for line in ranked(board) if line.starves] == ["los"]
    (line,) = (line for line in markdown(board).splitlines() if line.startswith("| los |"))
    cells = line.split("|")
    assert [cells[i].strip().endswith("\\*") for i in (3, 5, 6)] == [True] * 3
    text = page(board, choose(board))
    table = re.search(r'<section id="ranking".*?</table>', text, re.S).group()
    (row,) = (row for row in table.split("<tr ") if ">los</span>" in row)
    assert row.count('class="starves"') == 3
    assert [one.policy for one in results(board, "lublin-64-0.8") if one.starves] == ["los"]
    assert not any(one.starves for one in results(board, "lublin-128-0.9"))


def test_failed_rows_are_listed_with_their_error_and_their_policy_has_no_rank(rows, tmp_path):
    row = rows["los", "lublin-64-0.8"]
    row |= {"status": "failed", "error": "illegal <start> of job 7", "metrics": {}, "versus": {}}
    row |= {"classes": {}, "curves": {}}
    board = written(tmp_path, rows.values())
    assert (ranked(board)[-1].policy, ranked(board)[-1].rank) == ("los", None)
    text = page(board, choose(board))
    assert "illegal <start> of job 7" in Page(text).cells
    assert "illegal &lt;start&gt; of job 7" in markdown(board)


def test_a_board_of_failures_only_has_a_page(rows, tmp_path):
    row = rows["easy", "lublin-64-0.8"]
    row |= {"status": "failed", "error": "out of time", "metrics": {}, "curves": {}}
    board = written(tmp_path, [row])
    assert "out of time" in Page(page(board, choose(board))).cells


def test_rows_without_curves_classes_and_comparison_have_a_page(rows, tmp_path):
    for row in rows.values():
        row |= {"curves": {}, "classes": {}, "versus": {}}
        row["metrics"] = {"mean_wait": 3.0}
    board = written(tmp_path, rows.values())
    Page(page(board, choose(board)))


def test_names_from_rows_are_text_and_never_markup(rows, tmp_path):
    for row in rows.values():
        if row["policy"] == "los":
            row["policy"] = HOSTILE
        row["workload"] = row["workload"] + HOSTILE
        row["command"] = row["source"] = row["suite"] = HOSTILE
    board = written(tmp_path, rows.values())
    text = page(board, choose(board))
    tags = [tag for tag, _ in Page(text).tags]
    assert tags.count("script") == 1 and "\u202e" not in text
    table = markdown(board)
    assert "<" not in table and "\n| \\|" not in table
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines() if "|" in line[:1]}
    assert widths == {10}


def test_the_page_asks_nothing_of_others(shown):
    parsed = Page(shown)
    assert all(url.startswith("#") for url in parsed.urls)
    assert "url(" not in shown and "@import" not in shown
    assert not [tag for tag, attributes in parsed.tags if "style" in attributes]
    assert not [
        tag for tag, attributes in parsed.tags if any(a.startswith("on") for a in attributes)
    ]
    (policy,) = (a["content"] for tag, a in parsed.tags
                 if a.get("http-equiv") == "Content-Security-Policy")  # fmt: skip
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_every_link_leads_to_a_place_on_the_page_and_no_id_is_given_twice(shown):
    parsed = Page(shown)
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = [a["aria-labelledby"] for _, a in parsed.tags if "aria-labelledby" in a]
    wanted = [url[1:] for url in parsed.urls] + " ".join(named).split()
    assert set(wanted) <= set(ids)


def test_every_picture_has_a_name(shown):
    for tag, attributes in Page(shown).tags:
        if tag == "svg" and attributes.get("role") == "img":
            assert attributes.get("aria-labelledby") or attributes.get("aria-label")


def test_the_gantt_chart_says_why_it_is_absent(folder, rows, tmp_path):
    for row in rows.values():
        row["workload_hash"] = "sha256:0"
    board = written(tmp_path / "other", rows.values())
    assert "has other jobs than the row&#x27;s" in page(board, choose(board))
    for row in rows.values():
        row["source"] = "nowhere/log.swf"
    board = written(tmp_path / "gone", rows.values())
    assert "no such workload file" in page(board, choose(board))


def test_no_module_that_a_row_names_is_imported(rows, tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    mine = [row for row in rows.values() if row["policy"] in ("easy", "los")]
    for row in mine:
        if row["policy"] == "los":
            row["policy"] = "evil:policy"
    board = written(tmp_path / "board", mine)
    choice = choose(board, policies=["evil:policy"])
    assert choice.schedules == [] and "was not kept" in choice.absent


def test_what_is_asked_of_the_gantt_chart_must_be_on_the_board(folder):
    board = read_board(folder)
    with pytest.raises(UnknownNameError, match="easy"):
        choose(board, policies=["eazy"])
    with pytest.raises(UnknownNameError, match="lublin"):
        choose(board, workload="lublin")
    with pytest.raises(BfenvError, match="one policy or two"):
        choose(board, policies=["easy", "los", "sjf"])
    choice = choose(board, "lublin-64-0.8", ["los"], 3600, 7200)
    assert (choice.schedules[0].policy, choice.begin, choice.span) == ("los", 3600, 7200)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema": 2}, "schema"),
        ({"policy": 7}, "policy"),
        ({"seed": True}, "seed"),
        ({"metrics": {"mean_wait": "3"}}, "mean_wait"),
        ({"metrics": {"mean_wait": 1e300}}, "mean_wait"),
        ({"versus": {"mean_wait": [1]}}, "mean_wait"),
        ({"versus": {"mean_wait": 1.0}}, "mean_wait"),
        ({"classes": {"short": 3}}, "short"),
        ({"curves": {"wait_quantiles": [1, None]}}, "wait_quantiles"),
        ({"curves": {"wait_quantiles": [2, 1]}}, "wait_quantiles"),
        ({"curves": {"queue_length": {"time": [0, 1], "jobs": [-1]}}}, "queue_length"),
        ({"processors": -1}, "processors"),
        ({"curves": {"queue_length": {"time": [0], "jobs": [1]}}}, "queue_length"),
        ({"workload": "\ud800"}, "cannot be read"),
    ],
)
def test_a_file_that_is_no_row_is_named(rows, tmp_path, change, told):
    row = rows["easy", "lublin-64-0.8"]
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "one.json").write_text(json.dumps(row | change))
    with pytest.raises(BfenvError, match=rf"one\.json.*{told}"):
        read_board(tmp_path)


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
def test_every_row_that_is_accepted_has_a_page(folder, tmp_path_factory, data):
    rows = [json.loads(path.read_text()) for path in sorted((folder / "rows").glob("easy-*.json"))]
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
    board = written(tmp_path_factory.mktemp("any"), rows[:4])
    text = page(board, choose(board))
    assert not re.search(r"""["' ,]-?(nan|inf)\b""", text.partition("<script>")[0])
    Page(text)
    markdown(board)


def test_rows_of_two_suites_or_of_one_run_twice_are_refused(rows, tmp_path):
    one, two = (rows[policy, "lublin-64-0.8"] for policy in ("easy", "los"))
    with pytest.raises(BfenvError, match="two suites"):
        written(tmp_path / "suites", [one, two | {"suite": "other-v1"}])
    (tmp_path / "twice" / "rows").mkdir(parents=True)
    for name in ("a", "b"):
        (tmp_path / "twice" / "rows" / f"{name}.json").write_text(json.dumps(one))
    with pytest.raises(BfenvError, match="a and b are of the same run"):
        read_board(tmp_path / "twice")
    with pytest.raises(BfenvError, match="no rows"):
        read_board(tmp_path / "nothing")


def test_what_is_no_markup_is_escaped():
    assert element("p", "<b>", title='"&"') == '<p title="&quot;&amp;&quot;">&lt;b&gt;</p>'
    assert element("p", element("b", "x"), None, ["<", element("i")]) == (
        "<p><b>x</b>&lt;<i></i></p>"
    )
    assert escaped("a\x00b\u202e") == "a\ufffdb\ufffd"
    assert plain("a|b\n<c>_`d`") == "a\\|b &lt;c&gt;\\_\\`d\\`"


def test_a_readme_keeps_its_line_ends_and_what_is_no_text_is_refused(tmp_path):
    path = tmp_path / "README.md"
    path.write_bytes(f"one\r\n{BEGIN}\r\nold\r\n{END}\r\ntwo\r\n".encode())
    write_readme(path, "new\n")
    assert path.read_bytes() == f"one\r\n{BEGIN}\nnew\n{END}\r\ntwo\r\n".encode()
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BfenvError, match=r"README\.md: is no text in UTF-8"):
        write_readme(path, "new\n")
    assert path.read_bytes() == b"\xff\xfe"


def test_a_readme_is_changed_between_its_marks_only(tmp_path):
    readme = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert with_block(readme, "new\n", tmp_path) == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    for bad in ("none", f"{BEGIN} open", f"{BEGIN}{END}{BEGIN}"):
        with pytest.raises(BfenvError, match="needs one"):
            with_block(bad, "new", tmp_path)
