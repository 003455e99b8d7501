"""The synthetic workload SUD, whose runtimes are uniform: no crowd of short jobs.

Zotkin, Keleher and Perkovic made it to see what the many short jobs of real logs do. They tell
its number of jobs, its machine and its runtimes, not its sizes and arrivals. Sizes are uniform
here as well: with all jobs submitted at once, their Table 5 then comes out (mean waits of 45.9
million seconds under FCFS and 28.0 under EASY with exact estimates; they have 46.12 and 28.07).
Arrivals are a Poisson process, at a load at which their on-line Table 3 comes out for EASY.

References
----------
D. Zotkin, P. J. Keleher and D. Perkovic, "Attacking the bottlenecks of backfilling schedulers",
Cluster Computing 3(4), 245-254, 2000, section 3, doi:10.1023/A:1019088401217.
"""

import numpy as np

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace, make_trace

SHORTEST, LONGEST = 60, 240 * 60  # seconds
LATEST = 2**53  # seconds; beyond it a float no longer counts seconds


def sud(procs: int = 256, jobs: int = 18_415, load: float = 0.78, seed: int = 0) -> Trace:
    """SUD, the synthetic uniform distribution, with exact estimates.

    `jobs` jobs from `seed`: runtimes uniform from 1 to 240 minutes, sizes uniform from 1 to
    `procs` processors, arrivals a Poisson process at offered load `load`.

    Raises WorkloadError for a value out of range.
    """
    for option, value, largest in (("procs", procs, 2**31), ("jobs", jobs, 10**8)):
        if not 1 <= value <= largest:
            raise WorkloadError(f"sud: {option} is 1 to {largest:,}, not {value}")
    if seed < 0:
        raise WorkloadError(f"sud: seed is not negative, got {seed}")
    if not 0 < load < float("inf"):
        raise WorkloadError(f"sud: load is a positive number, not {load}")
    rng = np.random.default_rng(seed)
    runtime = rng.integers(SHORTEST, LONGEST, jobs, endpoint=True)
    size = rng.integers(1, procs, jobs, endpoint=True)
    moment = np.cumsum(rng.exponential(size=jobs))
    moment -= moment[0]
    span = float(runtime.astype(float) @ size.astype(float)) / (procs * load)
    if not span < LATEST:
        raise WorkloadError(f"sud: at load {load:g} the jobs come later than ever")
    submit = np.rint(moment * (span / max(moment[-1], 1e-9))).astype(np.int64)
    return make_trace(submit, size, runtime, procs, name="sud")
