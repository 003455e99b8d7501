"""RLScheduler's simulator: choose one job at a time, and backfill until it fits.

Zhang, Dai, He, Bao and Xie 2020 (SC'20), as their program is at cd433e3: HPCSimPickJobs.py, job.py.
Its rules, which give the heuristics' numbers that they print to both decimals:

* One job is chosen of the queue. If it does not fit, others are backfilled until it does; then it
  starts, and the next is chosen. What was chosen stays chosen, whatever arrives meanwhile.
* Time moves only while the queue is empty or the chosen job does not fit, one event at a time: at
  an instant arrivals come first, one by one, then ends.
* As a job is chosen that does not fit, its earliest start is computed once: when enough processors
  are free by the requested times. At each event all waiting jobs that fit, and would end before
  that time by their requests, are started in the order of submission. There are no extra nodes.
* The wait in WFP3 and UNICEP is that of a job that started at second -1, and the submit time in F1
  is the log's, not counted from the first job.

A network in place of an order scores the jobs one by one, as `agents.rlscheduler` reads it.
`backfill="easy"` is correct EASY with the jobs in the same order.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.policy_names import expression
from bfenv.baselines.shuffling import new_stream, random_number
from bfenv.core.arguments import check_choice
from bfenv.core.cluster import NEXT_JOB, free, now, shadow, start, waiting
from bfenv.core.competitor import BoundPolicy
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import Jobs, Trace
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.knowledge.priorities import find_order, formula, sort_by_merging
from bfenv.workloads.logs.records import ESTIMATE, GROUP, SUBMIT, USER
from bfenv.workloads.logs.swf import EXECUTABLE, LARGEST, MEMORY

ORDERS = ("fcfs", "sjf", "sqf", "wfp3", "unicef", "f1")  # those of their program, by bfenv's names
BACKFILLS = ("theirs", "off", "easy")
VISIBLE = 128  # jobs that the network scores
LONG_WAIT = 12 * 3600.0  # seconds
BELOW_ONE = 1 - 1e-5  # largest quotient that the network sees

# Indices into Memory.state
CHOSEN, EARLIEST, FREE, SEEN, RUNNING = range(5)  # a job or -1, seconds, processors, jobs, jobs


# Weights, (inputs, outputs) float32 each, and biases of 8 inputs, layers of 32, 16, 8, one score
Net = tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]


class Scorer(NamedTuple):
    """A network, its inputs, and what it computes in; all arrays float32 unless said."""

    fixed: np.ndarray  # (n, 6) inputs of each job that do not change
    weights: tuple[np.ndarray, ...]  # as of Net
    biases: tuple[np.ndarray, ...]
    values: tuple[np.ndarray, ...]  # of each layer: (8,) inputs, (32,), (16,), (8,), (1,) score
    shortest: np.ndarray  # (VISIBLE,) int64 jobs
    visible: np.ndarray  # (n,) bool
    stream: np.ndarray  # (1,) int64, random numbers of each choice; 0 for the largest score
    noise: np.ndarray  # (n,) float64 added to the scores in EASY, drawn once


class Memory(NamedTuple):
    """What the simulator keeps; `decide` looks only at jobs that have been submitted."""

    requested: np.ndarray  # (n,) int64 seconds, which a runtime may exceed
    submitted: np.ndarray  # (n,) int64 seconds of the log
    code: np.ndarray  # (1,) int64 of the order
    backfills: np.ndarray  # (1,) bool
    line: np.ndarray  # (2n,) int64 jobs
    score: np.ndarray  # (2n,) float64, the lowest is chosen
    running: np.ndarray  # (n,) int64 jobs in the order in which ties of their ends are resolved
    state: np.ndarray  # (5,) int64, see the names above
    net: Scorer | None


@kernel
def decide(cluster, jobs, memory):
    """Make their decisions at one instant: an event at a time, arrivals before ends."""
    state = memory.state
    while True:
        if state[SEEN] < cluster.state[NEXT_JOB]:
            state[SEEN] += 1
        elif not _release_one(cluster, jobs, memory):
            return
        while _choose(cluster, jobs, memory):
            _launch(cluster, jobs, memory, state[CHOSEN])
            state[CHOSEN] = -1
        if state[CHOSEN] >= 0 and memory.backfills[0]:
            for job in waiting(cluster):  # what they have not seen yet comes last
                if job >= state[SEEN] or state[FREE] == 0:
                    break
                fits = cluster.start[job] < 0 and jobs.size[job] <= state[FREE]
                if fits and now(cluster) + memory.requested[job] < state[EARLIEST]:
                    _launch(cluster, jobs, memory, job)


@kernel
def _release_one(cluster, jobs, memory):
    """Take the processors of one job that ended now; tell whether there was one."""
    state = memory.state
    for i in range(state[RUNNING]):
        job = memory.running[i]
        if cluster.end[job] >= 0:
            state[FREE] += jobs.size[job]
            state[RUNNING] -= 1
            for k in range(i, state[RUNNING]):
                memory.running[k] = memory.running[k + 1]
            return True
    return False


@kernel
def _choose(cluster, jobs, memory):
    """Choose a job if none is; tell whether there is one that fits."""
    state = memory.state
    if state[CHOSEN] < 0:
        count = rate(cluster, jobs, memory, state[SEEN], state[FREE], False)
        if count == 0:
            return False
        job = first(memory, count)
        state[CHOSEN] = job
        if jobs.size[job] > state[FREE] and memory.backfills[0]:
            _find_earliest_start(cluster, jobs, memory, jobs.size[job])
    return jobs.size[state[CHOSEN]] <= state[FREE]


@kernel
def _find_earliest_start(cluster, jobs, memory, size):
    """Sort the running jobs by their requested ends, and note when `size` processors are free."""
    state, running = memory.state, memory.running
    for i in range(1, state[RUNNING]):
        job, k = running[i], i
        end = cluster.start[job] + memory.requested[job]
        while k > 0 and cluster.start[running[k - 1]] + memory.requested[running[k - 1]] > end:
            running[k] = running[k - 1]
            k -= 1
        running[k] = job
    room = state[FREE]
    for job in running[: state[RUNNING]]:
        room += jobs.size[job]
        state[EARLIEST] = cluster.start[job] + memory.requested[job]
        if room >= size:
            return


@kernel
def _launch(cluster, jobs, memory, job):
    state = memory.state
    start(cluster, jobs, job)
    state[FREE] -= jobs.size[job]
    memory.running[state[RUNNING]] = job
    state[RUNNING] += 1


@kernel
def decide_easy(cluster, jobs, memory):
    """EASY with the jobs in this order: `bfenv.baselines.easy` has the same steps."""
    fits = free(cluster) > 0
    while fits:
        count = rate(cluster, jobs, memory, cluster.state[NEXT_JOB], free(cluster), True)
        if count == 0:
            return
        head = first(memory, count)
        fits = jobs.size[head] <= free(cluster)
        if fits:
            start(cluster, jobs, head)
        elif free(cluster) > 0:
            shadow_time, extra_nodes = shadow(cluster, jobs, head)
            sort_by_merging(memory.score, memory.line, count)
            for job in memory.line[1:count]:
                size = jobs.size[job]
                is_over = now(cluster) + jobs.estimate[job] <= shadow_time
                if size <= free(cluster) and (is_over or size <= extra_nodes):
                    start(cluster, jobs, job)
                    extra_nodes -= 0 if is_over else size


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


@kernel
def run_easy(cluster, jobs, truth, memory):
    """The event loop with EASY in it."""
    while advance(cluster, jobs, truth):
        decide_easy(cluster, jobs, memory)


@kernel
def first(memory, count):
    """Return the job of the lowest score of the first `count` of the line, the oldest of equals."""
    best = 0
    for i in range(1, count):
        if memory.score[i] < memory.score[best] or (
            memory.score[i] == memory.score[best] and memory.line[i] < memory.line[best]
        ):
            best = i
    return memory.line[best]


@kernel
def rate(cluster, jobs, memory, seen, room, keeps_noise):
    """Write the waiting jobs below `seen` into the line, and their scores; return their number."""
    line, score, count = memory.line, memory.score, 0
    for job in waiting(cluster):
        if job < seen and cluster.start[job] < 0:
            line[count] = job
            count += 1
    if memory.net is not None:
        _find_visible(jobs, memory, count)
        for i in range(count):
            score[i] = math.inf
            if memory.net.visible[line[i]]:
                score[i] = -_forward(cluster, jobs, memory, line[i], room, keeps_noise)
        return count
    code = memory.code[0]
    for i in range(count):
        job = line[i]
        wait = -1 - memory.submitted[job]
        score[i] = formula(
            code, wait, memory.requested[job], jobs.size[job], memory.submitted[job], 0.0, 0.0
        )
    return count


@kernel
def _find_visible(jobs, memory, count):
    """Mark which jobs of the line the network sees: of many, the shortest and the smallest."""
    line, score, net = memory.line, memory.score, memory.net
    for i in range(count):
        net.visible[line[i]] = count <= VISIBLE
        score[i] = memory.requested[line[i]]
    if count <= VISIBLE:
        return
    sort_by_merging(score, line, count)
    for i in range(VISIBLE):
        net.shortest[i] = line[i]
    for i in range(count):
        score[i] = jobs.size[line[i]]
    sort_by_merging(score, line, count)
    left = VISIBLE
    for i in range(VISIBLE):
        for job in (net.shortest[i], line[i]):
            if left > 0 and not net.visible[job]:
                net.visible[job] = True
                left -= 1


@kernel
def _forward(cluster, jobs, memory, job, room, keeps_noise):
    """Return the network's score of a waiting job, with noise where choices are sampled."""
    net = memory.net
    x = net.values[0]
    x[0] = min((now(cluster) - jobs.submit[job]) / LONG_WAIT, BELOW_ONE)
    for i in range(6):
        x[i + 1] = net.fixed[job, i]
    x[7] = BELOW_ONE if jobs.size[job] <= room else 1 - BELOW_ONE
    for layer in range(len(net.weights)):
        x, y, weight = net.values[layer], net.values[layer + 1], net.weights[layer]
        for j in range(len(y)):
            y[j] = net.biases[layer][j]
        for i in range(len(x)):
            if x[i] > 0 or layer == 0:  # ReLU
                for j in range(len(y)):
                    y[j] += x[i] * weight[i, j]
    score = float(net.values[len(net.weights)][0])
    if net.stream[0] == 0:
        return score
    if keeps_noise:
        return score + net.noise[job]
    # The largest of scores with Gumbel noise is a sample of their softmax.
    return score - math.log(-math.log(random_number(net.stream) / (2**31 - 1)))


