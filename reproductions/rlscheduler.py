"""RLScheduler's windows: its tables, its networks, and both beside correct EASY and agents."""

from functools import partial
from typing import Any

from bfenv.leaderboard.suite import WINDOWS
from reproductions.item import (
    Cell,
    Claim,
    Comparison,
    Content,
    Extreme,
    Item,
    Log,
    Paper,
    by_row,
    stand_in,
    value_of,
)

SLOWDOWN = "bounded-slowdown"
SHAKE = 300  # seconds by which submit times are shaken
COPIES, LONG_COPIES = 10, 5  # shaken copies of windows, and of long parts of logs


def _log(label: str, workload: str, processors: int, edition: str, overrun: str = "extend") -> Log:
    source = f"{workload}(rules=rlscheduler, overrun={overrun})"
    return Log(label, source, stand_in(processors), True, edition)


_BY_ITS_RULES = "by the rules of its loader; jobs that outlive their estimates go on"
_KILLED = "the same, but such jobs are killed at their estimates, which is not what it does"
LUBLIN_1 = _log("Lublin-1", "lublin_256_10k", 256, "estimates are the runtimes")
LUBLIN_2 = _log("Lublin-2", "lublin_256_new2", 256, "estimates are the runtimes")
SDSC = _log("SDSC-SP2", "SDSC-SP2-1998-4.2-cln", 128, _BY_ITS_RULES)
HPC2N = _log("HPC2N", "HPC2N-2002-2.2-cln", 240, _BY_ITS_RULES)
LOGS = (LUBLIN_1, SDSC, HPC2N, LUBLIN_2)
KILLED = (
    _log("SDSC-SP2, kill", "SDSC-SP2-1998-4.2-cln", 128, _KILLED, "kill"),
    _log("HPC2N, kill", "HPC2N-2002-2.2-cln", 240, _KILLED, "kill"),
)
NETWORKS = {
    "Lublin-1": "lublin256",
    "SDSC-SP2": "sdsc_sp2",
    "HPC2N": "hpc2n",
    "Lublin-2": "Lublin256new",
}
ORDERS = {"FCFS": "fcfs", "WFP3": "wfp3", "UNICEP": "unicef", "SJF": "sjf", "F1": "f1"}
PRINTED_SDSC = 397.82
NEAR = ("their simulator", "agent:formula ‡")  # ends of the names of rows that are near it
BACKFILLS = {"with backfilling": "theirs", "without": "off"}
CLASSICAL = (
    "easy",
    "easy-sjf",
    "easy-saf",
    "easy-f1",
    "easy-f2",
    "easy-wfp3",
    "easy-lxf",
    "easy-unicef",
    "easy++",
    "conservative",
)
AGENTS = {
    "agent:formula ‡": "agent:formula",
    "agent:trial-formula ‡ (kills and restarts jobs)": "agent:trial-formula",
}


def _network(log: Log, sampled: bool, backfill: str) -> str:
    name = NETWORKS[log.label.partition(",")[0]]
    return f"agent:rlscheduler(path={name}, sampled={str(sampled).lower()}, backfill={backfill})"


def _windows(log: Log, policy: str, quick: bool, **steps: Any) -> Extreme:
    """Return the mean over the ten windows."""
    firsts = WINDOWS[:1] if quick else WINDOWS
    return Extreme(
        [
            value_of(log, policy, SLOWDOWN, quick, first_job=first, job_count=1024, **steps)
            for first in firsts
        ],
        "mean",
    )


def _heuristics(quick: bool) -> Content:
    return Content(
        [
            Cell(
                f"{label}, {mode}",
                log.label,
                _windows(log, f"rlscheduler(order={order}, backfill={backfill})", quick),
                log,
            )
            for mode, backfill in BACKFILLS.items()
            for label, order in ORDERS.items()
            for log in LOGS
        ]
    )


def _networks(quick: bool) -> Content:
    cells = []
    for mode, backfill in BACKFILLS.items():
        for sampled, choice, seeds in ((True, "sampled", COPIES), (False, "largest", 1)):
            for log in () if quick else LOGS:
                policy = _network(log, sampled, backfill)
                value = _windows(log, policy, quick, seeds=seeds)
                cells.append(Cell(f"RL, {mode}, {choice}", log.label, value, log))
    return Content(cells)


