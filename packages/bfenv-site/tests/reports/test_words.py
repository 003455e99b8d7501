"""Every number of the verdict, computed again from the starts of the jobs alone."""

import math
import re
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

import bfenv
from bfenv.analysis.intervals import Interval
from bfenv.analysis.logged import logged_schedule
from bfenv.core.jobs import PARTITION
from bfenv.core.schedule import Schedule
from bfenv_site.reports.comparison import compare_site
from bfenv_site.reports.opening import verdict
from bfenv_site.reports.words import less_or_more, sentences
from tests.linked_jobs import partitioned

CANDIDATES = ("easy-sqf", "easy-lxf", "easy-sjf", "conservative-replan")


def load(path):
    """The trace of a log, all of whose jobs are in one partition."""
    trace = bfenv.load_workload(str(path))
    records = trace.records.copy()
    records[:, PARTITION] = 1
    return replace(trace, records=records)


def short(seconds, comparison):
    """A duration as the page writes it: all are in the unit of the geometric mean of the waits."""
    schedules = [comparison.today, *(finding.schedule for finding in comparison.findings)]
    values = [
        value
        for schedule in schedules
        for value in (schedule.wait.mean(), schedule.wait.max())
        if value > 0
    ]
    typical = math.prod(value ** (1 / len(values)) for value in values)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if typical >= 2 * length:
            value = seconds / length
            digits = 0 if unit == "s" or value >= 100 else 2 if value < 0.95 else 1
            return f"{value:,.{digits}f} {unit}"
    return "0 s"


@pytest.fixture(scope="module")
def compared(backfilling_site):
    trace = load(backfilling_site)
    schedules = {name: bfenv.simulate(trace, name) for name in ("easy", *CANDIDATES)}
    candidates = [schedules[name] for name in CANDIDATES]
    return compare_site(schedules["easy"], candidates, logged_schedule(trace)), schedules, trace


def waits(schedule):
    submit = schedule.trace.jobs.submit.tolist()
    return [start - time for start, time in zip(schedule.start.tolist(), submit, strict=True)]


def best_of(schedules):
    """The least mean wait among those whose longest is at most twice EASY's."""
    longest = max(waits(schedules["easy"]))
    able = {
        name: sum(waits(schedules[name])) / len(waits(schedules[name]))
        for name in CANDIDATES
        if max(waits(schedules[name])) <= 2 * longest
    }
    return min(able, key=able.get)


def test_period(compared):
    """The first sentence has the dates of the first and the last submission."""
    comparison, _, trace = compared
    origin = 1_767_225_600
    first, last = (
        datetime.fromtimestamp(origin + seconds, UTC).date()
        for seconds in (int(trace.records[0, 1]), int(trace.records[-1, 1]))
    )
    text = f"site: 400 jobs from {first} to {last} (UTC) on 64 processors."
    assert sentences(comparison)[0] == text


@pytest.mark.parametrize(
    ("sizes", "machine"),
    [
        ("cpu=3,gpu=1", "4 processors"),
        ("cpu=2,gpu=1", "4 processors, 1 of which is in no partition"),
        ("cpu=2,gpu&cpu", "4 processors"),
    ],
)
def test_processors_in_no_partition(sizes, machine):
    """Processors in no partition are counted, unless partitions share nodes."""
    trace = partitioned(bfenv.make_trace([0, 1], [1, 1], [9, 9], 4), [1, 2], sizes, 4)
    starts = trace.jobs.submit
    today = Schedule(trace, "easy", 0, starts, starts + 9, starts - 9, starts - 9)
    assert sentences(compare_site(today, []))[0].endswith(f" on {machine}.")


def test_period_without_dates(site, tmp_path):
    """Without dates there is a duration, and jobs that the trace lacks are counted."""
    lines = site.read_text().splitlines()
    path = tmp_path / "few.swf"
    path.write_text("\n".join(line for line in lines if "UnixStartTime" not in line) + "\n")
    today = bfenv.simulate(bfenv.load_workload(f"{path}:processors=1"), "easy")
    dropped = 400 - len(today.trace)
    assert dropped > 1
    text = sentences(compare_site(today, [], None))[0]
    assert re.fullmatch(
        rf"few: {len(today.trace)} jobs over [0-9.]+ (h|d) on 1 processor; {dropped} jobs of the "
        r"whole log are left out \(larger than the machine\)\.",
        text,
    )


def test_mean(compared):
    """The mean waits are sums over jobs, the interval that of 20 batch means."""
    comparison, schedules, _ = compared
    name = best_of(schedules)
    waits_then, usual = np.array(waits(schedules[name])), np.array(waits(schedules["easy"]))
    batches = (waits_then - usual).reshape(20, -1).mean(axis=1)
    half = 2.093024 * batches.std(ddof=1) / 20**0.5  # Student's t, 19 degrees of freedom
    low, high = batches.mean() - half, batches.mean() + half
    if high < 0:
        reach = f"95 %: {short(-high, comparison)} to {short(-low, comparison)} less"
    else:
        assert low <= 0
        reach = (
            f"95 %: from {short(-low, comparison)} less to {short(high, comparison)} more, "
            "which may be chance"
        )
    before, then = usual.mean(), waits_then.mean()
    words = bfenv.find_policy(name).summary
    expected = (
        f"On your 400 jobs, {name} ({words}) would cut the mean wait of easy "
        f"from {short(before, comparison)} to {short(then, comparison)} ({reach})."
    )
    assert sentences(comparison)[1] == expected


