"""The logs of Zotkin, Keleher and Perkovic 2000, and the runs that tables and figures share."""

from bfenv.reproduce.item import (
    Log,
    Value,
)
from bfenv.reproduce.logs import stand_in, value_of

_KTH_EDITION = (
    "28,481 jobs of the uncleaned edition; the paper has 28,456. Runtimes are those recorded, not "
    "cut at the log's estimates, which the paper did not have"
)
KTH = Log("KTH", "KTH-SP2-1996-2(overrun=extend)", stand_in(100), True, _KTH_EDITION)
LNL = Log("LNL", "LLNL-T3D-1996-2", "LLNL-T3D-1996-2", True, "not available")
SUD = Log("SUD", "sud", "sud(jobs=1500)", False, "ours: sizes and arrivals were not published")
CTC = Log(
    "CTC",
    "CTC-SP2-1996-3.1-cln(processors=430, overrun=extend)",
    stand_in(430),
    True,
    "77,205 jobs of the cleaned edition; the paper has 79,302, with a burst of one user's jobs "
    "that cleaning removes. On 430 processors, as in the paper. Estimates are derived from the "
    "runtimes recorded",
)
CTC_REAL = Log(
    "CTC, real estimates",
    "CTC-SP2-1996-3.1-cln(processors=430)",
    stand_in(430),
    True,
    "the same with the users' estimates; jobs are killed at them",
)
KTH_FOR_LNL = KTH._replace(label="KTH in place of LNL", comparable=False)

FACTORS = (1, 2, 3, 5, 20, 50)
GRID = (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
SLOWDOWN, WAIT = "delay-slowdown", "wait"
SEEDS = 20
SHAKEN = 50  # seeds


def _seeds(quick: bool) -> int:
    return 3 if quick else SEEDS


def inflated(
    log: Log,
    policy: str,
    measure: str,
    factor: float,
    quick: bool,
    *,
    random: bool = False,
    scale: float = 1.0,
    offline: bool = False,
) -> Value:
    """Return a value with estimates of R times the runtime, by either method of section 4."""
    steps: dict[str, object] = {"estimates": "exact"}
    if factor != 1:
        model = "uniform-zotkin" if random else "deterministic"
        steps = {"estimates": model, "factor": float(factor)}
    if offline:
        steps["all_at_once"] = True
    seeds = _seeds(quick) if random and factor != 1 else 1
    return value_of(log, policy, measure, quick, scale=scale, seeds=seeds, **steps)  # fmt: skip
