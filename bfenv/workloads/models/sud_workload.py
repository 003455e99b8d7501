"""The workload "sud": SUD, whose runtimes are uniform, so that short jobs do not abound.

Zotkin, Keleher and Perkovic made it to see the effect of the many short jobs of real logs. They
publish the number of jobs, the machine and the runtimes, but neither sizes nor arrivals. Sizes are
uniform here as well. With all jobs submitted at once, their Table 5 then comes out: mean waits of
45.9 million seconds under FCFS and of 28.0 under EASY with exact estimates, against their 46.12 and
28.07. Arrivals are a Poisson process, at a load at which their on-line Table 3 comes out for EASY.

References:
    D. Zotkin, P. J. Keleher and D. Perkovic, "Attacking the bottlenecks of backfilling schedulers",
    Cluster Computing 3(4), 245-254, 2000, section 3, doi:10.1023/A:1019088401217.
"""

import numpy as np

from bfenv.core.arguments import check_integer
from bfenv.core.durations import MINUTE
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace, make_trace
from bfenv.workloads.arguments import LARGEST_EXACT, MOST_JOBS, MOST_PROCESSORS, check_load

SHORTEST, LONGEST = MINUTE, 240 * MINUTE


def sud(procs: int = 256, jobs: int = 18_415, load: float = 0.78, seed: int = 0) -> Trace:
    """Return jobs of SUD, the synthetic uniform distribution, with exact estimates.

    Runtimes are uniform from 1 to 240 minutes, sizes uniform from 1 to `procs`, and arrivals a
    Poisson process.

    Args:
        procs: Processors of the machine.
        jobs: Number of jobs.
        load: Offered load.
        seed: Random seed.

    Raises:
        WorkloadError: If a value is out of range.
    """
    check_integer("sud: procs", procs, 1, MOST_PROCESSORS, error=WorkloadError)
    check_integer("sud: jobs", jobs, 1, MOST_JOBS, error=WorkloadError)
    check_integer("sud: seed", seed, 0, error=WorkloadError)
    check_load("load", load)
    rng = np.random.default_rng(seed)
    runtime = rng.integers(SHORTEST, LONGEST, jobs, endpoint=True)
    size = rng.integers(1, procs, jobs, endpoint=True)
    moment = np.cumsum(rng.exponential(size=jobs))
    moment -= moment[0]
    span = float(runtime.astype(float) @ size.astype(float)) / (procs * load)
    if not span < LARGEST_EXACT:
        raise WorkloadError(f"sud: load {load:g} would push submit times beyond 2**53 s")
    submit = np.rint(moment * (span / max(moment[-1], 1e-9))).astype(np.int64)
    return make_trace(submit, size, runtime, procs, name="sud")