def test_longest(compared):
    """The longest waits are those of single jobs."""
    comparison, schedules, _ = compared
    waits_then, usual = max(waits(schedules[best_of(schedules)])), max(waits(schedules["easy"]))
    verb = "grows" if waits_then > usual else "falls"
    before, then = short(usual, comparison), short(waits_then, comparison)
    expected = f"The longest wait {verb} from {before} to {then}."
    assert sentences(comparison)[2] == expected


def test_users(compared):
    """A user counts whose mean wait changes by over a minute."""
    comparison, schedules, trace = compared
    waits_then, usual = waits(schedules[best_of(schedules)]), waits(schedules["easy"])
    changes = {}
    for user, a, b in zip(trace.jobs.user.tolist(), waits_then, usual, strict=True):
        changes.setdefault(user, []).append(a - b)
    changes.pop(-1, None)
    means = [sum(part) / len(part) for part in changes.values()]
    less, more = sum(mean < -60 for mean in means), sum(mean > 60 for mean in means)
    text = sentences(comparison)[3]
    if less or more:
        assert [int(number) for number in re.findall(r"\d+", text)][:2] == [less, more]
    else:
        assert text.startswith("No user's mean wait")


def test_reality(compared):
    """A sentence has the logged mean, the share explained, and the verdict."""
    comparison, schedules, trace = compared
    real = float(np.mean([float(line[2]) for line in trace.records]))
    share = f"{np.mean(waits(schedules['easy'])) / real:.0%}".replace("%", " %")
    text = next(text for text in sentences(comparison) if text.startswith("In reality"))
    begin = f"In reality the mean wait was {short(real, comparison)}: the simulation of easy gives"
    assert text.startswith(f"{begin} {share} of it")
    word = {"good": "well", "fair": "fairly", "poor": "poorly"}[comparison.verdict]
    assert f"It repeats your log {word}, " in text


def test_no_better(compared):
    """Where no candidate waits less, the verdict says so and promises nothing."""
    _, schedules, _ = compared
    comparison = compare_site(schedules["easy"], [schedules["easy"]])
    texts = sentences(comparison)
    assert comparison.best is None
    assert len(texts) == 2
    assert texts[1].startswith("Of 1 candidate, none that Slurm can follow")


def test_only_starving(compared):
    """If only policies that starve jobs have a shorter mean wait, their price is told."""
    _, schedules, trace = compared
    easy, candidate = schedules["easy"], schedules["easy-sjf"]
    wait = np.zeros(len(trace), dtype=np.int64)
    wait[-1] = 3 * max(waits(easy))
    starving = replace(candidate, start=trace.jobs.submit + wait)
    comparison = compare_site(easy, [starving])
    usual, longest = max(waits(easy)), max(waits(starving))
    mean = np.mean(waits(starving))
    assert sentences(comparison)[2] == (
        f"easy-sjf would cut it to {short(mean, comparison)}, but it starves jobs: the "
        f"longest wait grows from {short(usual, comparison)} to {short(longest, comparison)}."
    )


def test_plugin(compared):
    """Beside a plugin stands the best candidate that needs none."""
    _, schedules, trace = compared
    today, candidate = bfenv.simulate(trace, "fcfs"), bfenv.simulate(trace, "easy-lxf")
    comparison = compare_site(today, [schedules["easy"], candidate])
    (text,) = (
        sentence
        for sentence in sentences(comparison)
        if sentence.startswith("Slurm needs a plugin")
    )
    wait = short(np.mean(waits(schedules["easy"])), comparison)
    assert text.endswith(f" Without a plugin: easy, {wait}.")
    texts = sentences(compare_site(schedules["easy"], [schedules["easy-sqf"], candidate]))
    assert not any("plugin" in text for text in texts)


def test_standstill(tmp_path):
    """Times at which the logged machine stood still are told, unless outages are simulated."""
    lines = ["; MaxProcs: 4", "; UnixStartTime: 1767268800"]
    for job, wait in enumerate([0, *(7_300 - job for job in range(1, 7))]):
        lines.append(f"{job + 1} {job} {wait} 100 1 -1 -1 1 200 -1 1 {job} 1 -1 1 1 -1 -1")
    path = tmp_path / "still.swf"
    path.write_text("\n".join(lines) + "\n")
    for options, count in (("", 1), (":outages=find", 0)):
        trace = bfenv.load_workload(f"{path}{options}")
        texts = sentences(compare_site(bfenv.simulate(trace, "easy"), [], logged_schedule(trace)))
        assert sum(text.startswith("Once, 2.0 h in all, nothing ran") for text in texts) == count


