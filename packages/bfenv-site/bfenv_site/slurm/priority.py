"""Which job comes first: priority/basic, and priority/multifactor with fair share.

Sources: the pages "Multifactor Priority Plugin", "Classic Fairshare Algorithm" and "Fair Tree
Fairshare Algorithm" of <https://slurm.schedmd.com>, for 22.05.

Under priority/basic, each job has one less than the job submitted before it. Under
priority/multifactor, a job's priority is the sum of weighted factors from 0 to 1, an integer. It is
made again at every whole PriorityCalcPeriod of the trace. From either, Nice is subtracted, which is
the trace's priority with the other sign.

Choices: the shares, which slurm.conf does not have, are equal among the accounts, and among the
users of an account, that have submitted a job so far. Usage decays continuously; Slurm does it in
steps of PriorityCalcPeriod, which changes it by half a step at most. The size of a job is its part
of the processors; Slurm takes the mean of that and of its part of the nodes.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import finished, now, running
from bfenv.core.durations import MINUTE
from bfenv.core.kernel import kernel
from bfenv_site.slurm.conf import Multifactor, Partition

TIER = 2.0**33  # above any priority of Slurm's, which has 32 bits
LOG2 = float(np.log(2.0))

# Indices into Priority.number
(
    IS_ON,
    AGE,
    FAIR_SHARE,
    JOB_SIZE,
    PARTITION,
    MAX_AGE,
    FAVOR_SMALL,
    BY_TIME,
    FROM_SUBMISSION,
    FAIR_TREE,
    HALF_LIFE,
    DAMPING,
    PERIOD,
    PROCESSORS,
) = range(14)  # the fields of Multifactor in their order, and the machine's size
LAST_TICK, LAST_USE = range(2)  # Priority.clock
ACCOUNTS, USERS = range(2)  # Priority.counts


class Priority(NamedTuple):
    """What the priorities depend on. An association is a user of an account."""

    number: np.ndarray  # (14,) float64, see the names above
    tier: np.ndarray  # (p,) int64, of each partition
    factor: np.ndarray  # (p,) float64, of each partition: its PriorityJobFactor over the largest
    clock: np.ndarray  # (2,) int64 seconds: the last calculation, and up to when usage is counted
    counts: np.ndarray  # (2,) int64: accounts and associations that have submitted a job
    account: np.ndarray  # (a,) int64, of each association; -1 before its first job
    usage: np.ndarray  # (a,) float64 processor-seconds of each association, decayed
    account_usage: np.ndarray  # (c,) float64, the same of each account
    account_users: np.ndarray  # (c,) int64 associations that have submitted a job
    share: np.ndarray  # (a,) float64 fair-share factor, from 0 to 1
    line: np.ndarray  # (a,) int64 associations, the best served last, counts[USERS] of them


def new_priority(
    settings: Multifactor, partitions: tuple[Partition, ...], processors: int, users: int
) -> Priority:
    """Return the priorities before the first job, for at most `users` associations."""
    factors = np.array([partition.factor for partition in partitions], dtype=np.float64)
    return Priority(
        number=np.array([*map(float, settings), processors], dtype=np.float64),
        tier=np.array([partition.tier for partition in partitions], dtype=np.int64),
        factor=factors / max(factors.max(), 1.0),
        clock=np.array([-1, 0], dtype=np.int64),
        counts=np.zeros(2, dtype=np.int64),
        account=np.full(users, -1, dtype=np.int64),
        usage=np.zeros(users),
        account_usage=np.zeros(users),
        account_users=np.zeros(users, dtype=np.int64),
        share=np.zeros(users),
        line=np.zeros(users, dtype=np.int64),
    )


@kernel
def meet(priority, association, account):
    """Learn of an association whose job has been submitted, and of its account."""
    if priority.account[association] >= 0:
        return
    priority.account[association] = account
    priority.counts[ACCOUNTS] += priority.account_users[account] == 0
    priority.account_users[account] += 1
    users = priority.counts[USERS]
    priority.line[users] = association
    priority.counts[USERS] += 1
    # Without usage, no other is served worse; Slurm ranks it so at once
    priority.share[association] = 1.0


@kernel
def follow_usage(priority, cluster, jobs, association):
    """Count the usage up to now; return whether the priorities of all jobs are to be made again."""
    number, clock = priority.number, priority.clock
    if number[IS_ON] == 0.0:
        return False
    period = int(number[PERIOD])
    tick = now(cluster) // period * period
    is_due = tick > clock[LAST_TICK]
    clock[LAST_TICK] = tick
    if number[FAIR_SHARE] > 0.0:
        if is_due:
            _use(priority, cluster, jobs, association, tick)
            share_fairly(priority)
        if len(finished(cluster)) > 0:
            _use(priority, cluster, jobs, association, now(cluster))
    return is_due


@kernel
def _use(priority, cluster, jobs, association, time):
    """Count the usage up to `time`, of the jobs that run and of those that ended just now."""
    last, half_life = priority.clock[LAST_USE], priority.number[HALF_LIFE]
    if time <= last:
        return
    if half_life > 0.0:
        kept = 2.0 ** (-(time - last) / half_life)
        for user in range(len(priority.usage)):
            priority.usage[user] *= kept
            priority.account_usage[user] *= kept
    for job in running(cluster):
        _add_use(priority, jobs, association, job, time - max(last, cluster.start[job]))
    for job in finished(cluster):
        _add_use(priority, jobs, association, job, time - max(last, cluster.start[job]))
    priority.clock[LAST_USE] = time


@kernel
def _add_use(priority, jobs, association, job, seconds):
    """Add what a job has used in the last `seconds` before the time of the count."""
    half_life = priority.number[HALF_LIFE]
    if seconds <= 0 or association[job] < 0:  # not of a user, but an outage
        return
    used = float(seconds)
    if half_life > 0.0:
        used = half_life / LOG2 * (1.0 - 2.0 ** (-seconds / half_life))
    priority.usage[association[job]] += used * jobs.size[job]
    priority.account_usage[priority.account[association[job]]] += used * jobs.size[job]


@kernel
def share_fairly(priority):
    """Make the fair-share factors of all associations: by the fair tree, or the classic formula."""
    users = priority.counts[USERS]
    if priority.number[FAIR_TREE] != 0.0:
        for i in range(users):
            user, place = priority.line[i], i
            while place > 0 and is_served_worse(priority, user, priority.line[place - 1]):
                priority.line[place] = priority.line[place - 1]
                place -= 1
            priority.line[place] = user
        for i in range(users):
            user, last = priority.line[i], priority.line[max(i - 1, 0)]
            priority.share[user] = (users - i) / users
            if i > 0 and not is_served_worse(priority, last, user):
                priority.share[user] = priority.share[last]
        return
    total = 0.0
    for account in range(len(priority.account_usage)):
        total += priority.account_usage[account]
    for i in range(users):
        user = priority.line[i]
        account = priority.account[user]
        among = priority.account_users[account]
        usage, all_of_account = priority.usage[user], priority.account_usage[account]
        effective = (usage + (all_of_account - usage) / among) / max(total, 1.0)
        shares = 1.0 / (priority.counts[ACCOUNTS] * among)
        priority.share[user] = 2.0 ** (-effective / shares / priority.number[DAMPING])


@kernel
def is_served_worse(priority, first, second):
    """Tell whether the fair tree has an association before another.

    The account that used less comes first; of accounts that used the same, or of one, the user with
    the smaller part of its account's usage over its part of the account's shares.
    """
    account, other_account = priority.account[first], priority.account[second]
    used, used_by_other = priority.account_usage[account], priority.account_usage[other_account]
    if used != used_by_other:
        return used < used_by_other
    return (
        priority.usage[first] * priority.account_users[account]
        < priority.usage[second] * priority.account_users[other_account]
    )


@kernel
def score_of(priority, jobs, job, partition, association):
    """Return the place of a job in the queue as a number: the lower, the sooner."""
    number = priority.number
    before = -TIER * priority.tier[partition]
    if number[IS_ON] == 0.0:
        return before + (job - jobs.priority[job])
    since = jobs.submit[job]
    if number[FROM_SUBMISSION] == 0.0:
        since = max(since, jobs.requested_start[job])
    age = max(priority.clock[LAST_TICK] - since, 0) / number[MAX_AGE]
    size = jobs.size[job] / number[PROCESSORS]
    if number[BY_TIME] != 0.0:
        size /= max(jobs.estimate[job] // MINUTE, 1)
    if number[FAVOR_SMALL] != 0.0:
        size = 1.0 - size
    total = number[AGE] * min(age, 1.0) + number[JOB_SIZE] * size
    total += number[PARTITION] * priority.factor[partition]
    if number[FAIR_SHARE] > 0.0 and association >= 0:
        total += number[FAIR_SHARE] * priority.share[association]
    return before - max(np.floor(total) + jobs.priority[job], 1.0)
