"""The record of one run: its JSON, what is read, and what is refused."""

import json
import math
import re
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv.evaluation.row as record
from bfenv.analysis.intervals import Interval
from bfenv.core.errors import BfenvError
from bfenv.evaluation.summary import summarize
from bfenv.leaderboard.store import read_leaderboard
from tests.leaderboard.stores import make_store, write_store

# A file as it was written by the first version of schema 1, but for its length.
FILE = """{
 "classes": {
  "long wide": {
   "jobs": 9,
   "mean_bounded_slowdown": 6.830832552786097,
   "mean_wait": null
  }
 },
 "command": "bfenv leaderboard run --suite smoke-v1 --policy 'easy(order=sjf)' --out DIR",
 "commit": "8e8a2134f95fad24a6650bf698b3623c1fef24f9-dirty",
 "curves": {
  "per_1000": {
   "slowdown_ratio": [
    0.5,
    null
   ],
   "time": [
    0,
    3600
   ]
  },
  "queue_length": {
   "jobs": [
    0.0,
    1.25
   ],
   "time": [
    0.0,
    10.5,
    21.0
   ]
  },
  "wait_quantiles": [
   0.0,
   7.0,
   7.0
  ]
 },
 "error": "",
 "jobs": 200,
 "kind": "policy",
 "load": null,
 "metrics": {
  "heads": 3.0,
  "max_user_bounded_slowdown": null,
  "mean_wait": 5779.075
 },
 "offered_load": 0.8028266715751117,
 "policy": "easy(order=sjf)",
 "processors": 32,
 "schema": 1,
 "seed": 0,
 "source": "lublin:procs=32,jobs=200,load=0.8,seed=1000000",
 "status": "ok",
 "suite": "smoke-v1",
 "versions": {
  "bfenv": "0.1.0",
  "numpy": "2.4.6"
 },
 "versus": {
  "mean_bounded_slowdown": null,
  "mean_wait": {
   "batches": 20,
   "confidence": 0.95,
   "difference": -6941.38,
   "high": -2078.7,
   "jobs": 200,
   "low": -11804.0
  },
  "reference": "easy"
 },
 "workload": "lublin-32-0.8",
 "workload_hash": "sha256:548769b3"
}
"""
VALUES = json.loads(FILE)


def read(values):
    return record.Row.from_json(json.dumps(values).encode(), "folder/rows/one.json")


def changed(path, value):
    """The values with another one at a path like "curves.queue_length"; ... removes the field."""
    values = deepcopy(VALUES)
    *parents, name = path.split(".")
    place = values
    for parent in parents:
        place = place[parent]
    if value is ...:
        del place[name]
    else:
        place[name] = value
    return values


def test_fields():
    """The fields of a file are attributes."""
    row = record.Row.from_json(FILE.encode(), "one.json")
    assert (row.policy, row.workload, row.seed, row.jobs) == (
        "easy(order=sjf)",
        "lublin-32-0.8",
        0,
        200,
    )
    assert row.ok and row.code is None and row.load is None
    assert row.metrics["mean_wait"] == 5779.075
    assert row.classes["long wide"] == VALUES["classes"]["long wide"]
    assert row.versus.reference == "easy"
    assert row.versus.differences == {
        "mean_bounded_slowdown": None,
        "mean_wait": record.Difference(-6941.38, -11804.0, -2078.7, 0.95, 20, 200),
    }
    assert row.curves == record.Curves(
        (0.0, 7.0, 7.0),
        record.QueueCurve((0.0, 10.5, 21.0), (0.0, 1.25)),
        record.SlowdownCurve((0, 3600), (0.5, None)),
    )
    with pytest.raises(FrozenInstanceError):
        row.seed = 1


def test_bytes():
    """A file that is read and written again has the same bytes: the format of schema 1 is fixed."""
    assert record.SCHEMA == 1
    assert record.Row.from_json(FILE.encode(), "one.json").to_json() == FILE.encode()


def test_failed_row():
    """A failed row has its reason, and none of the results."""
    values = {name: value for name, value in VALUES.items() if name not in record.PARTS}
    values |= {"status": "failed", "error": "no result within 4 s", "code": "sha256:1"}
    row = read(values)
    assert not row.ok and row.error == "no result within 4 s" and row.code == "sha256:1"
    assert (row.metrics, row.classes, row.versus, row.curves) == (
        {},
        {},
        record.Versus(),
        record.Curves(),
    )
    assert json.loads(row.to_json()) == values