def new_memory(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator,
    *,
    trace: Trace,
    code: int,
    backfill: str,
    net: Net | None,
    sampled: bool,
) -> Memory:
    """Return the memory for a trace: requests that `jobs` does not have are in its records."""
    count, trace_jobs, origin = len(trace), trace.jobs, 0
    requested = trace_jobs.estimate
    if trace.records is not None:
        written = trace.records[:, ESTIMATE].astype(np.int64)
        requested = np.where(written > 0, np.minimum(written, requested), requested)
        origin = int(trace.records[0, SUBMIT] - trace_jobs.submit[0])
    scorer = None
    if net is not None:
        scorer = Scorer(
            inputs(trace, requested),
            *net,
            values=tuple(np.zeros(width, dtype=np.float32) for width in (8, 32, 16, 8, 1)),
            shortest=np.zeros(VISIBLE, dtype=np.int64),
            visible=np.zeros(count, dtype=np.bool_),
            stream=new_stream(generator) if sampled else np.zeros(1, dtype=np.int64),
            noise=generator.gumbel(size=count),
        )
    return Memory(
        requested.copy(),
        trace_jobs.submit + origin,
        np.array([code]),
        np.array([backfill == "theirs"]),
        line=np.zeros(2 * count, dtype=np.int64),
        score=np.zeros(2 * count),
        running=np.zeros(count + 1, dtype=np.int64),
        state=np.array([-1, 0, processors, 0, 0]),
        net=scorer,
    )


