"""Jobs to come, sampled from a log's own earlier days at this hour and weekday.

What arrives in each of the next days is what arrived in one earlier day, which began at the same
hour of the same weekday; a recent week is more likely than an old one. Days are drawn one by one:
this is a block bootstrap (Künsch 1989) with blocks of a day. Jobs keep their requests, and their
runtimes where these are known, so that what belongs together in a job stays together. With less
than a week of history any earlier day will do, and with less than a day no job is expected.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.durations import DAY

WEEK = 7  # days
HALF_LIFE = 8  # weeks after which a day is half as likely to be drawn


class Arrivals(NamedTuple):
    """The blocks of jobs that arrive in each of F futures, in D days each."""

    requests: np.ndarray  # (7, m) int64, of the jobs submitted so far, see `Trace.requests`
    runtime: np.ndarray  # (m,) int64 seconds, of those that have ended; 0 for others
    place: np.ndarray  # (m,) int64 place of the others among the jobs of the machine; -1 if ended
    first: np.ndarray  # (F, D) int64 first job of each block
    last: np.ndarray  # (F, D) int64 one past its last job
    shift: np.ndarray  # (F, D) int64 seconds by which its jobs arrive later than they did

    @property
    def most(self) -> int:
        """How many jobs arrive in one future at most."""
        return int((self.last - self.first).sum(axis=1).max(initial=0))


def sample_arrivals(
    requests: np.ndarray,
    runtime: np.ndarray,
    place: np.ndarray,
    time: int,
    days: int,
    generator: np.random.Generator,
    futures: int = 1,
) -> Arrivals:
    """Draw the earlier days whose jobs arrive again.

    Args:
        requests, runtime, place: The jobs submitted so far, as in Arrivals; at least one.
        time: Now, in seconds. No job of a future arrives before or at this time.
        days: How many days jobs arrive for.
        generator: Random numbers.
        futures: How many futures.
    """
    submit = requests[0]
    past = (time - int(submit[0])) / DAY
    first = np.zeros((futures, days), dtype=np.int64)
    last, shift = first.copy(), first.copy()
    for day in range(days):
        back = np.arange(day + 1, int(past) + day + 1)  # what is copied lies between the first
        back = back[(back - day) <= past]  # job and now
        same = back[back % WEEK == 0]
        if len(chosen := same if len(same) else back) == 0:
            break
        weight = 0.5 ** (chosen / (WEEK * HALF_LIFE))
        shift[:, day] = DAY * generator.choice(chosen, size=futures, p=weight / weight.sum())
        begin = time + day * DAY - shift[:, day]
        first[:, day] = np.searchsorted(submit, begin, side="right")
        last[:, day] = np.searchsorted(submit, begin + DAY, side="right")
    return Arrivals(requests, runtime, place, first, last, shift)
