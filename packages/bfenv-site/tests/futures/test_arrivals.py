"""Arrivals: whole earlier days, at the same hour of the same weekday."""

import numpy as np

from bfenv.core.durations import DAY, HOUR
from bfenv_site.futures.arrivals import sample_arrivals


def table(submit):
    requests = np.ones((7, len(submit)), dtype=np.int64)
    requests[0] = submit
    return requests


def drawn(submit, time, days, futures=200):
    count = len(submit)
    none = np.zeros(count, dtype=np.int64)
    generator = np.random.default_rng(0)
    return sample_arrivals(table(submit), none, none - 1, time, days, generator, futures)


def test_same_weekday():
    """What arrives in a day arrived whole weeks earlier, and recent weeks are drawn more often."""
    submit = np.arange(0, 60 * DAY, HOUR)
    time = int(submit[-1]) + 5
    arrivals = drawn(submit, time, 3)
    assert (arrivals.shift % (7 * DAY) == 0).all() and (arrivals.shift > 0).all()
    begin = submit[arrivals.first] + arrivals.shift
    for day in range(3):
        begins = begin[:, day]
        assert (begins > time + day * DAY).all() and (begins <= time + day * DAY + HOUR).all()
    assert ((arrivals.last - arrivals.first) == 24).all() and arrivals.most == 72
    assert np.sum(arrivals.shift[:, 0] == 7 * DAY) > np.sum(arrivals.shift[:, 0] == 49 * DAY)


def test_nothing_later_arrives():
    """All jobs that are copied have been submitted by now."""
    submit = np.arange(0, 10 * DAY, HOUR)
    time = int(submit[-1])
    arrivals = drawn(submit, time, 5)
    assert arrivals.last.max() <= len(submit)
    assert (
        submit[np.maximum(arrivals.first, arrivals.last - 1)][arrivals.last > arrivals.first]
        <= time
    ).all()


def test_little_history():
    """With less than a week any day will do, and with less than a day no job is expected."""
    submit = np.arange(0, 3 * DAY + 10, HOUR)
    arrivals = drawn(submit, int(submit[-1]), 2)
    assert set(np.unique(arrivals.shift[:, 0] // DAY)) == {1, 2, 3}
    assert drawn(submit[:20], int(submit[19]), 2).most == 0
