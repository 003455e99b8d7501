"""Slow, obviously right multiple-queue backfilling in plain Python: an oracle of the test-suite.

Lawson and Smirni 2002, Figure 2 and sections 2.1 and 2.2, with lists of intervals
`(begin, end, size)` and with processors that each have an owner. Nothing is shared with the
packages under test. One queue is the case of no bounds.

What the paper leaves open, as decided in `bfenv.baselines.multiqueue.figure2`:

- A trial or a pivot is promised a start. No job starts or is planned over a promise, but for
  promises of higher priority and new reservations: these ignore it, and if it cannot stay where it
  is, another is made when the job's turn comes.
- Jobs with a requested start have no trial and stand in no queue.
"""

from dataclasses import dataclass


@dataclass
class Outcome:
    """What happened to each job; -1 where nothing did."""

    start: list[int]
    end: list[int]
    trial_start: list[int]
    trial_end: list[int]
    reserved: list[int]  # the start promised to a job with a requested start
    reassigned: list[int]  # processors that changed their owner for its start


def room(intervals, processors, size, begin, length):
    """Tell whether `size` processors are free from `begin` for `length` seconds."""
    moments = [begin] + [b for b, _, _ in intervals if begin < b < begin + length]
    return all(
        sum(s for b, e, s in intervals if b <= moment < e) + size <= processors
        for moment in moments
    )


def earliest(intervals, processors, size, length, not_before):
    """Find the first time from `not_before` on at which there is room."""
    candidates = [not_before, *sorted(e for _, e, _ in intervals if e > not_before)]
    return next(t for t in candidates if room(intervals, processors, size, t, length))


