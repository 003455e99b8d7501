"""The distribution of a job's runtime, by rejection: sample without the condition until it holds.

Ended jobs are kept in plain lists of (user, estimate, runtime), in the order of their ends.
"""

import random
from fractions import Fraction


def levels(ended, user, estimate):
    """The jobs that count, level by level, the most similar ones first."""
    of_user = [job for job in ended if job[0] == user] if user >= 0 else []
    same = [job for job in of_user if job[1] == estimate]
    return [same[-8:], of_user[-32:], ended[-256:]]


def unconditional(ended, user, estimate):
    """One runtime of a new job, in seconds, and the level that it is from; 3 is the prior."""
    for level, jobs in enumerate(levels(ended, user, estimate)):
        if random.random() * (len(jobs) + 4) < len(jobs):
            _, other_estimate, runtime = random.choice(jobs)
            share = runtime / other_estimate
            return min(estimate, max(1, int(share * estimate + 0.5))), level
    return random.randint(1, estimate), 3


def sample(ended, user, estimate, known):
    """One runtime of a job that has run for `known` seconds without ending."""
    while True:
        runtime, _ = unconditional(ended, user, estimate)
        if runtime > known:
            return runtime


def distribution(ended, user, estimate, known):
    """The exact probability of each runtime, by adding up all ways in which it can be sampled."""
    chances, chance = dict.fromkeys(range(1, estimate + 1), Fraction(0)), Fraction(1)
    for jobs in levels(ended, user, estimate):
        for _, other_estimate, runtime in jobs:
            scaled = min(estimate, max(1, int(runtime / other_estimate * estimate + 0.5)))
            chances[scaled] += chance / (len(jobs) + 4)
        chance *= Fraction(4, len(jobs) + 4)
    for runtime in chances:
        chances[runtime] += chance / estimate
    possible = {runtime: p for runtime, p in chances.items() if runtime > known}
    return {runtime: p / sum(possible.values()) for runtime, p in possible.items()}