def test_row_without_reference():
    """A row that nothing was compared with has an empty comparison and no curve of ratios."""
    values = changed("curves.per_1000", ...) | {"versus": {}}
    assert json.loads(read(values).to_json()) == values


NAMES = st.text(st.characters(codec="utf-8"), max_size=8)
NUMBERS = st.none() | st.integers(-(2**61), 2**61) | st.floats(-(2.0**61), 2.0**61)
AMOUNTS = st.integers(0, 2**61) | st.floats(0, 2.0**61)
ASCENDING = st.lists(AMOUNTS, max_size=4).map(sorted).map(tuple)
INTEGERS = st.none() | st.integers(0, 2**61)
DIFFERENCES = st.builds(
    record.Difference, NUMBERS, NUMBERS, NUMBERS, st.none() | st.floats(0, 1), INTEGERS, INTEGERS
)
QUEUES = st.lists(AMOUNTS, max_size=3).flatmap(
    lambda jobs: st.builds(
        record.QueueCurve,
        st.lists(AMOUNTS, min_size=len(jobs) + 1, max_size=len(jobs) + 1).map(sorted).map(tuple),
        st.just(tuple(jobs)),
    )
)
RATIOS = st.builds(record.SlowdownCurve, ASCENDING, st.lists(NUMBERS, max_size=3).map(tuple))
RESULTS = {
    "metrics": st.dictionaries(NAMES, NUMBERS, max_size=3),
    "classes": st.dictionaries(NAMES, st.dictionaries(NAMES, NUMBERS, max_size=2), max_size=2),
    "versus": st.builds(
        record.Versus,
        st.none() | NAMES,
        st.dictionaries(
            NAMES.filter(lambda name: name != "reference"), st.none() | DIFFERENCES, max_size=2
        ),
    ),
    "curves": st.builds(
        record.Curves, st.none() | ASCENDING, st.none() | QUEUES, st.none() | RATIOS
    ),
}
BY_TYPE = {
    str: NAMES,
    str | None: st.none() | NAMES,
    int: st.integers(0, 2**61),
    float | None: st.none() | AMOUNTS,
}
ROWS = st.builds(
    record.Row,
    **{
        name: BY_TYPE[kind]
        for name, kind in record.REQUIRED.items()
        if kind in BY_TYPE and name != "kind"
    },
    kind=st.sampled_from((*record.KINDS, "log")),
    versions=st.dictionaries(NAMES, NAMES, max_size=2),
    error=NAMES,
    code=st.none() | NAMES,
    foresight=st.none() | NAMES,
    schedule_hash=st.none() | NAMES,
    **RESULTS,
)


@given(ROWS)
def test_round_trip(row):
    """Any row that is written is read back as the same row, and then has the same bytes."""
    data = row.to_json()
    again = record.Row.from_json(data, "one.json")
    assert again == row
    assert again.to_json() == data


def test_all_fields():
    """Each field of a row is required, optional, a result, local or the error.

    A new field must be added to these tests.
    """
    names = {"error", *record.OPTIONAL, *record.PARTS, *record.LOCAL}
    assert set(record.REQUIRED) | names == {field.name for field in fields(record.Row)}


@pytest.mark.parametrize("name", record.REQUIRED)
def test_missing_field(name):
    """A required field that is missing is named with its file."""
    with pytest.raises(BfenvError, match=rf"^folder/rows/one\.json: field '{name}' is missing"):
        read(changed(name, ...))


@pytest.mark.parametrize("name", ["error", "code", *record.PARTS])
def test_optional_field(name):
    """The other fields may be missing."""
    values = changed(name, ...) if name in VALUES else VALUES
    assert read(values).ok


WRONG = {
    str: [7, None, True, ["x"], {}],
    str | None: [7, False, ["x"], {}],
    int: ["7", 1.0, True, None, -1, 2**62, [], {}],
    float | None: ["0.8", True, -0.1, 2.0**62, [], {}],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name, kind in record.REQUIRED.items() for value in WRONG.get(kind, [])),
        *((name, value) for name in ("versions", *record.PARTS) for value in (None, 7, "x", [])),
    ],
)
def test_field_of_another_type(name, value):
    """A field of another type or out of range is named with its value."""
    with pytest.raises(BfenvError) as error:
        read(changed(name, value))
    assert str(error.value).startswith(f"folder/rows/one.json: field {name!r} must be ")
    assert str(error.value).endswith(f", got {value!r}")


