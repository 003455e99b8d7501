"""The examination of a policy: small traces, and what a sound policy does on them."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bfenv.baselines.registry import simulate
from bfenv.core.cluster import FREE, NOW, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Jobs, Trace, make_trace
from bfenv.core.policy import Policy
from bfenv.core.schedule import Schedule
from bfenv.testing.monitor import Fault, Faulty, raised, spied

INSTANTS = 6  # at which the rest of a trace is changed
SEEDS = 4  # besides 0
ESTIMATES = (60, 300, 600, 900, 1800, 3600, 7200, 14_400, 36_000, 86_400)  # s, as users give them

Beat = Callable[[Trace, int], None]


class Times(NamedTuple):
    """What the decisions on a trace took."""

    jobs: int
    seconds: list[float]  # per decision


def traces(requested_starts: bool) -> list[Trace]:
    """Traces to examine a policy on: a crowd, many ties, a single job; requested starts, too."""
    rng = np.random.default_rng(20)
    ties = _trace(rng, "ties", 40, 6, gap=3, estimates=range(1, 9))
    crowd = _trace(rng, "crowd", 80, 16, gap=1500, estimates=ESTIMATES)
    made = [crowd, ties, make_trace([0], [1], [5], 1, estimate=[7], name="single")]
    if requested_starts:
        submit = crowd.jobs.submit
        wish = np.where(rng.random(len(crowd)) < 0.2, submit + rng.integers(0, 20_000, 80), 0)
        made.append(
            replace(crowd, jobs=crowd.jobs._replace(requested_start=wish), name="appointments")
        )
    return made


def _trace(rng, name: str, jobs: int, processors: int, *, gap: int, estimates) -> Trace:
    """Half of the jobs come at the same time as the one before; some need the whole machine."""
    estimate = rng.choice(list(estimates), jobs)
    size = np.minimum(1 + rng.geometric(3 / processors, jobs), processors)
    size[rng.random(jobs) < 0.1] = processors
    share = rng.random(jobs) ** 2
    share[rng.random(jobs) < 0.2] = 1.0
    return make_trace(
        np.cumsum(rng.integers(0, gap + 1, jobs) * (rng.random(jobs) < 0.5)),
        size,
        np.maximum(1, (estimate * share).astype(np.int64)),
        processors,
        estimate=estimate,
        user=rng.integers(0, 4, jobs),
        priority=rng.integers(0, 2, jobs),
        name=name,
    )


def first_starts(policy: Policy, these: list[Trace], beat: Beat) -> Iterator[np.ndarray]:
    """The start times on each of these traces, up to the first where the policy is faulty."""
    for trace in these:
        _seed_all()
        try:
            yield spied(policy, trace, beat)[0].start
        except Faulty:
            return


def examine(
    policy: Policy, these: list[Trace], slow: float, beat: Beat
) -> Iterator[np.ndarray | Fault | Times]:
    """On each trace the start times, the faults, and the times; less where there are faults."""
    for trace in these:
        yield from _examine(policy, trace, slow, beat)


def _examine(policy: Policy, trace: Trace, slow: float, beat: Beat):
    _seed_all()
    before = random.getstate(), np.random.get_state()[1:3]
    try:
        schedule, spy = spied(policy, trace, beat)
    except Faulty as stopped:
        yield stopped.fault
        if stopped.fault.kind == "failure":
            yield from _unobserved(policy, trace, beat)
        return
    yield schedule.start
    after = random.getstate(), np.random.get_state()[1:3]
    draws = before[0] != after[0] or str(before[1]) != str(after[1])
    if draws:
        what = "it draws from the global generator of random or numpy.random, not from its own"
        yield Fault("global randomness", f"{trace.name!r}: {what}")
    try:
        _seed_all()
        again, twin = spied(policy, trace, beat)
    except Faulty as stopped:
        yield Fault("unrepeatable", f"in a second run, {stopped.fault}")
        return
    try:
        doubts = list(_repeated(policy, schedule, again, beat))
        if doubts:  # nothing can be learnt by comparing schedules
            yield from doubts
            return
        yield from _flags(policy, schedule, draws, beat)
        yield from _foresight(policy, schedule, beat)
    except Faulty as stopped:
        yield stopped.fault
        return
    # The shorter of two times: in the first a kernel may have been compiled.
    spy.seconds = [min(pair) for pair in zip(spy.seconds, twin.seconds, strict=False)]
    if max(spy.seconds) > slow:
        now, length = spy.passes[int(np.argmax(spy.seconds))]
        where = f"at {now} s of {trace.name!r}, {length} jobs waiting"
        yield Fault("slow", f"{where}: it thinks for {max(spy.seconds):.2g} s")
    yield Times(len(trace), spy.seconds)


def _unobserved(policy: Policy, trace: Trace, beat: Beat) -> Iterator[Fault]:
    """A policy that only fails under observation may do so because it looks where it should not."""
    try:
        yield from _foresight(policy, _run(policy, trace, 0, beat), beat)
    except Faulty:
        return


def _seed_all() -> None:
    """Bring the generators of the process, which no policy may use, to a known state."""
    random.seed(0)
    np.random.seed(0)


def _repeated(policy: Policy, schedule: Schedule, again: Schedule, beat: Beat) -> Iterator[Fault]:
    """The same seed, the same schedule; by the compiled loop as well."""
    trace = schedule.trace
    apart = difference(schedule.start, again.start)
    if apart:
        yield Fault("unrepeatable", f"{trace.name!r}, seed 0 twice: {apart}")
        return
    looped = _run(policy, trace, 0, beat)
    apart = difference(schedule.start, looped.start)
    if apart and policy.run is not None:
        yield Fault("two minds", f"{trace.name!r}, `decide` and `run`: {apart}")
    elif apart:
        yield Fault("unrepeatable", f"{trace.name!r}, observed and not: {apart}")


def _flags(policy: Policy, schedule: Schedule, draws: bool, beat: Beat) -> Iterator[Fault]:
    """What the policy does but does not declare."""
    trace = schedule.trace
    for seed in range(1, SEEDS + 1):
        apart = difference(schedule.start, _run(policy, trace, seed, beat).start)
        if apart and not policy.stochastic:
            what = f"{trace.name!r}, seeds 0 and {seed}: {apart}; it does not say stochastic=True"
            yield Fault("undeclared seed", what)
            draws = True
            break
    if (schedule.trial_start >= 0).any() and not policy.trials:
        job = int(np.argmax(schedule.trial_start >= 0))
        what = f"{trace.name!r}: it starts job {job} for a trial and does not say trials=True"
        yield Fault("undeclared trials", what)
    if policy.stateful or policy.stochastic or policy.trials or draws:
        return  # a pass left out is a draw left out
    seldom = replace(policy, decide=_Seldom(policy), run=None)
    apart = difference(schedule.start, _run(seldom, trace, 0, beat).start)
    if apart:
        what = "not shown the passes in which nothing may start"
        yield Fault(
            "undeclared state", f"{trace.name!r}, {what}: {apart}; it does not say stateful=True"
        )


class _Seldom:
    """A `decide` that is only called if some job may start, as an environment does it."""

    def __init__(self, policy: Policy):
        self.decide = policy.decide

    def __call__(self, cluster, jobs, memory) -> None:
        line = waiting(cluster)
        come = jobs.requested_start[line] <= cluster.state[NOW]
        if ((jobs.size[line] <= cluster.state[FREE]) & come).any():
            self.decide(cluster, jobs, memory)


def _foresight(policy: Policy, schedule: Schedule, beat: Beat) -> Iterator[Fault]:
    """Decisions up to an instant cannot depend on what nobody knows by then.

    However a policy comes by the secret: two traces that are alike in all that can be known must
    be scheduled alike.
    """
    trace, rng = schedule.trace, np.random.default_rng(1)
    moments = np.unique(schedule.start)
    moments = moments[np.unique(np.linspace(0, len(moments) - 1, INSTANTS).astype(int))]
    found = set()
    for moment in moments.tolist():
        known = _starts(schedule, moment)
        for kind, what, other in _alike(schedule, moment, rng):
            if kind in found:
                continue
            these = _starts(_run(policy, other, 0, beat), moment)
            apart = difference(known[0], these[0]) or difference(known[1], these[1])
            if apart:
                found.add(kind)
                where = f"up to {moment} s of {trace.name!r}"
                yield Fault(kind, f"{where} it depends on {what}: {apart}")


def _alike(schedule: Schedule, moment: int, rng) -> Iterator[tuple[str, str, Trace]]:
    """Traces that nobody can tell from that of the schedule until that moment."""
    for mode in ("shortest", "longest", "any"):
        other = _other_runtimes(schedule, moment, rng, mode)
        yield "peeking", "how long unfinished jobs will run", other
    for _ in range(2):
        yield "look-ahead", "jobs not yet submitted", _other_arrivals(schedule.trace, moment, rng)


def _starts(schedule: Schedule, moment: int) -> tuple[np.ndarray, np.ndarray]:
    """First starts up to a moment, and starts after a trial that has ended by then; else -1."""
    tried = schedule.trial_end >= 0
    first = np.where(tried, schedule.trial_start, schedule.start)
    second = np.where(tried & (schedule.trial_end <= moment), schedule.start, -1)
    return np.where(first <= moment, first, -1), np.where(second <= moment, second, -1)


def _other_runtimes(schedule: Schedule, moment: int, rng, mode: str) -> Trace:
    """Other runtimes for the jobs that have not ended by then: the shortest, the longest, any."""
    trace, tried = schedule.trace, schedule.trial_end >= 0
    ran = np.where(schedule.start <= moment, moment - schedule.start, 0)
    trial = np.minimum(moment, schedule.trial_end) - schedule.trial_start
    ran = np.where(tried & (schedule.trial_start <= moment), np.maximum(ran, trial), ran)
    least, most = np.minimum(ran + 1, trace.runtime), trace.jobs.estimate
    any_ = rng.integers(least, most + 1)
    drawn = {"shortest": least, "longest": most, "any": any_}[mode]
    runtime = np.where(schedule.end > moment, drawn, trace.runtime)
    # The jobs are copied lest they lead to two traces, of which a peek might take the wrong one.
    return replace(trace, jobs=Jobs(*(values.copy() for values in trace.jobs)), runtime=runtime)


def _other_arrivals(trace: Trace, moment: int, rng) -> Trace:
    """Other jobs, at other times, from then on; as many, and of the same users."""
    known = int(np.searchsorted(trace.jobs.submit, moment, side="right"))
    order = np.concatenate([np.arange(known), known + rng.permutation(len(trace) - known)])
    columns = {name: values[order] for name, values in trace.jobs._asdict().items()}
    gaps = rng.integers(0, 1000, len(trace) - known)
    columns["submit"] = np.concatenate([trace.jobs.submit[:known], moment + 1 + np.cumsum(gaps)])
    columns["size"][known:] = rng.integers(1, trace.processors + 1, len(gaps))
    columns["user"] = trace.jobs.user
    return replace(
        trace, jobs=trace.jobs._replace(**columns), runtime=trace.runtime[order], records=None
    )


def _run(policy: Policy, trace: Trace, seed: int, beat: Beat) -> Schedule:
    """A run as anybody makes it; raises Faulty."""
    _seed_all()
    beat(trace, 0)
    try:
        return simulate(trace, policy, seed)
    except (Exception, SystemExit) as error:
        kind = "starvation" if isinstance(error, PolicyError) else "failure"
        kind = "illegal start" if "illegal start" in str(error) else kind
        changed = f"on {trace.name!r} or a variant of it, seed {seed}: {raised(error)}"
        raise Faulty(kind, changed) from error


def difference(one: np.ndarray, two: np.ndarray) -> str:
    """The first job whose start times differ, in words; "" if none does."""
    apart = np.flatnonzero(one != two)
    if not len(apart):
        return ""
    job = int(apart[0])
    first, second = (f"at {time} s" if time >= 0 else "not" for time in (one[job], two[job]))
    return f"job {job} starts {first} and {second}"
