"""The papers' findings, on quick runs: generated workloads, so that every machine has them."""

import pytest

from bfenv.reproduce import PAPERS, find_items
from bfenv.reproduce.results import Results
from bfenv.reproduce.run import plan, run
from bfenv.reproduce.verdict import compare

# By paper and item: parts of claims that hold in every comparison.
FINDINGS = {
    ("zotkin2000", "table-3"): ("In the real traces, multiples of the runtime are better",),
    ("zotkin2000", "table-4"): (
        "In the real traces, multiples of the runtime are better",
        "Off-line, R = 5 more than halves",
    ),
    ("zotkin2000", "table-6"): ("Sorting by length is better",),
    ("zotkin2000", "table-9"): (
        "With exact estimates all orders make the same schedule",
        "With multiples, every order is better",
    ),
    ("klusacek-rudova", "table"): ("CONS and EASY have positive additional waiting time",),
    ("tsafrir2010", "figure-4"): ("Performance first improves",),
    ("tsafrir2010", "section-4"): (
        "Users' estimates are worse than accurate ones",
        "With more jobs at the maximum it becomes worse",
    ),
    ("lawson-smirni2002", "figure-5"): ("With more arrivals R > 0",),
    ("lawson-smirni2002", "table-2"): ("With a quarter of reservations, both miss about as many",),
    ("shmueli-los2003", "figure-4.4"): ("The mean differential is positive",),
    ("shmueli-los2003", "figure-4.5"): ("The mean differential is positive",),
    ("shmueli-los2003", "figure-4.6"): ("The mean differential is positive",),
    ("shmueli-los2003", "figure-4.7"): ("The curve of max-slowdown is above that of plain LOS",),
    ("twenty-years", "conclusions"): (
        "Klusacek: CONS+RS against conservative",
        "Klusacek: CONS+RS against EASY",
        "Lawson: multiple queues against one",
    ),
}


@pytest.mark.parametrize("paper, item", FINDINGS, ids=[" ".join(key) for key in FINDINGS])
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
