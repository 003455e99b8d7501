"""EASY and conservative backfilling in plain Python, right or with one of the usual mistakes.

A job is (submit, size, runtime, estimate); a schedule is the list of starts. At each instant jobs
end, then jobs arrive, then there is one scheduling pass. No code is shared with bfenv.
"""

from collections.abc import Sequence

Job = tuple[int, int, int, int]

EASY = {
    "greedy": "any job that fits is started, so nothing protects the head",
    "no backfilling": "nothing is started past the head",
    "runtimes of waiting jobs": "true runtimes of waiting jobs stand in for their estimates",
    "runtimes of running jobs": "true runtimes of running jobs stand in for their estimates",
    "no extra nodes": "only jobs that end by the shadow time are backfilled",
    "extra nodes do not shrink": "the extra nodes are given out more than once",
    "extra nodes shrink always": "jobs that end by the shadow time use up extra nodes, too",
    "simultaneous ends": "extra nodes leave out jobs that end together with the last one needed",
    "before the shadow time": "a job that ends exactly at the shadow time is not backfilled",
    "after the shadow time": "a job that ends one second after the shadow time is backfilled",
    "next end": "the shadow time is the next end of any job",
    "elapsed time": "running jobs are expected to run for their whole estimate from now on",
    "fixed shadow time": "the head keeps its first shadow time after jobs have ended early",
    "head waits": "the head waits for its shadow time although it fits earlier",
    "backfilled jobs": "jobs that were backfilled are left out when the shadow time is computed",
    "one backfill": "a pass backfills at most one job",
    "skipped jobs": "the job behind one that is backfilled is passed over",
    "one start": "a pass starts at most one job at the head of the queue",
    "arrivals only": "jobs are backfilled only when a job arrives",
    "ends only": "jobs are backfilled only when a job ends",
    "shortest first": "jobs are backfilled shortest first, not in queue order",
    "largest first": "jobs are backfilled largest first, not in queue order",
    "two reservations": "the second job that has to wait is protected, too",
    "ties": "jobs submitted together are queued in reverse order",
    "arrivals first": "jobs that arrive at an instant are scheduled before others end at it",
    "pass per end": "of jobs that end together, each is followed by a pass of its own",
    "no kill": "jobs run on past their estimates",
}
CONSERVATIVE = {
    "easy": "only the first job that has to wait has a reservation",
    "no holes": "a job is never placed before the reservation of an earlier one",
    "start of the hole": "a hole is checked at its beginning only, not for the whole estimate",
    "short holes": "a hole must be one second longer than the estimate",
    "runtimes of waiting jobs": "true runtimes of waiting jobs stand in for their estimates",
    "runtimes of running jobs": "true runtimes of running jobs stand in for their estimates",
    "no compression": "reservations stay where they are when a job ends early",
    "new plan": "all reservations are made again, so that some move later",
    "one compression": "only the first waiting job is moved when a job ends early",
    "last first": "the last waiting job is moved first when a job ends early",
    "elapsed time": "running jobs are expected to run for their whole estimate from now on",
    "no timer": "a reservation is not kept if nothing ends or arrives at its time",
    "ties": "jobs submitted together are queued in reverse order",
    "no kill": "jobs run on past their estimates",
}
CONVENTIONS = {
    "ties",
    "arrivals first",
    "pass per end",
    "no kill",
    "no timer",
}  # where simulators may differ on purpose


class Machine:
    """The clock, what runs and what waits."""

    def __init__(self, jobs: Sequence[Job], processors: int, mistake: str):
        self.jobs, self.processors, self.mistake = jobs, processors, mistake
        self.start: dict[int, int] = {}
        self.running: list[int] = []
        self.waiting: list[int] = []
        self.backfilled: set[int] = set()

    def size(self, job: int) -> int:
        return self.jobs[job][1]

    def length(self, job: int) -> int:
        """For how long the job is believed to run."""
        _, _, runtime, estimate = self.jobs[job]
        state = "running" if job in self.start else "waiting"
        return min(runtime, estimate) if self.mistake == f"runtimes of {state} jobs" else estimate

    def end(self, job: int) -> int:
        _, _, runtime, estimate = self.jobs[job]
        return self.start[job] + (runtime if self.mistake == "no kill" else min(runtime, estimate))

    def believed_end(self, job: int, now: int) -> int:
        if self.mistake == "elapsed time":
            return now + self.length(job)
        return max(self.start[job] + self.length(job), now + 1)

    def free(self) -> int:
        return self.processors - sum(map(self.size, self.running))

    def launch(self, job: int, now: int) -> None:
        self.waiting.remove(job)
        self.running.append(job)
        self.start[job] = now


