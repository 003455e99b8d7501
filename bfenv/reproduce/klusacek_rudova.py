"""Klusacek and Rudova 2011: CONS+RS against CONS and EASY under inaccurate estimates."""

from bfenv.reproduce.item import Cell, Claim, Comparison, Content, Item, Log, Paper
from bfenv.reproduce.logs import stand_in, value_of

_ABSENT = "not available"
META09 = Log(
    "Meta09", "METACENTRUM-2009-2(processors=806)", stand_in(128, 0.9), False,
    "99,944 jobs; the log has no estimates, so modal ones are drawn (model tsafrir), and its 14 "
    "clusters are treated as one machine",
)  # fmt: skip
META08 = Log("Meta08", "METACENTRUM-2008", "METACENTRUM-2008", False, _ABSENT)
HPC2N = Log(
    "HPC2N", "HPC2N-2002-2.2-cln", stand_in(240, 0.9), False,
    "202,871 jobs of the cleaned edition; the paper does not say which it used, and the uncleaned "
    "one has 527,371",
)  # fmt: skip
THUNDER = Log(
    "LLNL Thunder", "LLNL-Thunder-2007-1.1-cln", stand_in(400, 0.9), False,
    "cleaned edition; submit times are start times, and a third of the jobs have estimates",
)  # fmt: skip
ATLAS = Log(
    "LLNL Atlas", "LLNL-Atlas-2006-2.1-cln", stand_in(900, 0.9), False,
    "cleaned edition; submit times are start times",
)  # fmt: skip
DATASTAR = Log("SDSC DataStar", "SDSC-DS-2004-2.1-cln", "SDSC-DS-2004-2.1-cln", False, _ABSENT)
LOGS = (META09, META08, HPC2N, THUNDER, ATLAS, DATASTAR)
SEEDS = 1


def _table(quick: bool) -> Content:
    return Content(*_compare("wait", "gain-wait", 1 / 60, quick))


def _slowdown(quick: bool) -> Content:
    return Content(*_compare("bounded-slowdown", "gain-bounded-slowdown", 1.0, quick))


def _compare(
    measure: str, gain: str, scale: float, quick: bool
) -> tuple[tuple[Cell, ...], tuple[()], tuple[Claim, ...]]:
    cells, ahead, behind = [], [], []
    for log in LOGS:
        steps = {"estimates": "tsafrir"} if log is META09 and not quick else {}
        more = {
            name: value_of(
                log, "cons-rs", gain, quick, scale=scale, seeds=SEEDS, reference=policy, **steps
            )
            for name, policy in (("CONS", "conservative"), ("EASY", "easy"))
        }
        cells.append(Cell("CONS+RS", log.label, more["CONS"]._replace(measure=measure), log))
        for name, value in more.items():
            cells.append(Cell(name, log.label, value, log))
            ahead.append(Comparison(f"{log.label}, {name}", 0.0, value, log))
        if log is not HPC2N:
            behind.append(Comparison(log.label, more["EASY"], more["CONS"], log))
    rows = ("CONS+RS", "CONS", "EASY")
    cells.sort(key=lambda cell: rows.index(cell.row))
    claims = (
        Claim("CONS and EASY have positive additional waiting time over CONS+RS", tuple(ahead)),
        Claim("EASY is ahead of CONS, but for HPC2N", tuple(behind)),
    )
    return tuple(cells), (), claims


ITEMS = (
    Item("table", "average wait time, and what CONS and EASY add to it", "The only table", _table,
         digits=0, unit="min"),
    Item("slowdown", "average bounded slowdown, and what CONS and EASY add to it",
         "Text: similar results were achieved for the slowdown", _slowdown),
)  # fmt: skip

KLUSACEK_RUDOVA = Paper(
    "klusacek-rudova",
    "Handling inaccurate runtime estimates by event-based optimization",
    "D. Klusacek and H. Rudova, abstract of two pages, 2011.",
    LOGS,
    ITEMS,
    figures_lost=False,
)
