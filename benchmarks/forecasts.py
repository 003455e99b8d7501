"""How fast futures answer when the waiting jobs of a queue will start."""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.measurements import Measurement, measurement
from bfenv.core.jobs import Trace, make_trace
from bfenv.workloads.load import load_workload

HISTORY = 2000  # jobs before the queue
QUEUES, FUTURES = (125, 250, 500, 1000), (250, 500, 1000, 2000)
USUAL = 500, 1000  # jobs in the queue, and futures
POLICIES = "easy", "conservative-replan"


def measure_forecasts(repeat: int) -> Iterator[Measurement]:
    """Measure forecasts for all jobs of a queue, without a correction, on all cores."""
    from bfenv_site.forecasts.forecast import forecaster_at

    for policy in POLICIES:
        cases = {(queue, USUAL[1]) for queue in QUEUES} | {(USUAL[0], count) for count in FUTURES}
        if policy != POLICIES[0]:
            cases = {USUAL}
        for queue, futures in sorted(cases):
            trace = _long_queue(queue)
            forecaster = forecaster_at(trace, policy=policy, futures=futures, past=0)
            times = []
            for i in range(1 + repeat):  # the first compiles
                begin = time.perf_counter()
                forecaster.waiting()
                if i:
                    times.append(time.perf_counter() - begin)
            case = f"{queue:,} jobs in the queue, {futures:,} futures"
            yield measurement("forecasts", case, policy, queue, times)


def _long_queue(queue: int) -> Trace:
    """Return a month of jobs, after which many are submitted at once."""
    before = load_workload(f"lublin:jobs={HISTORY},load=0.7")
    burst = load_workload(f"lublin:jobs={queue},seed=1")
    last = before.jobs.submit[-1]
    return make_trace(
        np.append(before.jobs.submit, np.full(queue, last)),
        np.append(before.jobs.size, burst.jobs.size),
        np.append(before.runtime, burst.runtime),
        before.processors,
        estimate=np.append(before.jobs.estimate, burst.jobs.estimate),
    )
