"""What a scheduler may know of a waiting job, recomputed from the list of ended jobs each time."""

import math
from math import inf


def harmonic_mean(values):
    """Sum reciprocals in order: an exact sum would break ties between users differently."""
    inverse = 0.0
    for value in values:
        inverse += 1.0 / value
    return len(values) / inverse


def recent(runtimes):
    """Logarithm of the recent runtime; the last of the values counts most."""
    log = math.log(runtimes[0])
    for runtime in runtimes[1:]:
        log = 0.7 * log + 0.3 * math.log(runtime)
    return log


def likely(me, mine):
    """Likely runtime; mine: (requests, runtime) of the user's ended jobs."""
    log = math.log(me["estimate"])
    alike = [runtime for other, runtime in mine if other["estimate"] == me["estimate"]]
    for runtimes in ([runtime for _, runtime in mine], alike):
        if runtimes:
            log = (log + recent(runtimes)) / 2
    return math.exp(log)


def quantities(job, now, jobs, processors, ended, queued, running, tried, age_limit=inf):
    """All quantities of one waiting job by name.

    jobs: dicts of requests by index; processors: of the machine; ended: (job, runtime) in the
    order of their ends; queued and running: the indices of such jobs; tried: the indices of the
    jobs that have had a trial; age_limit: of the guard, in seconds.
    """
    me = jobs[job]
    mine = [(jobs[other], runtime) for other, runtime in ended if jobs[other]["user"] == me["user"]]
    if me["user"] < 0:
        mine = []
    runtimes = [runtime for _, runtime in mine]

    def mean(values):
        return sum(values) / len(values) if values else me["estimate"]

    free = processors - sum(jobs[other]["size"] for other in running)
    wait = now - me["submit"]
    prediction = me["estimate"]
    if len(runtimes) > 1:
        prediction = min(me["estimate"], (runtimes[-1] + runtimes[-2]) / 2)
    return {
        "submit": me["submit"],
        "size": me["size"],
        "estimate": me["estimate"],
        "priority": me["priority"],
        "processors": processors,
        "wait": wait,
        "expansion": (wait + me["estimate"]) / me["estimate"],
        "prediction": prediction,
        "predicted_expansion": (wait + prediction) / prediction,
        "user_runtime": harmonic_mean(runtimes) if runtimes else me["estimate"],
        "same_estimate_runtime": mean([r for o, r in mine if o["estimate"] == me["estimate"]]),
        "same_size_runtime": mean([r for o, r in mine if o["size"] == me["size"]]),
        "last_runtime": runtimes[-1] if runtimes else me["estimate"],
        "previous_runtime": runtimes[-2] if len(runtimes) > 1 else me["estimate"],
        "likely_runtime": likely(me, mine),
        "accuracy": sum(r / o["estimate"] for o, r in mine) / len(mine) if mine else 1.0,
        "user_queued": sum(o == job or jobs[o]["user"] == me["user"] >= 0 for o in queued),
        "user_running": sum(jobs[o]["user"] == me["user"] >= 0 for o in running),
        "user_ended": len(runtimes),
        "tried": float(job in tried),
        "age_limit": max(1, int(min(age_limit, 2**63 - 1))),
        "free": free,
        "fits": float(me["size"] <= free),
        "backlog": sum(jobs[o]["size"] * jobs[o]["estimate"] for o in queued) / processors,
        "random": 0.0,  # none are drawn
    }