def _competitors(log: Log, quick: bool) -> dict[str, str]:
    """Return all that play, by the names of their rows."""
    competitors = {name: name for name in CLASSICAL} | AGENTS
    for sampled, choice in ((False, "largest"), (True, "sampled")):
        for backfill, simulator in (("theirs", "their simulator"), ("easy", "correct EASY")):
            if not quick:
                competitors[f"network †, {choice}, {simulator}"] = _network(log, sampled, backfill)
    return competitors


def _table(quick: bool) -> Content:
    cells, low, high = [], [], []
    for log in (LUBLIN_1, SDSC, KILLED[0], HPC2N, KILLED[1], LUBLIN_2):
        for name, policy in _competitors(log, quick).items():
            steps = {"seeds": COPIES, "shake_seconds": SHAKE}
            value = _windows(log, policy, quick, **steps)
            cells.append(Cell(name, log.label, value, log))
            if log is SDSC and name.endswith(NEAR):
                low.append(Comparison(name, value._replace(kind="low"), PRINTED_SDSC, log))
                high.append(Comparison(name, PRINTED_SDSC, value._replace(kind="high"), log))
    claims = [
        Claim("SDSC-SP2: the 5th percentile of several rows is below the printed 397.82", low),
        Claim("SDSC-SP2: their 95th percentile is above it", high),
    ]
    return Content(by_row(cells), claims=claims)


def _unseen(measure: str, scale: float, quick: bool) -> Content:
    steps: dict[str, Any] = {} if quick else {"split": "test"}
    return Content(
        by_row(
            [
                Cell(
                    name,
                    log.label,
                    value_of(
                        log,
                        policy,
                        measure,
                        quick,
                        scale=scale,
                        seeds=LONG_COPIES,
                        shake_seconds=SHAKE,
                        **steps,
                    ),
                    log,
                )
                for log in LOGS
                for name, policy in _competitors(log, quick).items()
                if policy not in SLOW
            ]
        )
    )


SLOW = ("conservative",)
_MARKS = (
    " † was tuned on jobs of the same trace. ‡ was tuned on the first 60 % of SDSC-SP2 and HPC2N. "
    "The windows of these two are in that part, and the last 40 % are not."
)
_COPIES = (
    "A cell is the mean over copies whose submit times are shaken by up to 5 minutes. In "
    "parentheses are the 5th and the 95th percentile of the copies."
)
ITEMS = (
    Item("heuristics", "the heuristics on ten windows", "Tables 5 and 6; WFP3 and UNICEP without "
         "backfilling are not printed", _heuristics, exact=True),
    Item("networks", "the published networks in their own simulator", "Tables 5 and 6; the rows "
         "with the largest score are not printed", _networks, spread=True,
         note="Sampled ten times; in parentheses are the 5th and the 95th percentile."),
    Item("windows", "the windows again, with correct backfilling", "Not in the paper", _table,
         digits=1, legend=_COPIES + _MARKS, spread=True),
    Item("unseen", "the last 40 % of each log: mean bounded slowdown", "Not in the paper",
         partial(_unseen, SLOWDOWN, 1.0), digits=1, legend=_COPIES + _MARKS, spread=True),
    Item("unseen-longest-wait", "the last 40 % of each log: longest wait", "Not in the paper",
         partial(_unseen, "longest-wait", 1 / 3600), digits=0, unit="h",
         legend=_COPIES + _MARKS, spread=True),
)  # fmt: skip

RLSCHEDULER = Paper(
    "rlscheduler",
    "RLScheduler: an automated HPC batch job scheduler using reinforcement learning",
    "D. Zhang, D. Dai, Y. He, F. S. Bao and B. Xie, SC'20, 2020, and its program at cd433e3.",
    (LUBLIN_1, SDSC, HPC2N, LUBLIN_2, *KILLED),
    ITEMS,
    figures_lost=False,
)