class Scheduler:
    """One machine, its queues, and everybody's plans."""

    def __init__(
        self, jobs, processors, bounds, speculation, tried_above, sizes=None, key=None, flag=None
    ):
        """`bounds` between the queues; jobs with estimates above `tried_above` are tried first.

        `sizes` are the processors of the partitions at first, None for equal parts, one for each
        queue; `key` orders the jobs of a queue, None by arrival; `flag` tells which may be tried.
        """
        self.jobs, self.processors, self.bounds = jobs, processors, bounds
        self.speculation, self.tried_above = speculation, tried_above
        none = [-1] * len(jobs)
        self.outcome = Outcome(*(list(none) for _ in range(6)))
        self.waiting = set()
        self.running = {}  # job -> (start, when it is expected to end, when it does)
        self.held = {}  # running job -> the processors it holds
        self.promises = {}  # trial or pivot -> promised start
        self.now = 0
        queues = len(bounds) + 1
        self.owner = [processor % queues for processor in range(processors)]
        if sizes:
            self.owner = [p for p, size in enumerate(sizes) for _ in range(size)]
        self.partitions = len(sizes or range(queues))
        self.key = key or (lambda job: 0)
        self.flag = flag or (lambda job: True)

    # Who is what

    def queue(self, job):
        """Equation (1): the queue, counted from 0."""
        return sum(self.jobs[job].estimate >= bound for bound in self.bounds)

    def partition(self, job):
        """Neighbouring queues share a partition where there are fewer of these."""
        queues = len(self.bounds) + 1
        return int(self.queue(job) * min(1, self.partitions / queues))

    def reserves(self, job):
        return self.jobs[job].requested_start > 0

    def wants_trial(self, job):
        return (
            self.speculation > 0
            and self.flag(self.jobs[job])
            and self.jobs[job].estimate > self.tried_above
            and not self.reserves(job)
            and self.outcome.trial_end[job] < 0
        )

    def queued(self):
        return [j for j in self.waiting if not self.reserves(j) and not self.wants_trial(j)]

    def rank(self, job):
        return -self.jobs[job].priority, self.key(self.jobs[job]), job

    def pivot(self, number):
        """The first job in the queue of that number, or None."""
        queue = [job for job in self.queued() if self.queue(job) == number]
        return min(queue, key=self.rank, default=None)

    def length(self, job):
        estimate = self.jobs[job].estimate
        return min(self.speculation, estimate) if self.wants_trial(job) else estimate

    # What holds processors, now or later

    def at(self, job, begin):
        return begin, begin + self.length(job), self.jobs[job].size

    def firm(self):
        """Running jobs and accepted reservations."""
        runs = [(start, end, self.jobs[j].size) for j, (start, end, _) in self.running.items()]
        promised = [
            self.at(job, self.outcome.reserved[job])
            for job in self.waiting
            if self.outcome.reserved[job] >= 0
        ]
        return runs + promised

    def fits(self, job, begin, intervals):
        return room(intervals, self.processors, self.jobs[job].size, begin, self.length(job))

    def intervals_of(self, promises):
        return [self.at(job, begin) for job, begin in promises.items()]

    def keep_what_fits(self, promises, others):
        """Of `promises`, most urgent first, those with room beside `others` and the ones kept."""
        kept = {}
        for job in sorted(others, key=lambda job: (-self.jobs[job].priority, job)):
            beside = self.firm() + self.intervals_of(promises) + self.intervals_of(kept)
            if others[job] >= self.now and self.fits(job, others[job], beside):
                kept[job] = others[job]
        return {**promises, **kept}

    def plan(self, job):
        """Line 3: the earliest start that delays no promise of equal or higher priority."""
        priority = self.jobs[job].priority
        others = {j: begin for j, begin in self.promises.items() if j != job}
        respected = {j: b for j, b in others.items() if self.jobs[j].priority >= priority}
        lower = {j: b for j, b in others.items() if self.jobs[j].priority < priority}
        begin = earliest(
            self.firm() + self.intervals_of(respected),
            self.processors,
            self.jobs[job].size,
            self.length(job),
            self.now,
        )
        respected[job] = begin
        self.promises = self.keep_what_fits(respected, lower)
        return begin

    # Starts

    def start(self, job):
        length = self.length(job)
        self.promises.pop(job, None)
        self.waiting.remove(job)
        self.outcome.start[job] = self.now
        runtime = self.jobs[job].runtime
        end = self.now + length
        self.running[job] = self.now, end, min(end, self.now + runtime)
        self.hold(job)

    def hold(self, job):
        """Take idle processors, those of the own partition first; others change their owner.

        They come from the partition with the most idle processors, then from the next.
        """
        mine, size = self.partition(job), self.jobs[job].size
        busy = {processor for held in self.held.values() for processor in held}
        idle = [processor for processor in range(self.processors) if processor not in busy]
        count = [sum(self.owner[p] == q for p in idle) for q in range(self.partitions)]
        idle.sort(key=lambda p: (self.owner[p] != mine, -count[self.owner[p]], self.owner[p]))
        taken = idle[:size]
        assert len(taken) == size
        self.outcome.reassigned[job] = sum(self.owner[p] != mine for p in taken)
        for processor in taken:
            self.owner[processor] = mine
        self.held[job] = taken

    # The pass

    def schedule(self):
        for job in sorted(self.waiting):
            if self.reserves(job) and self.outcome.reserved[job] < 0:
                request = self.jobs[job]
                self.outcome.reserved[job] = earliest(
                    self.firm(),
                    self.processors,
                    request.size,
                    request.estimate,
                    max(self.now, request.requested_start),
                )
        for job in sorted(self.waiting):
            if self.outcome.reserved[job] == self.now:
                self.start(job)

        pivots = {self.pivot(number) for number in range(len(self.bounds) + 1)}
        promises = {j: b for j, b in self.promises.items() if j in pivots or self.wants_trial(j)}
        self.promises = self.keep_what_fits({}, promises)

        for priority in sorted({self.jobs[job].priority for job in self.waiting}, reverse=True):
            level = sorted(job for job in self.waiting if self.jobs[job].priority == priority)
            for job in level:
                if self.wants_trial(job) and self.plan(job) == self.now:
                    self.start(job)
            for job in sorted((job for job in level if job in self.queued()), key=self.rank):
                if job == self.pivot(self.queue(job)):
                    if self.plan(job) == self.now:
                        self.start(job)
                elif self.fits(job, self.now, self.firm() + self.intervals_of(self.promises)):
                    self.start(job)

    # The clock

    def end_jobs(self):
        """Jobs that have run end; those at the end of their trial wait again."""
        for job, (start, _, end) in sorted(self.running.items()):
            if end > self.now:
                continue
            del self.running[job], self.held[job]
            if end - start == self.jobs[job].runtime:
                self.outcome.end[job] = end
            else:
                self.outcome.trial_start[job], self.outcome.trial_end[job] = start, end
                self.outcome.start[job] = -1
                self.waiting.add(job)

    def run(self):
        self.now = -1
        while True:
            times = [job.submit for job in self.jobs]
            times += [end for _, _, end in self.running.values()]
            times += [self.jobs[job].requested_start for job in self.waiting]
            times += [self.outcome.reserved[job] for job in self.waiting]
            times += self.promises.values()
            times = [time for time in times if time > self.now]
            if not times:
                break
            self.now = min(times)
            self.end_jobs()
            self.waiting |= {j for j, job in enumerate(self.jobs) if job.submit == self.now}
            self.schedule()
        assert not self.waiting
        assert not self.running
        return self.outcome


def multiqueue(
    jobs,
    processors,
    bounds=(1000, 10000),
    speculation=180,
    tried_above=1000,
    sizes=None,
    key=None,
    flag=None,
):
    """Schedule by multiple-queue backfilling; no bounds is a single queue."""
    return Scheduler(jobs, processors, bounds, speculation, tried_above, sizes, key, flag).run()