def test_slower_than_reality(compared):
    """Where the simulation waits longer than the log, it says by which factor."""
    comparison, _, _ = compared
    start = comparison.today.trace.jobs.submit + 3 * comparison.logged.wait
    today = replace(comparison.logged, start=start, end=start + comparison.today.trace.runtime)
    slow = compare_site(today, [], comparison.logged)
    factor = today.wait.mean() / comparison.logged.wait.mean()
    assert factor > 2 and f"gives {factor:.1f} times as much" in sentences(slow)[-1]
    waits = comparison.today.wait
    late = replace(comparison.today, start=comparison.today.start + int(0.03 * waits.mean()))
    slow = compare_site(late, [], comparison.today)
    assert "gives 103 % of it. It repeats your log well" in sentences(slow)[-1]


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (-3_000, -600, "95 %: 10.0 min to 50.0 min less"),
        (600, 3_000, "95 %: 10.0 min to 50.0 min more"),
        (-600, 300, "95 %: from 10.0 min less to 5.0 min more, which may be chance"),
        (-43_560, -7_044, "95 %: 2.0 h to 12.1 h less"),
        (0, 0, "95 %: no difference"),
        (float("nan"), float("nan"), "with no interval: there are too few jobs"),
    ],
)
def test_interval(low, high, text):
    """Ends are in the order of their size, and chance is called chance."""
    assert less_or_more(Interval(0.0, low, high)) == text


@pytest.mark.parametrize("policy", ["easy-sqf", "easy-lxf"])
def test_closest(site, policy):
    """A log that ran under a candidate is repeated best by it; the verdict says so."""
    trace = load(site)
    ran = bfenv.simulate(trace, policy)
    candidates = [bfenv.simulate(trace, name) for name in CANDIDATES]
    today = bfenv.simulate(trace, "fcfs")
    text = sentences(compare_site(today, candidates, ran))[-1]
    assert text == (
        f"{policy} repeats your log well, better than fcfs. If it is closer to your site's "
        f"policy, compare with it: --today {policy}."
    )
    half = replace(ran, start=np.where(np.arange(len(trace)) % 2, ran.start, today.start))
    text = sentences(compare_site(half, [ran], ran))[-1]
    assert text.startswith(f"{policy} repeats your log well, better than {policy}")
    texts = sentences(compare_site(ran, [today, *candidates], ran))
    assert not any("--today" in text for text in texts)  # nothing is better than the truth


def test_mixed_partitions(site):
    """Partitions of unknown sizes are told, instead of another policy that repeats the log."""
    trace = load(site)
    records = trace.records.copy()
    records[:, PARTITION] = 1 + np.arange(len(trace)) % 2
    trace = replace(trace, records=records)
    ran, today = bfenv.simulate(trace, "easy-sqf"), bfenv.simulate(trace, "fcfs")
    text = sentences(compare_site(today, [bfenv.simulate(trace, "easy-lxf")], ran))[-1]
    assert text.startswith("The log has 2 partitions (cpu, gpu), which share one machine")
    assert text.endswith("add :partitions='cpu=N,gpu=N' to the name of the log.")
    sizes = f"cpu={trace.processors},gpu=1"
    known = replace(trace, header=(*trace.header, f"PartitionSizes: {sizes}"))
    ran, today = (replace(schedule, trace=known) for schedule in (ran, today))
    assert "partitions (" not in " ".join(sentences(compare_site(today, [], ran)))


def test_misfit(site):
    """A log whose waits the simulation misses gets no verdict; why comes first."""
    trace = load(site)
    today, other = bfenv.simulate(trace, "easy"), bfenv.simulate(trace, "easy-sqf")
    comparison = compare_site(today, [other], logged_schedule(trace))
    assert comparison.best is None
    assert sentences(comparison)[1] == (
        "No verdict can be given: the simulation of easy has a mean wait of 3.7 h, and your log "
        "has 13.1 h. The model of today's machine or policy misses what decides your waits, so "
        "the figures below are no forecast."
    )


def test_better_fcfs(compared):
    """There is no verdict if FCFS is ahead of today's policy: the model of today is wrong."""
    comparison, schedules, _ = compared
    best = replace(schedules["easy-sqf"], policy="fcfs", start=comparison.today.trace.jobs.submit)
    text = sentences(compare_site(comparison.today, [best], comparison.logged))[1]
    assert text.startswith(
        "No verdict can be given: FCFS, which backfills nothing, has a shorter mean wait than easy"
    )


def test_starving_simulation(compared):
    """The first screen says that the simulation starves jobs if the log starves none."""
    comparison, _, trace = compared
    wait = comparison.logged.wait.copy()
    wait[7] = 3 * wait.max()
    start = trace.jobs.submit + wait
    today = replace(comparison.today, start=start, end=start + trace.runtime)
    result = compare_site(today, [], comparison.logged)
    assert "starves jobs that your site did not" in " ".join(sentences(result))
    assert "starves jobs that your site did not" in str(verdict(result))
