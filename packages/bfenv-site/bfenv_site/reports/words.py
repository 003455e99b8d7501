"""The verdict on a site's candidates in sentences, in hours and days."""

import shlex
from collections.abc import Sequence

from bfenv.analysis.formatting import duration, durations
from bfenv.analysis.intervals import Interval
from bfenv.baselines.registry import find_competitor
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.core.partitions import UNNAMED, Partitions, names_of_partitions, partitions_of
from bfenv.core.text import counted, listed
from bfenv.workloads.logs.cleaning import left_out_text
from bfenv.workloads.logs.header import date_at
from bfenv.workloads.logs.outages import find_outages
from bfenv_site.reports.comparison import Finding, SiteComparison

REPEATS = {"good": "well", "fair": "fairly", "poor": "poorly"}  # the log
NEARLY_TWICE = 1.95  # times the logged wait, from which on it is not a percentage
EXPLAINED = {
    "good": "so its forecasts can be trusted as far as the log goes",
    "fair": "so its forecasts show the direction rather than the amount",
    "poor": "so read its numbers as differences on a simpler machine, not as forecasts of yours",
}


def sentences(comparison: SiteComparison) -> list[str]:
    """Return the verdict: what the best candidate would do, for whom, and how far to believe it."""
    texts = [_period(comparison)]
    best = comparison.best
    if not comparison.has_verdict:
        texts.append(_no_verdict(comparison))
    elif best is None:
        candidates = counted(len(comparison.findings), "candidate")
        texts.append(
            f"Of {candidates}, none that Slurm can follow and that starves no job has a shorter "
            f"mean wait than {comparison.today.policy}, {_wait(comparison)}."
        )
        texts += _starving(comparison)
    else:
        texts += [_mean(comparison, best), _longest(comparison, best), _users(best)]
        texts.append(_slurm(comparison, best))
    texts += alarms(comparison)
    if comparison.logged is not None:
        texts.append(reality(comparison))
    texts += _standstill(comparison.today.trace)
    if mixed := _partitions(comparison):
        texts.append(mixed)
    elif comparison.closest is not None:
        policy, word = comparison.closest
        texts.append(
            f"{policy} repeats your log {REPEATS[word]}, better than {comparison.today.policy}. "
            "If it is closer to your site's policy, compare with it: "
            f"--today {shlex.quote(policy)}."
        )
    return texts


def _no_verdict(comparison: SiteComparison) -> str:
    """Say that no verdict can be given, and why."""
    today, reasons = comparison.today.policy, []
    if comparison.is_misfit and comparison.logged is not None:
        real = float(comparison.logged.wait.mean())
        reasons.append(
            f"the simulation of {today} has a mean wait of {_wait(comparison)}, and your log has "
            f"{_wait(comparison, real)}"
        )
    if comparison.is_behind_fcfs:
        reasons.append(
            f"FCFS, which backfills nothing, has a shorter mean wait than {today} in the simulation"
        )
    return (
        f"No verdict can be given: {', and '.join(reasons)}. The model of today's machine or "
        "policy misses what decides your waits, so the figures below are no forecast."
    )


def alarms(comparison: SiteComparison) -> list[str]:
    """Say what is wrong with the simulation of today's policy, beside its mean wait."""
    if not comparison.starves_today or comparison.logged is None:
        return []
    waits = int(comparison.today.wait.max()), int(comparison.logged.wait.max())
    longest, logged_longest = (_wait(comparison, wait) for wait in waits)
    return [
        f"The simulation of {comparison.today.policy} starves jobs that your site did not: its "
        f"longest wait is {longest}, and the longest wait in your log is {logged_longest}."
    ]


def in_words(policy: str) -> str:
    """Return what a policy does; its name if it is not known here."""
    try:
        return find_competitor(policy).summary
    except BfenvError:
        return policy


def less_or_more(interval: Interval, like: Sequence[float] | None = None) -> str:
    """Write the ends of an interval of differences, like "10 min to 50 min less".

    Both ends have the same unit. `like` are durations whose unit they take.
    """
    low, high = interval.low, interval.high
    if not low <= high:  # there is no interval
        return "with no interval: there are too few jobs"
    if low == high == 0:
        return "95 %: no difference"
    lower, upper = durations((abs(low), abs(high)), like)
    if high < 0:
        return f"95 %: {upper} to {lower} less"
    if low > 0:
        return f"95 %: {lower} to {upper} more"
    return f"95 %: from {lower} less to {upper} more, which may be chance"


def _wait(comparison: SiteComparison, seconds: float | None = None) -> str:
    """Write a wait in the page's unit, by default today's mean."""
    wait = float(comparison.today.wait.mean()) if seconds is None else seconds
    return durations([wait], [comparison.typical])[0]


