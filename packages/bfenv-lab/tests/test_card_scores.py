"""Scores on the cards of agents that a search has made."""

from dataclasses import replace

import pytest

from bfenv import PolicyError
from bfenv.agents.card import Card, geometric_means
from bfenv.agents.seen_jobs import searched_spans
from bfenv_lab.scoring import find_failures, score_card

MODEL = "lublin:jobs=400,procs=32,load=0.9"
CARD = Card(
    name="mine",
    division="completion",
    kind="policy",
    what="Shortest estimates first.",
    policy="easy(order='estimate')",
    found={"command": "bfenv search ..."},
)


def test_scores() -> None:
    """EASY in its own order has ratios of 1; training jobs are refused; failures are sentences."""
    easy = replace(CARD, policy="easy(order=fcfs)")
    scores = score_card(easy, [MODEL], [None], shakes=2)
    (score,) = scores
    assert (score["slowdown_ratio"], score["wait_ratio"], score["copies"]) == (1.0, 1.0, 2)
    assert find_failures(scores) == ()
    assert geometric_means(scores) == {"own": 1.0}
    bad = dict(score, slowdown_ratio=1.2, wait_ratio=1.9, highest_wait_ratio=2.5)
    assert len(find_failures([bad])) == 2
    seen = replace(easy, trained_on=tuple(searched_spans((MODEL,), "all")))
    with pytest.raises(PolicyError, match="was trained on"):
        score_card(seen, [MODEL], [None], shakes=1)
