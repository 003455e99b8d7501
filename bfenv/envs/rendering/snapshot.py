"""Snapshot: what a rendering may show of an environment, as plain numbers and words.

Both renderings read only a Snapshot. It is computed from requests, the clock and expected ends;
true runtimes do not enter it, so no rendering can show them.
"""

from typing import NamedTuple

import numpy as np
from gymnasium.error import ResetNeeded

from bfenv.core.cluster import PROCESSORS, expected_ends, free, now, running, shadow, waiting
from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv.core.jobs import Jobs
from bfenv.envs.handle import EnvHandle

# Durations in seconds that people read at a glance
ROUND_DURATIONS = tuple(
    [1, 2, 5, 10, 15, 30]
    + [count * MINUTE for count in (1, 2, 5, 10, 15, 30)]
    + [count * HOUR for count in (1, 2, 3, 4, 6, 8, 12)]
    + [count * DAY for count in (1, 2, 3, 5, 7, 10, 15, 30, 60, 120, 365)]
)


class Running(NamedTuple):
    """A running job."""

    job: int
    size: int  # processors
    start: int  # seconds
    end: int  # seconds, expected


class Head(NamedTuple):
    """The reservation of the head of the queue, as EASY makes it."""

    job: int
    size: int  # processors
    estimate: int  # seconds
    begin: int  # seconds: the shadow time, or the requested start if that is later
    extra: int  # processors free then beyond its need


class Waiting(NamedTuple):
    """A waiting job in a slot."""

    slot: int
    job: int
    user: str
    size: int  # processors
    estimate: int  # seconds
    wait: int  # seconds
    obstacle: str  # why it may not start; empty if it may
    may_be_head: bool  # it may not start, but be named as the head


class Snapshot(NamedTuple):
    """One decision point."""

    workload: str
    now: int  # seconds
    midnight: int  # seconds: a midnight not after time 0, where days are counted from
    processors: int
    free: int  # processors
    runs: list[Running]  # by expected end
    head: Head | None
    rows: list[Waiting]  # by slot: the first of the queue, and later ones that may start
    window: int
    waiting: int  # jobs
    startable: int  # jobs that may start now
    heads: int  # others that may become the head
    episode: int  # jobs of the episode
    started: int  # of them
    illegal: int  # actions
    forced: int  # starts


def take_snapshot(env: EnvHandle, rows: int) -> Snapshot:
    """Take what there is to show of an environment, with at most `rows` rows of the queue.

    Raises ResetNeeded before the first `reset`.
    """
    if env.pass_id[0] == 0:
        raise ResetNeeded("call env.reset() before env.render()")
    cluster, jobs = env.cluster, env.jobs
    mask = env.action_masks()[: env.window]
    starts = mask & env.startable()  # the other legal actions name a head
    runs = running(cluster)
    columns = (runs, jobs.size[runs], cluster.start[runs], expected_ends(cluster))
    head = None
    if env.head >= 0:
        parts = jobs.size[env.head], jobs.estimate[env.head], *shadow(cluster, jobs, env.head)
        head = Head(env.head, *map(int, parts))
    # At least half of the rows are from the front of the queue, at most half are starts.
    chosen = np.flatnonzero(starts)[: rows // 2].tolist()
    first = range(min(len(mask), len(waiting(cluster))))
    slots = sorted(list(dict.fromkeys([*chosen, *first]))[:rows])
    return Snapshot(
        workload=env.trace.name,
        now=int(now(cluster)),
        midnight=-env.trace.time_of_day,
        processors=int(cluster.state[PROCESSORS]),
        free=int(free(cluster)),
        runs=[Running(*run) for run in zip(*(part.tolist() for part in columns), strict=True)],
        head=head,
        rows=[_row(env, slot, bool(starts[slot]), bool(mask[slot])) for slot in slots],
        window=env.window,
        waiting=len(waiting(cluster)),
        startable=int(starts.sum()),
        heads=int(mask.sum() - starts.sum()),
        episode=len(env.episode_jobs),
        started=len(env.episode_jobs) - env.unstarted,
        illegal=env.illegal_actions,
        forced=env.forced_starts,
    )


def horizon(jobs: Jobs) -> int:
    """Return how many seconds ahead to show: four of five running jobs are no longer than that.

    The longer a job, the likelier it is to be running at a random time, hence the weights. `jobs`
    has a placeholder of a second for each job to come.
    """
    longest_last = np.sort(jobs.estimate)
    share = np.cumsum(longest_last, dtype=np.float64)
    return round_up(int(longest_last[np.searchsorted(share, 0.8 * share[-1])]))


def round_up(seconds: float) -> int:
    """Return the next round duration."""
    return next((length for length in ROUND_DURATIONS if length >= seconds), int(seconds))


def span(seconds: int) -> str:
    """Write a duration in its two largest units: 12s, 4m 30s, 18h, 3d 04h."""
    for unit, letter, part, small in (
        (DAY, "d", HOUR, "h"),
        (HOUR, "h", MINUTE, "m"),
        (MINUTE, "m", 1, "s"),
    ):
        if seconds >= unit:
            remainder = seconds % unit // part
            return (
                f"{seconds // unit}{letter} {remainder:02}{small}"
                if remainder
                else f"{seconds // unit}{letter}"
            )
    return f"{seconds}s"


def day(snapshot: Snapshot, time: int) -> str:
    """Return the day of an instant, counted from 1."""
    return f"day {(time - snapshot.midnight) // DAY + 1}"


def clock(snapshot: Snapshot, time: int) -> str:
    """Return the time of day of an instant, hh:mm:ss."""
    second = (time - snapshot.midnight) % DAY
    return f"{second // HOUR:02}:{second // MINUTE % 60:02}:{second % 60:02}"


def _row(env: EnvHandle, slot: int, starts: bool, legal: bool) -> Waiting:
    cluster, jobs, over = env.cluster, env.jobs, env.unstarted == 0
    job = int(env.slots[slot])
    starts_in = int(jobs.requested_start[job] - now(cluster))
    if starts:
        obstacle = ""
    elif over:
        obstacle = "episode over"
    elif starts_in > 0:
        obstacle = f"requested start in {span(starts_in)}"
    elif jobs.size[job] > free(cluster):
        obstacle = "too large now"
    else:
        obstacle = "would delay a reservation"
    user = str(jobs.user[job]) if jobs.user[job] >= 0 else "-"
    wait = int(now(cluster) - jobs.submit[job])
    size, estimate, may_be_head = int(jobs.size[job]), int(jobs.estimate[job]), legal and not starts
    return Waiting(slot, job, user, size, estimate, wait, obstacle, may_be_head)
