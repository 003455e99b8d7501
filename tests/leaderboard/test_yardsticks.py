"""The places of policies under several metrics."""

from dataclasses import replace

from bfenv.leaderboard.report.other_metrics import COLUMNS, metric_lines, metric_notes
from bfenv.leaderboard.yardsticks import YARDSTICKS, places_by_metric
from tests.leaderboard.made_rows import failed, row, with_metrics

METRICS = [yardstick.metric for yardstick in YARDSTICKS]


def rows_of(**policies):
    """One row of two workloads for each policy; its values are times the number of the workload."""
    names = ("mean_bounded_slowdown", "area_weighted_response", "packing_efficiency")
    return [
        with_metrics(
            row(policy, f"w{n}", 0, 1.0),
            **{name: n * value for name, value in zip(names, values, strict=True)},
        )
        for n in (1, 2)
        for policy, values in policies.items()
    ]


def places(rows, metric):
    """The places under one metric, by policy."""
    i = METRICS.index(metric)
    return {line.policy: line.places[i] for line in places_by_metric(rows)}


ROWS = rows_of(easy=(4, 30, 0.4), short=(1, 40, 0.2), packed=(2, 20, 0.5), late=(2, 50, 0.1))


def test_places():
    """Less is better, except for a gain; equals share a place."""
    slowdown = {"short": 1, "packed": 2, "late": 2, "easy": 4}
    assert places(ROWS, "mean_bounded_slowdown") == slowdown
    response = {"packed": 1, "easy": 2, "short": 3, "late": 4}
    assert places(ROWS, "area_weighted_response") == response
    assert places(ROWS, "packing_efficiency") == response


def test_unknown_values():
    """A policy without a value has no place; a run in which EASY has none does not count."""
    rows = [with_metrics(one, user_fairness=0.5) for one in ROWS if one.policy != "late"]
    rows += [one for one in ROWS if one.policy == "late"]
    expected = {"easy": 1, "short": 1, "packed": 1, "late": None}
    assert places(rows, "user_fairness") == expected
    rows = [
        with_metrics(one, user_fairness=None if one.workload == "w1" else 0.1 + 0.1 * (i % 4))
        for i, one in enumerate(ROWS)
    ]
    assert places(rows, "user_fairness") == {"late": 1, "packed": 2, "short": 3, "easy": 4}
    assert set(places(ROWS, "user_fairness").values()) == {None}


def test_divisions():
    """Each division has places of its own."""
    trials = [replace(one, policy="tried", division="trials") for one in rows_of(x=(0.5, 9, 0.9))]
    found = places(ROWS + trials, "mean_bounded_slowdown")
    assert (found["tried"], found["short"]) == (1, 1)


def test_failed_rows():
    """Failed rows do not count, and without EASY there are no places."""
    assert places_by_metric([*ROWS, failed("late", "w3", 0)]) == places_by_metric(ROWS)
    assert places_by_metric([one for one in ROWS if one.policy != "easy"]) == []


def test_text():
    """The table has a line for each policy, and the notes say where the first one changes."""
    lines = metric_lines(ROWS)
    assert [line[0] for line in lines] == ["short", "late", "packed", "easy"]
    assert all(len(line) == len(COLUMNS) for line in lines)
    assert "By area-weighted response, packed is first, not short." in metric_notes(ROWS)
    assert not any(note.startswith("By longest wait") for note in metric_notes(ROWS))
    assert metric_lines([]) == []
