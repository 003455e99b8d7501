"""Small traces to run a policy on, and what a policy without faults does on them."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.registry import simulate
from bfenv.core.cluster import FREE, NOW, Cluster, waiting
from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv.core.errors import IllegalStartError, StarvationError
from bfenv.core.jobs import Jobs, Trace, make_trace
from bfenv.core.kernel import Kernel
from bfenv.core.policy import Policy
from bfenv.core.schedule import Schedule
from bfenv.parallel.failures import describe_error
from bfenv.testing.monitor import Fault, OnPass, PolicyFault, run_monitored

INSTANTS = 6  # at which the rest of a trace is changed
SEEDS = 4  # besides 0
ESTIMATES = (
    MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    10 * HOUR,
    DAY,
)  # seconds, as users request them


class DecisionTimes(NamedTuple):
    """How long the decisions on a trace took."""

    jobs: int
    seconds: list[float]  # per decision


Finding = np.ndarray | Fault | DecisionTimes  # an array holds the start times on a trace


def probe_traces(requested_starts: bool) -> list[Trace]:
    """Return a crowd, a trace with many ties, and a single job; optionally requested starts."""
    rng = np.random.default_rng(20)
    ties = _make_trace(rng, "ties", 40, 6, gap=3, estimates=range(1, 9))
    crowd = _make_trace(rng, "crowd", 80, 16, gap=1500, estimates=ESTIMATES)
    traces = [crowd, ties, make_trace([0], [1], [5], 1, estimate=[7], name="single")]
    if requested_starts:
        submit = crowd.jobs.submit
        start = np.where(rng.random(len(crowd)) < 0.2, submit + rng.integers(0, 20_000, 80), 0)
        jobs = crowd.jobs._replace(requested_start=start)
        traces.append(replace(crowd, jobs=jobs, name="requested starts"))
    return traces


def _make_trace(
    rng: np.random.Generator,
    name: str,
    jobs: int,
    processors: int,
    *,
    gap: int,
    estimates: Sequence[int],
) -> Trace:
    """Make a trace in which half of the jobs are submitted together with the one before.

    Some jobs need the whole machine.
    """
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


def start_times(policy: Policy, traces: Sequence[Trace], on_pass: OnPass) -> Iterator[Finding]:
    """Yield the start times on each trace, up to the first trace with a fault."""
    for trace in traces:
        _seed_global_generators()
        try:
            yield run_monitored(policy, trace, on_pass)[0].start
        except PolicyFault:
            return


def probe(
    policy: Policy, traces: Sequence[Trace], slow: float, on_pass: OnPass
) -> Iterator[Finding]:
    """Yield the start times, the faults and the decision times on each trace.

    What follows a fault may be missing. A decision that takes over `slow` seconds is a fault.
    """
    for trace in traces:
        yield from _probe(policy, trace, slow, on_pass)


def _probe(policy: Policy, trace: Trace, slow: float, on_pass: OnPass) -> Iterator[Finding]:
    _seed_global_generators()
    before = _global_generators()
    try:
        schedule, monitor = run_monitored(policy, trace, on_pass)
    except PolicyFault as stopped:
        yield stopped.fault
        if stopped.fault.kind == "failure":
            with suppress(PolicyFault):  # it may fail when it looks for secrets in its caller
                unmonitored = _simulate(policy, trace, 0, on_pass)
                yield from find_foresight(
                    unmonitored, lambda changed: _simulate(policy, changed, 0, on_pass)
                )
        return
    yield schedule.start
    draws = before != _global_generators()
    if draws:
        text = "it draws from the global generator of random or numpy.random, not from its own"
        yield Fault("global randomness", f"{trace.name!r}: {text}")
    try:
        _seed_global_generators()
        again, second = run_monitored(policy, trace, on_pass)
    except PolicyFault as stopped:
        yield Fault("unrepeatable", f"in a second run, {stopped.fault}")
        return
    try:
        faults = list(_probe_repetition(policy, schedule, again, on_pass))
        if faults:  # comparing schedules would prove nothing
            yield from faults
            return
        yield from _probe_flags(policy, schedule, draws, on_pass)
        yield from find_foresight(schedule, lambda changed: _simulate(policy, changed, 0, on_pass))
    except PolicyFault as stopped:
        yield stopped.fault
        return
    # The shorter of two times: the first run may have compiled a kernel.
    seconds = [min(pair) for pair in zip(monitor.seconds, second.seconds, strict=False)]
    if max(seconds) > slow:
        now, length = monitor.passes[int(np.argmax(seconds))]
        place = f"at {now} s of {trace.name!r}, {length} jobs waiting"
        yield Fault("slow", f"{place}: the decision takes {max(seconds):.2g} s")
    yield DecisionTimes(len(trace), seconds)


def _seed_global_generators() -> None:
    """Bring the generators of the process, which no policy may use, to a known state."""
    random.seed(0)
    np.random.seed(0)


def _global_generators() -> tuple[Any, str]:
    """Return the state of the generators of the process."""
    return random.getstate(), str(np.random.get_state(legacy=True))


def _probe_repetition(
    policy: Policy, schedule: Schedule, again: Schedule, on_pass: OnPass
) -> Iterator[Fault]:
    """Check that the same seed gives the same schedule, also in the compiled loop."""
    trace = schedule.trace
    differs = first_difference(schedule.start, again.start)
    if differs:
        yield Fault("unrepeatable", f"{trace.name!r}, seed 0 twice: {differs}")
        return
    loops = [policy]
    if isinstance(policy.run, Kernel):  # without code, `simulate` makes passes by `decide` instead
        loops.append(replace(policy, run=policy.run.run_uncompiled))
    for loop in loops:
        unmonitored = _simulate(loop, trace, 0, on_pass)
        differs = first_difference(schedule.start, unmonitored.start)
        if differs and policy.run is not None:
            yield Fault("two minds", f"{trace.name!r}, `decide` and `run`: {differs}")
            return
        if differs:
            yield Fault("unrepeatable", f"{trace.name!r}, with the monitor and without: {differs}")


def _probe_flags(
    policy: Policy, schedule: Schedule, draws: bool, on_pass: OnPass
) -> Iterator[Fault]:
    """Check that the policy declares what it does."""
    trace = schedule.trace
    for seed in range(1, SEEDS + 1):
        differs = first_difference(schedule.start, _simulate(policy, trace, seed, on_pass).start)
        if differs and not policy.stochastic:
            text = f"{trace.name!r}, seeds 0 and {seed}: {differs}; declare stochastic=True"
            yield Fault("undeclared seed", text)
            draws = True
            break
    if (schedule.trial_start >= 0).any() and not policy.trials:
        job = int(np.argmax(schedule.trial_start >= 0))
        text = f"{trace.name!r}: it starts job {job} for a trial; declare trials=True"
        yield Fault("undeclared trials", text)
    if policy.stateful or policy.stochastic or policy.trials or draws:
        return  # skipping a pass would skip a draw
    skipping = replace(policy, decide=_SkipIdlePasses(policy), run=None)
    differs = first_difference(schedule.start, _simulate(skipping, trace, 0, on_pass).start)
    if differs:
        text = f"{trace.name!r}, without the passes in which no job may start: {differs}"
        yield Fault("undeclared state", f"{text}; declare stateful=True")


class _SkipIdlePasses:
    """A `decide` function that is called only if a job may start, as in an environment."""

    def __init__(self, policy: Policy) -> None:
        self.decide = policy.decide

    def __call__(self, cluster: Cluster, jobs: Jobs, memory: Any) -> None:
        queue = waiting(cluster)
        due = jobs.requested_start[queue] <= cluster.state[NOW]
        if ((jobs.size[queue] <= cluster.state[FREE]) & due).any():
            self.decide(cluster, jobs, memory)


def find_foresight(
    schedule: Schedule, simulate_other: Callable[[Trace], Schedule], instants: int = INSTANTS
) -> Iterator[Fault]:
    """Yield what decisions depend on although it was unknown, at most one fault of a kind.

    Two traces that differ only in what is unknown must have equal schedules, however a policy
    might learn the secret.

    * `schedule`: what the policy or agent made of a trace.
    * `simulate_other`: returns what it makes of another trace, with the same seed.
    * `instants`: at how many starts the rest of the trace is changed.
    """
    rng = np.random.default_rng(1)
    times = np.unique(schedule.start)
    times = times[np.unique(np.linspace(0, len(times) - 1, instants).astype(int))]
    kinds = set()
    for instant in times.tolist():
        expected = _known_starts(schedule, instant)
        for kind, secret, changed in _indistinguishable(schedule, instant, rng):
            if kind in kinds:
                continue
            starts = _known_starts(simulate_other(changed), instant)
            differs = first_difference(expected[0], starts[0])
            differs = differs or first_difference(expected[1], starts[1])
            if differs:
                kinds.add(kind)
                span = f"up to {instant} s of {schedule.trace.name!r}"
                yield Fault(kind, f"{span} it depends on {secret}: {differs}")


def _indistinguishable(
    schedule: Schedule, instant: int, rng: np.random.Generator
) -> Iterator[tuple[str, str, Trace]]:
    """Yield traces that cannot be distinguished from the schedule's own until an instant."""
    for mode in ("shortest", "longest", "any"):
        changed = _other_runtimes(schedule, instant, rng, mode)
        yield "peeking", "how long unfinished jobs will run", changed
    for _ in range(2):
        yield "look-ahead", "jobs not yet submitted", _other_arrivals(schedule.trace, instant, rng)


