"""Twenty years later: the papers' conclusions on all logs, with today's baselines beside them."""

from typing import Any, NamedTuple

from reproductions.item import (
    Cell,
    Claim,
    Comparison,
    Content,
    Item,
    Log,
    Pair,
    Paper,
    Value,
    stand_in,
    value_of,
)

_USERS = "users' estimates"
_MODAL = "the log has no estimates; modal ones are drawn (model tsafrir)"


def _log(label: str, workload: str, processors: int, edition: str, load: float = 0.8) -> Log:
    return Log(label, workload, stand_in(processors, load), True, edition)


LOGS = (
    _log("KTH", "KTH-SP2-1996-2.1-cln", 100, _USERS),
    _log("CTC", "CTC-SP2-1996-3.1-cln", 338, _USERS),
    _log("SDSC-SP2", "SDSC-SP2-1998-4.2-cln", 128, _USERS),
    _log("BLUE", "SDSC-BLUE-2000-4.2-cln", 1152, _USERS),
    _log("HPC2N", "HPC2N-2002-2.2-cln", 240, _USERS),
    _log("Thunder", "LLNL-Thunder-2007-1.1-cln", 4008,
         "estimates for a third of the jobs; submit times are start times"),
    _log("Atlas", "LLNL-Atlas-2006-2.1-cln", 9216,
         "estimates for 81 %; submit times are start times"),
    _log("NASA", "NASA-iPSC-1993-3.1-cln", 128, f"{_MODAL}; submit times are start times"),
    _log("SDSC-Par", "SDSC-Par-1996-3.1-cln", 400, _MODAL),
    _log("Metacentrum", "METACENTRUM-2009-2(processors=806)", 806,
         f"{_MODAL}; 14 clusters as one machine"),
)  # fmt: skip
WITHOUT_ESTIMATES = ("NASA", "SDSC-Par", "Metacentrum")
LARGE = ("Thunder", "Atlas")  # LOS's table has a column for each of their many processors
LONG_PLANS = ("Metacentrum",)  # on which a search of the plan takes minutes
SEEDS = 5
SHAKE = 300  # seconds by which submit times are shaken
SLOWDOWN = "bounded-slowdown"


class Question(NamedTuple):
    """A conclusion: the first side has the smaller mean than the second."""

    text: str
    paper: str
    left: tuple[str, dict[str, Any]]  # policy, and the model of estimates
    right: tuple[str, dict[str, Any]]
    measure: str = SLOWDOWN
    without: tuple[str, ...] = ()  # logs on which it takes too long


_EXACT: dict[str, Any] = {"estimates": "exact"}
_TWICE: dict[str, Any] = {"estimates": "deterministic", "factor": 2.0}
_OWN: dict[str, Any] = {}
QUESTIONS = (
    Question("estimates of twice the runtime against exact ones", "Zotkin, Tsafrir",
             ("easy", _TWICE), ("easy", _EXACT)),
    Question("exact estimates against users'", "Tsafrir", ("easy", _EXACT), ("easy", _OWN)),
    Question("users' estimates doubled against as they are", "Zotkin",
             ("easy", {"estimates": "doubled"}), ("easy", _OWN)),
    Question("EASY sorted by length against in order of arrival", "Zotkin",
             ("easy-sjf", _OWN), ("easy", _OWN)),
    Question("planning at random, the shorter first, without guarantees, against conservative",
             "Zotkin", ("conservative-replan-random-sjf", _OWN), ("conservative", _OWN)),
    Question("EASY against conservative", "Klusacek", ("easy", _OWN), ("conservative", _OWN)),
    Question("CONS+RS against conservative", "Klusacek", ("cons-rs", _OWN), ("conservative", _OWN),
             without=LONG_PLANS),
    Question("CONS+RS against EASY", "Klusacek", ("cons-rs", _OWN), ("easy", _OWN),
             without=LONG_PLANS),
    Question("multiple queues against one, with trials, slowdown not bounded", "Lawson",
             ("multiqueue", _OWN), ("easy-speculative", _OWN), "slowdown"),
    Question("LOS against EASY", "Shmueli", ("los", _OWN), ("easy", _OWN), without=LARGE),
    Question("LOS with max-slowdown against LOS", "Shmueli",
             ("los-max-slowdown", _OWN), ("los", _OWN), without=LARGE),
    Question("today: EASY++ against EASY", "", ("easy++", _OWN), ("easy", _OWN)),
    Question("today: EASY sorted by smallest area against EASY", "", ("easy-saf", _OWN),
             ("easy", _OWN)),
)  # fmt: skip


def _value(log: Log, side: tuple[str, dict[str, Any]], measure: str, quick: bool) -> Value:
    policy, model = side
    steps: dict[str, Any] = {} if quick else {"split": "test"}
    users = not model or model["estimates"] == "doubled"
    if users and log.label in WITHOUT_ESTIMATES and not quick:
        steps["estimates"] = "tsafrir"
    else:
        steps |= model
    return value_of(log, policy, measure, quick, seeds=SEEDS, shake_seconds=SHAKE, **steps)


def _table(quick: bool) -> Content:
    cells, claims = [], []
    for question in QUESTIONS:
        survives = []
        without = question.without
        if question.left[1].get("estimates") == "doubled":
            without += WITHOUT_ESTIMATES
        name = f"{question.text} ({question.paper})" if question.paper else question.text
        for log in LOGS[:3] if quick else LOGS:
            if log.label not in without:
                left = _value(log, question.left, question.measure, quick)
                right = _value(log, question.right, question.measure, quick)
                cells.append(Cell(name, log.label, Pair((left, right)), log))
                survives.append(Comparison(log.label, Pair((left, right), "high"), 1.0, log))
        if question.paper:
            text = f"{question.paper}: {question.text}, the end of the interval"
            claims.append(Claim(text, survives))
    return Content(cells, claims=claims)


_LEGEND = (
    "A cell is the ratio of the first side's mean bounded slowdown to the second's: the geometric "
    "mean over the seeds, and its 95 % interval. ✓: the first side is better. ✗: the second is. "
    "~: undecided."
)

ITEMS = (
    Item(
        "conclusions",
        "which conclusions survive on which log",
        "All five papers",
        _table,
        legend=_LEGEND,
    ),
)

TWENTY_YEARS = Paper(
    "twenty-years",
    "Twenty years later",
    "Do the conclusions of the five papers hold on other logs? We test them on the last 40 % of "
    f"each log, {SEEDS} times with submit times shaken by up to {SHAKE // 60} minutes. Both sides "
    "of a comparison get the same shaken jobs, so the intervals are of paired differences.",
    LOGS,
    ITEMS,
    figures_lost=False,
)