def inputs(trace: Trace, requested: np.ndarray) -> np.ndarray:
    """Return the network's inputs of jobs that do not change, (n, 6) float32.

    Raises PolicyError if the trace does not have the largest values of its log.
    """
    labels = [line.removeprefix(LARGEST).split() for line in trace.header if LARGEST in line]
    if trace.records is None or not labels:
        raise PolicyError(
            f"{trace.name} does not have the largest values of its log, which the network needs: "
            "load the log with rules=rlscheduler"
        )
    runtime, *largest = map(float, labels[0])
    values = trace.records[:, [MEMORY, USER, GROUP, EXECUTABLE]]
    columns = [requested / runtime, trace.jobs.size / trace.processors]
    columns += [column / max(most, 1) for column, most in zip(values.T, largest, strict=True)]
    result = np.minimum(np.stack(columns, axis=1), BELOW_ONE)
    result[:, 2:][values == -1] = 1
    return result.astype(np.float32)


def policy_for(trace: Trace, *, name: str, **options: Any) -> Policy:
    """Return the policy for a trace: only its records have all that the simulator looks at.

    Raises PolicyError if the trace has outages.
    """
    if trace.outages:
        raise PolicyError(f"{trace.name} has outages, which {name} does not follow")
    kernels = (decide_easy, run_easy) if options["backfill"] == "easy" else (decide, run)
    return Policy(name, *kernels, partial(new_memory, trace=trace, **options), stateful=True)