def _known_starts(schedule: Schedule, instant: int) -> tuple[np.ndarray, np.ndarray]:
    """Return first starts up to an instant and starts after trials ended by then; -1 for none."""
    tried = schedule.trial_end >= 0
    first = np.where(tried, schedule.trial_start, schedule.start)
    second = np.where(tried & (schedule.trial_end <= instant), schedule.start, -1)
    return np.where(first <= instant, first, -1), np.where(second <= instant, second, -1)


def _other_runtimes(schedule: Schedule, instant: int, rng: np.random.Generator, mode: str) -> Trace:
    """Replace the runtimes of the jobs that are unfinished: the shortest, the longest, any."""
    trace, tried = schedule.trace, schedule.trial_end >= 0
    ran = np.where(schedule.start <= instant, instant - schedule.start, 0)
    trial = np.minimum(instant, schedule.trial_end) - schedule.trial_start
    ran = np.where(tried & (schedule.trial_start <= instant), np.maximum(ran, trial), ran)
    least, most = np.minimum(ran + 1, trace.runtime), trace.jobs.estimate
    drawn = rng.integers(least, most + 1)
    runtime = {"shortest": least, "longest": most, "any": drawn}[mode]
    runtime = np.where(schedule.end > instant, runtime, trace.runtime)
    # Copied, because jobs that belong to two traces could lead a peeking policy to the wrong one.
    return replace(trace, jobs=Jobs(*(values.copy() for values in trace.jobs)), runtime=runtime)