def run(scheduler, jobs: Sequence[Job], processors: int, mistake: str = "") -> list[int]:
    """Return the starts of all jobs."""
    machine = Machine(jobs, processors, mistake)
    decide = scheduler(machine)
    left = list(range(len(jobs)))
    if mistake == "ties":
        left.sort(key=lambda job: (jobs[job][0], -job))
    now = -1
    while left or machine.running or machine.waiting:
        events = [machine.end(job) for job in machine.running] + [jobs[job][0] for job in left]
        now = min(events + [start for start in decide.wake_ups() if start > now])
        arrived = [job for job in left if jobs[job][0] == now]
        if mistake == "arrivals first" and arrived:
            machine.waiting += arrived
            decide(now, arrived, [])
        ended = [job for job in machine.running if machine.end(job) == now]
        for job in ended:
            machine.running.remove(job)
            if mistake == "pass per end":
                decide(now, [], [job])
        if mistake != "arrivals first":
            machine.waiting += arrived
        left = [job for job in left if job not in arrived]
        decide(now, arrived, ended)
    return [machine.start[job] for job in range(len(jobs))]


class Easy:
    """Starts jobs in order until one must wait, then backfills around its reservation."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.promised: dict[int, tuple[int, int]] = {}

    def __call__(self, now: int, arrived: list[int], ended: list[int]) -> None:
        machine, mistake = self.machine, self.machine.mistake
        self.start_heads(now)
        if not machine.waiting or mistake == "no backfilling":
            return
        if (mistake == "arrivals only" and not arrived) or (mistake == "ends only" and not ended):
            return
        shadow, extra = self.shadow(now)
        candidates = machine.waiting[1:]
        if mistake == "shortest first":
            candidates.sort(key=machine.length)
        if mistake == "largest first":
            candidates.sort(key=machine.size, reverse=True)
        skip = False
        for job in candidates:
            if machine.size(job) > machine.free() or skip:
                skip = False
                continue
            if self.may_pass(job, now, shadow, extra):
                within = now + machine.length(job) <= self.latest_end(shadow)
                if not within or mistake == "extra nodes shrink always":
                    extra -= machine.size(job) * (mistake != "extra nodes do not shrink")
                machine.launch(job, now)
                machine.backfilled.add(job)
                skip = mistake == "skipped jobs"
                if mistake == "one backfill":
                    return

    def wake_ups(self) -> list[int]:
        """The promised starts, where the head waits for them."""
        waits = self.machine.mistake == "head waits"
        return [shadow for shadow, _ in self.promised.values()] if waits else []

    def start_heads(self, now: int) -> None:
        machine, mistake = self.machine, self.machine.mistake
        while machine.waiting:
            head = machine.waiting[0]
            if machine.size(head) > machine.free():
                return
            if mistake == "head waits" and self.promised.get(head, (0, 0))[0] > now:
                return
            machine.launch(head, now)
            if mistake == "one start":
                return

    def shadow(self, now: int) -> tuple[int, int]:
        """The shadow time and the extra nodes of the head."""
        machine, mistake = self.machine, self.machine.mistake
        head = machine.waiting[0]
        if mistake in ("fixed shadow time", "head waits") and head in self.promised:
            return self.promised[head]
        free = machine.free()
        known = [
            job
            for job in machine.running
            if mistake != "backfilled jobs" or job not in machine.backfilled
        ]
        ends = sorted((machine.believed_end(job, now), job) for job in known)
        shadow = now
        for end, job in ends:
            shadow, free = end, free + machine.size(job)
            if mistake == "next end" or free >= machine.size(head):
                break
        if mistake not in ("simultaneous ends", "next end"):
            free = machine.free() + sum(machine.size(job) for end, job in ends if end <= shadow)
        self.promised[head] = shadow, free - machine.size(head)
        return self.promised[head]

    def may_pass(self, job: int, now: int, shadow: int, extra: int) -> bool:
        machine, mistake = self.machine, self.machine.mistake
        if mistake == "greedy":
            return True
        if mistake == "two reservations" and not self.spares_second(job, now):
            return False
        within = now + machine.length(job) <= self.latest_end(shadow)
        return within or (mistake != "no extra nodes" and machine.size(job) <= extra)

    def latest_end(self, shadow: int) -> int:
        """The latest end of a job that needs no extra nodes."""
        later = {"before the shadow time": -1, "after the shadow time": 1}
        return shadow + later.get(self.machine.mistake, 0)

    def spares_second(self, job: int, now: int) -> bool:
        """Whether the two first waiting jobs could still start where they can without this one."""
        machine = self.machine
        first, second = machine.waiting[:2]
        if job == second:
            return True
        running = [
            (now, machine.believed_end(other, now), machine.size(other))
            for other in machine.running
        ]
        plan = place(machine, running, [first, second], now)
        size, length = machine.size(job), machine.length(job)
        return place(machine, [*running, (now, now + length, size)], [first, second], now) == plan


def fits(machine: Machine, taken, size: int, begin: int, length: int) -> bool:
    """Whether so many processors are free from `begin` on."""
    seconds = (begin,) if machine.mistake == "start of the hole" else range(begin, begin + length)
    return all(
        sum(n for start, end, n in taken if start <= second < end) + size <= machine.processors
        for second in seconds
    )


def anchor(machine: Machine, taken, job: int, now: int) -> int:
    begin = now
    length = machine.length(job) + (machine.mistake == "short holes")
    while not fits(machine, taken, machine.size(job), begin, length):
        begin += 1
    return begin


def place(machine: Machine, taken, jobs: list[int], now: int) -> list[int]:
    """Give each job in turn the earliest start that it can have."""
    taken, starts = list(taken), []
    for job in jobs:
        begin = anchor(machine, taken, job, now)
        taken.append((begin, begin + machine.length(job), machine.size(job)))
        starts.append(begin)
    return starts


class Conservative:
    """Gives each job a reservation when it arrives, and moves it only to earlier times."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.reserved: dict[int, int] = {}

    def __call__(self, now: int, arrived: list[int], ended: list[int]) -> None:
        machine = self.machine
        if any(machine.start[job] + machine.length(job) != now for job in ended):
            self.compress(now)
        for job in arrived:
            self.reserved[job] = self.find(job, now)
        for job in [job for job in machine.waiting if self.reserved[job] <= now]:
            if machine.size(job) <= machine.free():
                machine.launch(job, now)
                del self.reserved[job]
        late = [job for job in machine.waiting if self.reserved[job] <= now]
        for job in late:  # only after a mistake
            self.reserved[job] = self.find(job, now + 1)

    def wake_ups(self) -> list[int]:
        """The reserved starts: nothing else need happen then."""
        events_only = self.machine.mistake == "no timer" and self.machine.running
        return [] if events_only else list(self.reserved.values())

    def taken(self, now: int, without: int) -> list[tuple[int, int, int]]:
        machine = self.machine
        running = [
            (now, machine.believed_end(job, now), machine.size(job)) for job in machine.running
        ]
        return running + [
            (begin, begin + machine.length(job), machine.size(job))
            for job, begin in self.reserved.items()
            if job != without
        ]

    def find(self, job: int, now: int) -> int:
        machine = self.machine
        if machine.mistake == "no holes":
            earlier = [begin for other, begin in self.reserved.items() if other < job]
            now = max([now, *earlier])
        return anchor(machine, self.taken(now, job), job, now)

    def compress(self, now: int) -> None:
        machine = self.machine
        order = [job for job in machine.waiting if job in self.reserved]
        if machine.mistake == "no compression":
            return
        if machine.mistake == "new plan":
            self.reserved = {}
            for job in order:
                self.reserved[job] = self.find(job, now)
            return
        if machine.mistake == "one compression":
            order = order[:1]
        if machine.mistake == "last first":
            order.reverse()
        for job in order:
            self.reserved[job] = self.find(job, now)


SCHEDULERS = {"easy": (Easy, EASY), "conservative": (Conservative, CONSERVATIVE)}


def starts(policy: str, jobs: Sequence[Job], processors: int, mistake: str = "") -> list[int]:
    """Schedule the jobs by "easy" or "conservative", right or with a mistake."""
    if (policy, mistake) == ("conservative", "easy"):
        return run(Easy, jobs, processors)
    return run(SCHEDULERS[policy][0], jobs, processors, mistake)