@pytest.mark.parametrize("name", ["kind", "division"])
def test_unknown_choice(name):
    """A kind or division that there is not is named with the ones that there are."""
    with pytest.raises(BfenvError, match=f"field '{name}' must be one of .*, got 'great'"):
        read(changed(name, "great"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metrics.mean_wait", "3"),
        ("metrics.mean_wait", True),
        ("metrics.mean_wait", record.LARGEST),
        ("metrics.mean_wait", [1]),
        ("classes.long wide", 3),
        ("classes.long wide", None),
        ("classes.long wide", {"jobs": "9"}),
        ("versus.mean_wait", 1.0),
        ("versus.mean_wait", [1]),
        ("versus.mean_wait", {"low": "x"}),
        ("versus.other", {"high": 1e300}),
        ("curves.wait_quantiles", 7),
        ("curves.wait_quantiles", [1, None]),
        ("curves.wait_quantiles", [-1, 1]),
        ("curves.wait_quantiles", [2, 1]),
        ("curves.queue_length", [1]),
        ("curves.queue_length", {}),
        ("curves.queue_length", {"time": [0, 1]}),
        ("curves.queue_length", {"time": [0, 1], "jobs": [-1]}),
        ("curves.queue_length", {"time": [1, 0], "jobs": [1]}),
        ("curves.queue_length", {"time": [0], "jobs": [1]}),
    ],
)
def test_bad_result(name, value):
    """What is calculated with must be numbers; the error names the result."""
    with pytest.raises(BfenvError, match=rf"one\.json: field '{re.escape(name)}' must be "):
        read(changed(name, value))


@pytest.mark.parametrize(
    ("name", "value", "attribute", "expected"),
    [
        ("error", ..., "error", ""),
        ("versions", {"bfenv": 7}, "versions", {"bfenv": "7"}),
        ("versus.reference", ..., "versus.reference", None),
        ("versus", {"x": {}}, "versus.differences", {"x": record.Difference(None, None, None)}),
        ("versus.mean_wait.confidence", "x", "versus.differences.mean_wait.confidence", None),
        ("curves.wait_quantiles", None, "curves.wait_quantiles", None),
        ("curves.wait_quantiles", [], "curves.wait_quantiles", ()),
        ("curves.per_1000", {}, "curves.per_1000", None),
        ("curves.per_1000", 7, "curves.per_1000", None),
        ("status", "out of time", "ok", False),
        ("new_field", 7, "ok", True),
        ("curves.new_curve", 7, "ok", True),
    ],
)
def test_tolerance(name, value, attribute, expected):
    """What nothing is calculated with is read whatever it is, as it always was."""
    found = read(changed(name, value))
    for part in attribute.split("."):
        found = found[part] if isinstance(found, dict) else getattr(found, part)
    assert found == expected


def test_not_numbers_of_json():
    """NaN and infinities, which other programs may write, are unknown values."""
    row = record.Row.from_json(FILE.replace("5779.075", "NaN").encode(), "one.json")
    assert row.metrics["mean_wait"] is None
    with pytest.raises(BfenvError, match=r"metrics\.mean_wait"):
        record.Row.from_json(FILE.replace("5779.075", "1e999").encode(), "one.json")


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff", b"\xef\xbb\xbf{}", b"[" * 100_000, b'{"workload": "\\ud800"}'],
    ids=["empty", "cut off", "no text", "byte order mark", "deep", "half a character"],
)
def test_unreadable_file(data):
    """A file that is not JSON in UTF-8 is named."""
    with pytest.raises(BfenvError, match=r"^one\.json: cannot be read"):
        record.Row.from_json(data, "one.json")


@pytest.mark.parametrize("values", [[], 7, {}, VALUES | {"schema": 2}, VALUES | {"schema": "1"}])
def test_other_schema(values):
    """JSON that is not a row of this schema is refused."""
    with pytest.raises(
        BfenvError, match=rf"one\.json: not a leaderboard's row of schema {record.SCHEMA}"
    ):
        read(values)


