"""Slow, plain EASY with an order by quantities, a guard, believed runtimes and trials.

Everything is sorted and summed from scratch in every pass. A job is a dict of `user_history`'s
requests with its `runtime`; times are seconds.
"""

from math import sqrt

from tests.oracles.user_history import quantities

HOUR = 3600


def shadow(now, free, need, runs):
    """Shadow time and extra processors; runs: (expected end, size)."""
    time = now
    for end in sorted({end for end, _ in runs}):
        if free >= need:
            break
        time = end
        free += sum(size for other, size in runs if other == end)
    return time, free - need


class Alongside:
    """EASY on the same jobs, with the runtimes that are known or predicted."""

    def __init__(self, jobs, processors):
        self.jobs, self.processors = jobs, processors
        self.expected, self.expected_at, self.corrected_at = 0, 0, 0
        self.begin()

    def begin(self):
        """Go back to the empty machine."""
        self.free, self.start = self.processors, {}
        self.arrived, self.queue, self.runs, self.longest = 0, [], [], 0

    def correct(self, now, submitted, runtime_of, time_run):
        """Run again up to `now`, by what is known now; time_run: of jobs that have not ended."""
        if now < self.corrected_at:
            return
        self.begin()
        self.follow(now, submitted, runtime_of)
        uncertain = [self.start[job] + time for job, time in time_run.items() if job in self.start]
        self.corrected_at = now + max(600, (now - min([now, *uncertain])) // 8)

    def follow(self, now, submitted, runtime_of):
        """Go on to `now`; the first `submitted` jobs have been submitted."""
        while True:
            times = [run[0] for run in self.runs]
            if self.arrived < submitted:
                times.append(self.jobs[self.arrived]["submit"])
            if not times or min(times) > now:
                break
            self.step(min(times), submitted, runtime_of)
        if self.queue:
            self.longest = max(self.longest, now - self.jobs[self.queue[0]]["submit"])
        if now >= self.expected_at + 600:
            self.expected, self.expected_at = self.expect(now, runtime_of), now

    def expect(self, now, runtime_of):
        """Longest wait of the waiting jobs, if no processor were ever idle."""
        ahead = sum(size * max(0, end - now) for end, _, size in self.runs)
        waits = [0]
        for job in self.queue:
            me = self.jobs[job]
            waits.append(now - me["submit"] + ahead // self.processors)
            ahead += me["size"] * max(1, runtime_of(job))
        return max(waits)

    def step(self, time, submitted, runtime_of):
        for run in [run for run in self.runs if run[0] == time]:
            self.runs.remove(run)
            self.free += run[2]
        while self.arrived < submitted and self.jobs[self.arrived]["submit"] == time:
            self.queue.append(self.arrived)
            self.arrived += 1
        head, extra, until = None, 0, 0
        for job in list(self.queue):
            me = self.jobs[job]
            fits = me["size"] <= self.free
            if head is None and not fits:
                head = job
                runs = [(expected, size) for _, expected, size in self.runs]
                until, extra = shadow(time, self.free, me["size"], runs)
            elif head is not None and fits and time + me["estimate"] > until:
                fits = me["size"] <= extra
                extra -= me["size"] if fits else 0
            if fits:
                self.queue.remove(job)
                self.start[job] = time
                self.free -= me["size"]
                self.longest = max(self.longest, time - me["submit"])
                runtime = min(me["estimate"], max(1, runtime_of(job)))
                self.runs.append((time + runtime, time + me["estimate"], me["size"]))


class Simulation:
    """One run; `order` and `belief` are functions of a job's quantities."""

    def __init__(
        self,
        jobs,
        processors,
        order,
        *,
        guard=None,
        scale="corrected_easy",
        belief=None,
        trial=0,
        above=0,
        reservations=1,
        runs_on=False,
    ):
        self.jobs, self.processors, self.order = jobs, processors, order
        self.guard, self.scale, self.belief = guard, scale, belief
        self.trial, self.above = trial, above
        self.reservations, self.runs_on = reservations, runs_on  # reservations: 0 or 1
        self.now, self.submitted, self.queue = 0, 0, []
        self.runs = {}  # job: (start, latest end)
        self.start, self.ended, self.tried = {}, [], set()
        self.work, self.most_work = {}, 0
        self.easy, self.age_limit = Alongside(jobs, processors), float("inf")
        self.limits = []  # in each pass
        self.trusted_until = {}  # by job, once it has been the head

    def run(self):
        """Return the last start of each job."""
        while self.runs or self.submitted < len(self.jobs):
            times = [self.leaves(job) for job in self.runs]
            if self.submitted < len(self.jobs):
                times.append(self.jobs[self.submitted]["submit"])
            self.now = min(times)
            self.complete()
            while (
                self.submitted < len(self.jobs) and self.jobs[self.submitted]["submit"] == self.now
            ):
                self.queue.append(self.submitted)
                self.submitted += 1
            self.schedule()
        return [self.start[job] for job in range(len(self.jobs))]

    def leaves(self, job):
        start, latest = self.runs[job]
        return min(start + self.jobs[job]["runtime"], latest)

    def complete(self):
        self.over = {}  # start of the trials that end now
        for job in sorted(self.runs):
            start, _ = self.runs[job]
            if self.leaves(job) == self.now:
                del self.runs[job]
                if self.now - start == self.jobs[job]["runtime"]:
                    self.ended.append((job, self.now - start))
                    self.work.pop(job, None)
                else:
                    self.tried.add(job)
                    self.over[job] = start
                    self.queue = sorted([*self.queue, job])

    def known(self, job):
        return quantities(
            job,
            self.now,
            self.jobs,
            self.processors,
            self.ended,
            self.queue,
            self.runs,
            self.tried,
            self.age_limit,
        )

    def free(self):
        return self.processors - sum(self.jobs[job]["size"] for job in self.runs)

    def limit(self):
        """The age past which a job comes first."""
        if self.guard is None:
            return float("inf")
        if self.scale.endswith("backlog"):
            for job in self.queue:
                if job not in self.work and job not in self.tried:
                    runtime = int(self.known(job)["prediction"])
                    if self.scale.startswith("scaled"):
                        runtime = self.runtime_of(job)
                    self.work[job] = self.jobs[job]["size"] * runtime
            self.most_work = max(self.most_work, sum(self.work.values()))
            return self.guard * (24 * HOUR + self.most_work / self.processors)
        time_run = {job: self.time_run(job) for job in (*self.queue, *self.runs)}
        self.easy.correct(self.now, self.submitted, self.runtime_of, time_run)
        self.easy.follow(self.now, self.submitted, self.runtime_of)
        return self.guard * max(6 * HOUR, self.easy.longest, self.easy.expected)

    def runtime_of(self, job):
        known = dict(self.ended)
        if job in known:
            return known[job]
        me = self.known(job)
        prediction = float(me["prediction"])
        if me["user_ended"] < 2 and self.ended:
            estimates = sum(self.jobs[other]["estimate"] for other, _ in self.ended)
            prediction *= sum(runtime for _, runtime in self.ended) / estimates
        time = self.time_run(job)
        if self.scale.startswith("corrected") and time >= prediction:
            prediction = max(time + 1, sqrt(time * me["estimate"]))
        return int(prediction)

    def time_run(self, job):
        """For how long a job that has not ended has run at a stretch, at least."""
        trial = self.trial if job in self.tried else 0
        return max(trial, self.now - self.runs[job][0]) if job in self.runs else trial

    def let_run_on(self):
        """Make runs of the trials that end now, if every waiting job fits."""
        if sum(self.jobs[job]["size"] for job in self.queue) <= self.free():
            for job, began in self.over.items():
                self.queue.remove(job)
                self.tried.discard(job)
                self.runs[job] = (began, began + self.jobs[job]["estimate"])
                self.start[job] = began
                self.work.pop(job, None)

    def schedule(self):
        if self.runs_on:
            self.let_run_on()
        limit = self.age_limit = self.limit()
        self.limits.append(limit)
        late = [job for job in self.queue if self.now - self.jobs[job]["submit"] > limit]
        others = [job for job in self.queue if job not in late]
        line = late + sorted(others, key=lambda job: (self.order(self.known(job)), job))
        believed = {job: self.jobs[job]["estimate"] for job in line}
        if self.belief:
            believed = {
                job: max(1, min(believed[job], self.belief(self.known(job)))) for job in line
            }
        while line and self.jobs[line[0]]["size"] <= self.free():
            self.launch(line.pop(0))
        if not line:
            return
        head = line[0]
        runs = [(latest, self.jobs[job]["size"]) for job, (_, latest) in self.runs.items()]
        until, extra = float("inf"), 0
        if self.reservations or head in late:
            until, extra = shadow(self.now, self.free(), self.jobs[head]["size"], runs)
            latest = self.now + 4 * (until - self.now)
            self.trusted_until.setdefault(head, latest)
        trusts = head not in late and self.now <= self.trusted_until.get(head, self.now)
        for job in line[1:]:
            size = self.jobs[job]["size"]
            if size > self.free():
                continue
            duration = believed[job] if trusts else self.jobs[job]["estimate"]
            if self.takes_trial(job):
                duration = min(duration, self.trial)
            if self.now + duration <= until:
                self.launch(job)
            elif size <= extra:
                extra -= size
                self.launch(job)

    def takes_trial(self, job):
        return self.trial and self.jobs[job]["estimate"] > self.above and job not in self.tried

    def launch(self, job):
        estimate = self.jobs[job]["estimate"]
        length = min(self.trial, estimate) if self.takes_trial(job) else estimate
        self.queue.remove(job)
        self.runs[job] = (self.now, self.now + length)
        self.start[job] = self.now
        if length == estimate:
            self.work.pop(job, None)
