"""EASY on the nodes of a cluster, from the definition alone: cores, memory, GPUs and partitions.

A job asks for nodes of its partition, and on each for cores, memory and GPUs. Nodes are shared, and
first fit chooses them. There is a pass whenever something happens: a job comes or ends, a node goes
out of service or comes back. A node takes no job that could still run, by its estimate, when the
node goes out of service.
"""

from typing import NamedTuple


class Job(NamedTuple):
    submit: int
    partition: str
    nodes: int
    needs: tuple[int, int, int]  # cores, GiB of memory and GPUs, on each node
    estimate: int
    runtime: int


class Node(NamedTuple):
    partition: str
    has: tuple[int, int, int]
    outages: tuple[tuple[int, int], ...] = ()  # begin, end


def simulate(jobs, nodes):
    """Return the starts of the jobs, in their order; each partition has a queue of its own."""
    starts, places = {}, {}
    instants = {job.submit for job in jobs} | {
        t for node in nodes for out in node.outages for t in out
    }
    while instants:
        now = min(instants)
        instants.discard(now)
        for partition in sorted({job.partition for job in jobs}):
            queue = [
                j
                for j, job in enumerate(jobs)
                if job.partition == partition and job.submit <= now and j not in starts
            ]
            for j, place in _easy(jobs, nodes, queue, starts, places, now):
                starts[j], places[j] = now, place
                instants.add(now + jobs[j].runtime)
    return [starts[j] for j in range(len(jobs))]


def _easy(jobs, nodes, queue, starts, places, now):
    """Choose what to start: the queue's first jobs, then what does not delay the first to wait."""
    held = [  # (end by estimate, needs, nodes) of what runs
        (starts[j] + jobs[j].estimate, jobs[j].needs, places[j])
        for j in starts
        if starts[j] + jobs[j].runtime > now
    ]
    chosen, head, shadow = [], None, None
    for j in queue:
        place = _place(jobs[j], nodes, held, now)
        if head is None and place is None:
            head, shadow = j, _shadow(jobs[j], nodes, held, now)
        elif place is not None:
            more = (now + jobs[j].estimate, jobs[j].needs, place)
            if head is None or _shadow(jobs[head], nodes, [*held, more], now) <= shadow:
                chosen.append((j, place))
                held.append(more)
    return chosen


def _place(job, nodes, held, time):
    """The nodes on which a job could run from `time` on, of what ends by its estimate; or None."""
    place = []
    for n, node in enumerate(nodes):
        if node.partition != job.partition:
            continue
        if any(begin < time + job.estimate and end > time for begin, end in node.outages):
            continue
        used = [
            sum(needs[r] for end, needs, on in held if n in on and end > time) for r in range(3)
        ]
        if all(used[r] + job.needs[r] <= node.has[r] for r in range(3)):
            place.append(n)
        if len(place) == job.nodes:
            return place
    return None


def _shadow(job, nodes, held, now):
    """The first instant at which the job fits, by estimates."""
    instants = {now} | {end for end, _, _ in held if end > now}
    instants |= {end for node in nodes for _, end in node.outages if end > now}
    return min(time for time in instants if _place(job, nodes, held, time) is not None)
