"""Klusacek and Rudova 2011: CONS+RS against CONS and EASY under inaccurate estimates."""

from functools import partial
from typing import Any

from reproductions.item import (
    Cell,
    Claim,
    Comparison,
    Content,
    Item,
    Log,
    Paper,
    by_row,
    stand_in,
    value_of,
)

META09 = Log(
    "Meta09",
    "METACENTRUM-2009-2(processors=806)",
    stand_in(128, 0.9),
    False,
    "99,944 jobs; the log has no estimates, so modal ones are drawn (model tsafrir), and its 14 "
    "clusters are treated as one machine",
)
META08 = Log(
    "Meta08",
    "METACENTRUM-2008",
    "METACENTRUM-2008",
    False,
    "the paper's own data of MetaCentrum; the paper does not describe it further",
)
HPC2N = Log(
    "HPC2N",
    "HPC2N-2002-2.2-cln",
    stand_in(240, 0.9),
    False,
    "202,871 jobs of the cleaned edition; the paper does not say which it used, and the uncleaned "
    "one has 527,371",
)
THUNDER = Log(
    "LLNL Thunder",
    "LLNL-Thunder-2007-1.1-cln",
    stand_in(400, 0.9),
    False,
    "cleaned edition; submit times are start times, and a third of the jobs have estimates",
)
ATLAS = Log(
    "LLNL Atlas",
    "LLNL-Atlas-2006-2.1-cln",
    stand_in(900, 0.9),
    False,
    "cleaned edition; submit times are start times",
)
DATASTAR = Log(
    "SDSC DataStar",
    "SDSC-DS-2004-2.1-cln",
    "SDSC-DS-2004-2.1-cln",
    False,
    "cleaned edition of the archive; the paper does not say which it used",
)
LOGS = (META09, META08, HPC2N, THUNDER, ATLAS, DATASTAR)


def _table(measure: str, scale: float, quick: bool) -> Content:
    cells, ahead, behind = [], [], []
    for log in LOGS:
        steps: dict[str, Any] = {"estimates": "tsafrir"} if log is META09 and not quick else {}
        cons, easy = (
            value_of(
                log, "cons-rs", f"gain-{measure}", quick, scale=scale, reference=policy, **steps
            )
            for policy in ("conservative", "easy")
        )
        cells.append(Cell("CONS+RS", log.label, cons._replace(measure=measure), log))
        for name, value in (("CONS", cons), ("EASY", easy)):
            cells.append(Cell(name, log.label, value, log))
            ahead.append(Comparison(f"{log.label}, {name}", 0.0, value, log))
        if log is not HPC2N:
            behind.append(Comparison(log.label, easy, cons, log))
    claims = [
        Claim("CONS and EASY have positive additional waiting time over CONS+RS", ahead),
        Claim("EASY is ahead of CONS, but for HPC2N", behind),
    ]
    return Content(by_row(cells), claims=claims)


ITEMS = (
    Item(
        "table",
        "average wait time, and what CONS and EASY add to it",
        "The only table",
        partial(_table, "wait", 1 / 60),
        digits=0,
        unit="min",
    ),
    Item(
        "slowdown",
        "average bounded slowdown, and what CONS and EASY add to it",
        "Text: similar results were achieved for the slowdown",
        partial(_table, "bounded-slowdown", 1.0),
    ),
)

KLUSACEK_RUDOVA = Paper(
    "klusacek-rudova",
    "Handling inaccurate runtime estimates by event-based optimization",
    "D. Klusacek and H. Rudova, abstract of two pages, 2011.",
    LOGS,
    ITEMS,
    figures_lost=False,
)
