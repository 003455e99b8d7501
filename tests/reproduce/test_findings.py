"""The papers' findings, on quick runs: generated workloads, so that every machine has them."""

import pytest

from bfenv.reproduce import PAPERS, find_items
from bfenv.reproduce.results import Results
from bfenv.reproduce.run import plan, run
from bfenv.reproduce.verdict import compare

# By paper and item: parts of claims that hold in every comparison.
FINDINGS = {
    ("zotkin2000", "table-9"): (
        "With exact estimates all orders make the same schedule",
        "With multiples, every order is better",
    ),
    ("zotkin2000", "table-10"): ("Without guarantees the combination is best",),
    ("zotkin2000", "table-11"): ("Without guarantees the combination is best",),
    ("klusacek-rudova", "table"): ("CONS and EASY have positive additional waiting time",),
    ("tsafrir2010", "section-4"): (
        "Users' estimates are worse than accurate ones",
        "With more jobs at the maximum it becomes worse",
    ),
    ("shmueli-los2003", "figure-4.9"): ("A lookahead of 50 is as good as one of 250",),
    ("lawson-smirni2002", "table-2"): ("With a quarter of reservations, both miss about as many",),
}


@pytest.mark.parametrize("paper, item", FINDINGS, ids=" ".join)
def test_a_finding_holds_on_generated_workloads(paper, item, tmp_path):
    """All comparisons of these claims hold."""
    (one,) = find_items(PAPERS[paper], [item])
    results = Results(run(plan([one], tmp_path, quick=True), tmp_path))
    claims = {claim.text: claim for claim in one.build(True).claims}
    for start in FINDINGS[paper, item]:
        (text,) = [text for text in claims if text.startswith(start)]
        found = [compare(c, results) for c in claims[text].comparisons]
        judged = [holds for holds in found if holds is not None]
        assert judged and all(judged), (text, found)