def _other_arrivals(trace: Trace, instant: int, rng: np.random.Generator) -> Trace:
    """Replace the jobs that are not yet submitted by as many others, of the same users."""
    submitted = int(np.searchsorted(trace.jobs.submit, instant, side="right"))
    order = np.concatenate(
        [np.arange(submitted), submitted + rng.permutation(len(trace) - submitted)]
    )
    columns = {name: values[order] for name, values in trace.jobs._asdict().items()}
    gaps = rng.integers(0, 1000, len(trace) - submitted)
    columns["submit"] = np.concatenate(
        [trace.jobs.submit[:submitted], instant + 1 + np.cumsum(gaps)]
    )
    columns["size"][submitted:] = rng.integers(1, trace.processors + 1, len(gaps))
    columns["user"] = trace.jobs.user
    return replace(
        trace, jobs=trace.jobs._replace(**columns), runtime=trace.runtime[order], records=None
    )


def _simulate(policy: Policy, trace: Trace, seed: int, on_pass: OnPass) -> Schedule:
    """Simulate without the monitor; raises PolicyFault."""
    _seed_global_generators()
    on_pass(trace, 0)
    try:
        return simulate(trace, policy, seed)
    except (Exception, SystemExit) as error:
        kinds = {IllegalStartError: "illegal start", StarvationError: "starvation"}
        kind = kinds.get(type(error), "failure")
        text = f"on {trace.name!r} or a variant of it, seed {seed}: {describe_error(error)}"
        raise PolicyFault(kind, text) from error


def first_difference(first: np.ndarray, second: np.ndarray) -> str:
    """Describe the first job whose start times differ; "" if there is none."""
    jobs = np.flatnonzero(first != second)
    if not len(jobs):
        return ""
    job = int(jobs[0])
    texts = [f"at {time} s" if time >= 0 else "not" for time in (first[job], second[job])]
    return f"job {job} starts {texts[0]} and {texts[1]}"