def test_hostile_values_in_errors():
    """An error is one short printable line, whatever the file holds."""
    for name, value in (("seed", "\x1b[2J\n" + "x" * 10_000), ("metrics", {"\x1b\n" * 99: "x"})):
        with pytest.raises(BfenvError) as error:
            read(changed(name, value))
        assert str(error.value).isprintable() and len(str(error.value)) < 400


def test_key():
    """The file of a row keeps its name in later versions; the row and its task agree on it."""
    name = "module_of_mine:easy(order=sjf, backfill=saf, reservations=2, lookahead=100)"
    key = "module-of-mine-easy-order-sjf-backfill-s_a-log-0.9_1_2f12f8e04464"
    assert record.row_key("policy", name, "a_log@0.9", 1) == key
    assert read(VALUES | {"policy": name, "workload": "a_log@0.9", "seed": 1}).key == key


TEXTS = st.one_of(
    st.text(min_size=1, max_size=60), st.sampled_from(["..", "../../x", "a/b", "a b"])
)


@given(TEXTS, TEXTS, st.integers(0, 9), st.integers(0, 9))
def test_safe_keys(one, two, seed, other):
    """Names become files that stay in the folder and never collide."""
    key = record.row_key("policy", one, two, seed)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+_-]{1,120}", key), key
    swapped = record.row_key("policy", two, one, other)
    assert (key == swapped) == ((one, two, seed) == (two, one, other))
    assert key != record.row_key("agent", one, two, seed)


def test_order(store):
    """The policies of a workload are sorted by mean bounded slowdown."""
    summaries = summarize(read_leaderboard(store).rows, "lublin-64-0.8")
    slowdowns = [one.metrics["mean_bounded_slowdown"] for one in summaries]
    assert len(summaries) == 8 and slowdowns == sorted(slowdowns)


def test_means_over_seeds(tmp_path):
    """Metrics are means over seeds, and half widths of independent intervals add up as errors."""
    folder = make_store(
        tmp_path / "store", ("easy", "sjf"), {"small": "lublin:procs=32,jobs=100"}, seeds=2
    )
    leaderboard = read_leaderboard(folder)
    summary = next(one for one in summarize(leaderboard.rows, "small") if one.policy == "sjf")
    assert [row.seed for row in summary.rows] == [0, 1]
    one, two = (row.metrics["mean_wait"] for row in summary.rows)
    assert summary.metrics["mean_wait"] == pytest.approx((one + two) / 2)
    a, b = (row.versus.differences["mean_wait"] for row in summary.rows)
    middle = (a.difference + b.difference) / 2
    half = math.hypot(a.high - a.difference, b.high - b.difference) / 2
    assert summary.versus["mean_wait"] == pytest.approx(
        Interval(middle, middle - half, middle + half)
    )
    assert summary.wait_quantiles == summary.rows[0].curves.wait_quantiles
    assert summary.queue_length == summary.rows[0].curves.queue_length


def test_unknown_values(rows, tmp_path):
    """Means of unknown values are unknown, and come last."""
    row = rows["los", "lublin-64-0.8"]
    row["metrics"] = {"mean_wait": 3.0, "mean_bounded_slowdown": None}
    row |= {"versus": {"mean_wait": {"difference": 1.0}}, "curves": {"wait_quantiles": []}}
    leaderboard = read_leaderboard(write_store(tmp_path / "store", rows.values()))
    *_, last = summarize(leaderboard.rows, "lublin-64-0.8")
    assert last.policy == "los"
    assert last.metrics == {"mean_wait": 3.0, "mean_bounded_slowdown": None}
    assert last.versus == {"mean_wait": None, "mean_bounded_slowdown": None}
    assert last.wait_quantiles is None and last.queue_length is None


def test_starves(rows, tmp_path):
    """A policy starves on the workloads where its longest wait is over twice EASY's."""
    for (policy, workload), row in rows.items():
        is_long = (policy, workload) == ("los", "lublin-64-0.8")
        row["metrics"]["max_wait"] = 201.0 if is_long else 100.0
    leaderboard = read_leaderboard(write_store(tmp_path / "store", rows.values()))
    assert [one.policy for one in summarize(leaderboard.rows, "lublin-64-0.8") if one.starves] == [
        "los"
    ]
    assert not any(one.starves for one in summarize(leaderboard.rows, "lublin-128-0.9"))