def _period(comparison: SiteComparison) -> str:
    trace = comparison.today.trace
    last = int(trace.jobs.submit[-1])
    begin, end = date_at(trace, 0), date_at(trace, last)
    if begin is None or end is None:
        period = f"over {duration(last)}"
    else:
        period = f"from {begin:%Y-%m-%d} to {end:%Y-%m-%d} ({begin.tzinfo})"
    machines, shared = partitions_of(trace)
    spare = trace.processors - sum(machine.processors for machine in machines)
    unused = ""
    if machines and not shared and spare:
        unused = f", {spare:,} of which {'is' if spare == 1 else 'are'} in no partition"
    left_out = left_out_text(trace.cleaning)
    return (
        f"{comparison.workload}: {counted(len(trace), 'job')} {period} "
        f"on {counted(trace.processors, 'processor')}{unused}{left_out and '; '}{left_out}."
    )


def _mean(comparison: SiteComparison, best: Finding) -> str:
    today, then = _wait(comparison), _wait(comparison, best.mean_wait)
    jobs = counted(len(comparison.today.trace), "job")
    return (
        f"On your {jobs}, {best.policy} ({in_words(best.policy)}) "
        f"would cut the mean wait of {comparison.today.policy} from {today} to {then} "
        f"({less_or_more(best.change, [comparison.typical])})."
    )


def _starving(comparison: SiteComparison) -> list[str]:
    """Tell at which price a candidate would have a shorter mean wait."""
    starving = [
        finding for finding in comparison.findings if finding.starves and finding.change.value < 0
    ]
    if not starving:
        return []
    finding = starving[0]
    longest = float(comparison.today.wait.max()), float(finding.longest_wait)
    mean, before, then = (_wait(comparison, wait) for wait in (finding.mean_wait, *longest))
    return [
        f"{finding.policy} would cut it to {mean}, but it starves jobs: the longest wait grows "
        f"from {before} to {then}."
    ]


def _longest(comparison: SiteComparison, best: Finding) -> str:
    today = int(comparison.today.wait.max())
    if today == best.longest_wait:
        return f"The longest wait stays at {_wait(comparison, today)}."
    verb = "grows" if best.longest_wait > today else "falls"
    before, then = _wait(comparison, today), _wait(comparison, best.longest_wait)
    return f"The longest wait {verb} from {before} to {then}."


def _users(best: Finding) -> str:
    if not best.users_less and not best.users_more:
        return "No user's mean wait changes by more than a minute, or users are not known."
    less, more = best.users_less, best.users_more
    return (
        f"On average, {counted(less, 'user', 'users')} would wait over a minute less, {more:,} "
        "over a minute more."
    )


def _slurm(comparison: SiteComparison, best: Finding) -> str:
    if best.slurm.answer == "yes":
        return f"Slurm can do this: {best.slurm.explanation}."
    text = f"Slurm needs a plugin for this: {best.slurm.explanation}."
    settings = [finding for finding in comparison.findings if finding.slurm.answer == "yes"]
    able = (finding for finding in settings if not finding.starves and finding.change.value < 0)
    if (alternative := next(able, None)) is not None:
        text += (
            f" Without a plugin: {alternative.policy}, {_wait(comparison, alternative.mean_wait)}."
        )
    return text


def _standstill(trace: Trace) -> list[str]:
    """Tell of times at which the logged machine stood still, if no outages are simulated."""
    outages = () if trace.outages else find_outages(trace)
    if not outages:
        return []
    total = duration(sum(outage.end - outage.begin for outage in outages))
    times = "Once" if len(outages) == 1 else f"{len(outages):,} times"
    return [
        f"{times}, {total} in all, nothing ran on your machine although jobs waited; the "
        "simulation knows of no outage. Give your maintenance with bfenv workloads import "
        "--outages FILE, or compare with :outages=find after the name of the log."
    ]


def _partitions(comparison: SiteComparison) -> str:
    """Say that partitions are simulated as one machine, as their sizes are unknown; "" if not."""
    trace = comparison.today.trace
    names = [name for name in names_of_partitions(trace).values() if name != UNNAMED]
    if len(names) < 2 or partitions_of(trace) != Partitions():
        return ""
    sizes = ",".join(f"{name}=N" for name in names[:2])
    return (
        f"The log has {len(names)} partitions ({listed(names)}), which share one machine in this "
        "simulation. If they have nodes of their own, give their processors, and compare again: "
        f"add :partitions='{sizes}{',...' if len(names) > 2 else ''}' to the name of the log."
    )


def reality(comparison: SiteComparison) -> str:
    """Say how well the simulation of today's policy repeats the log; "" if there is none."""
    if comparison.logged is None:
        return ""
    real, today = comparison.logged.wait.mean(), comparison.today.wait.mean()
    if real == 0:
        clause = f"in the simulation it is {_wait(comparison)}"
    elif today < NEARLY_TWICE * real:
        clause = f"the simulation of {comparison.today.policy} gives {today / real:.0%} of it"
        clause = clause.replace("%", " %")
    else:
        clause = (
            f"the simulation of {comparison.today.policy} gives {today / real:.1f} times as much"
        )
    word = comparison.verdict
    return (
        f"In reality the mean wait was {_wait(comparison, float(real))}: {clause}. It repeats your "
        f"log {REPEATS[word]}, {EXPLAINED[word]}."
    )
