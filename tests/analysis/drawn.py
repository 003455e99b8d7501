"""Two schedules small enough to be checked with a pencil."""

import numpy as np

import bfenv

TRYING = "easy-speculative(speculation=2, tried_above=3)"  # tries small jobs, too


def drawn(trace, start, trials=None):
    """A Schedule from the starts of its jobs, and {job: (start, end)} of trials."""
    start = np.array(start, dtype=np.int64)
    trial = np.full((2, len(start)), -1, dtype=np.int64)
    for job, times in (trials or {}).items():
        trial[:, job] = times
    return bfenv.Schedule(trace, "drawn", 0, start, start + trace.runtime, *trial).check()


#  P
#  4 |  221111133333333333333333333   job 2 passes job 1, which is promised 5 and starts at 4,
#  3 |000011111                       as job 0 is done before its estimate
#  2 |000011111
#  1 |000011111
#    +-----------------------------> t
DRAWN = drawn(
    bfenv.make_trace(
        [0, 1, 2, 2], [3, 4, 1, 1], [4, 5, 2, 20], 4, estimate=[5, 5, 2, 20], user=[0, 1, 1, -1]
    ),
    [0, 4, 2, 9],
)

#  P
#  3 |  111      job 0 is tried from 0 to 2 and killed, job 1 gets the machine,
#  2 |00111 ...
#  1 |00111 ...  then job 0 starts at 5
#    +---------> t
TRIED = drawn(bfenv.make_trace([0, 1], [2, 3], [4, 3], 3, estimate=[4, 3]), [5, 2], {0: (0, 2)})

# Four processors. Job 0 holds three until 10, job 1 wants all four and waits, job 2 fits beside
# job 0 and is backfilled, job 3 starts after job 1.
FOUR = bfenv.make_trace([0, 1, 2, 3], [3, 4, 1, 2], [10, 5, 4, 6], 4)