def make_policy(
    name: str,
    summary: str,
    backfill: str,
    *,
    code: int = -1,
    net: Net | None = None,
    sampled: bool = False,
) -> BoundPolicy:
    """Return the policy of an order's code, or of a network.

    Raises PolicyError if there is no such backfill.
    """
    check_choice("backfill", backfill, BACKFILLS, error=PolicyError)
    options: dict[str, Any] = {"code": code, "backfill": backfill, "net": net, "sampled": sampled}
    bind = partial(policy_for, name=name, **options)
    return BoundPolicy(name, bind, summary, "Zhang, Dai, He, Bao and Xie 2020", stochastic=sampled)


def rlscheduler(order: str = "fcfs", backfill: str = "theirs") -> BoundPolicy:
    """Make a policy that decides as RLScheduler's simulator does.

    Args:
        order: "fcfs", "sjf", "sqf", "wfp3", "unicef" or "f1".
        backfill: "theirs"; "off", which waits until the chosen job fits; or "easy", correct EASY
            with the jobs in this order.

    Raises:
        PolicyError: If there is no such order or backfill.

    Examples:
        Job 2 may not be backfilled, although it would end exactly when job 1 can start:

        >>> import bfenv
        >>> trace = bfenv.make_trace(
        ...     submit=[0, 1, 2], size=[3, 4, 1], runtime=[60, 60, 58], processors=4
        ... )
        >>> bfenv.simulate(trace, "rlscheduler").start
        array([  0,  60, 120])
        >>> bfenv.simulate(trace, "rlscheduler(backfill=easy)").start
        array([ 0, 60,  2])
    """
    check_choice("order", order, ORDERS, error=PolicyError)
    return make_policy(
        expression(rlscheduler, {"order": order, "backfill": backfill}),
        f"RLScheduler's simulator, {find_order(order).meaning} first",
        backfill,
        code=find_order(order).code,
    )


POLICIES = ()
FAMILIES = (rlscheduler,)
