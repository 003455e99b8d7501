"""Templates of policies."""

import pytest

from bfenv import BfenvError
from bfenv.agents.search.template import read_template


def test_fixed() -> None:
    """Options without ranges stand as they are."""
    template = read_template("guard=1.5, trial=180")
    assert template.policy(["size"]) == "easy(order='size', guard=1.5, trial=180)"
    assert read_template("").policy(["size"]) == "easy(order='size')"


def test_ranges() -> None:
    """A range is on a logarithmic scale; one of whole numbers gives whole numbers."""
    template = read_template("guard={0.5:2}, trial={60:6000}")
    assert template.policy(["size"], (0.5, 0.5)) == "easy(order='size', guard=1, trial=600)"
    assert template.policy(["size"], (0.0, 1.0)) == "easy(order='size', guard=0.5, trial=6000)"
    assert template.policy(["size"], (-1.0, 9.0)) == "easy(order='size', guard=0.5, trial=6000)"


def test_trials() -> None:
    """Only with the option trial are jobs started for a trial."""
    assert read_template("guard=2, trial={60:600}").has_trials
    assert not read_template("guard={1:2}, trial=0").has_trials
    assert not read_template("").has_trials


def test_expressions() -> None:
    """Several options are searched for, the order first; ranges may stand within an expression."""
    template = read_template("keep='{0.4:1.6} * size'", ("order", "backfill_estimate"))
    policy = template.policy(["size", "prediction"], (0.5,))
    own = "order='size', backfill_estimate='prediction'"
    assert policy == f"easy({own}, keep='0.8 * size')"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("guard={1:2", "expected"),
        ("guard=1:2}", "expected"),
        ("guard={1}", "expected ranges like {0.5:2}"),
        ("guard={a:b}", "not a range"),
        ("guard={-1:2}", "0 < low < high"),
        ("order=estimate", "order is what the search looks for"),
        ("gard=1", "easy has no option 'gard'"),
    ],
)
def test_wrong(text: str, message: str) -> None:
    """What looks like a range and is none, and what `easy` does not take, is refused."""
    with pytest.raises(BfenvError, match=message):
        read_template(text)
