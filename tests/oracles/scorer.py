"""Slow, obviously right EASY in the order of a scorer of the observation, in plain Python.

Nothing here is shared with the packages under test: the features are computed anew from what the
docstring of the environment says of them, each kept in the four bytes that the observation has.
"""

from struct import pack, unpack

from tests.oracles.machine import Machine, Policy, shadow_and_extra

# The order of summation; the last is no weight's concern while no job asks for a start time.
SUMMED = (
    "present size estimate priority wait slowdown fits before_shadow within_extra accuracy start_in"
).split()
# The order of the columns of the observation, and so of the parameters
COLUMNS = (
    "present size estimate wait slowdown fits before_shadow within_extra accuracy priority start_in"
).split()


def four_bytes(number: float) -> float:
    """The nearest float32."""
    return unpack("f", pack("f", number))[0]


def squash(number: int, half: int) -> float:
    """From [0, inf) into [0, 1), 1/2 at `half`."""
    return number / (number + half)


def lambert(terms: int) -> tuple[list[int], list[int]]:
    """Numerator and denominator of 1 / (1 + y / (3 + y / (5 + ...))), by ascending powers of y."""
    above, below = [1], [2 * terms - 1]
    for odd in range(2 * terms - 3, 0, -2):  # 1 / (odd + y above / below)
        shifted = [0, *above]
        length = max(len(shifted), len(below))
        sides = [part + [0] * (length - len(part)) for part in (below, shifted)]
        above, below = below, [odd * one + two for one, two in zip(*sides, strict=True)]
    return above, below


def horner(powers: list[int], y: float) -> float:
    """The value of a polynomial."""
    value = 0.0
    for power in reversed(powers):
        value = value * y + power
    return value


def tanh(x: float) -> float:
    """The hyperbolic tangent by thirteen terms of Lambert's continued fraction."""
    above, below = lambert(13)
    return min(max(x * horner(above, x * x) / horner(below, x * x), -1.0), 1.0)


class Scorer(Policy):
    """Starts the jobs of the highest scores, reserves for the first that must wait, backfills."""

    def __init__(self, theta: list[float], hidden: int, users: list[int]):
        """Begin without knowing anything; a user for each job."""
        self.theta = theta
        self.hidden = hidden
        self.users = users
        self.ratios: dict[int, list[float]] = {}  # runtime / estimate of ended jobs, by user
        self.known_ends: set[int] = set()
        self.left: tuple[int, list[int], list[int]] = -1, [], []  # how the last pass left all

    def learn(self, machine: Machine) -> None:
        """Note the jobs that have ended since the last pass."""
        ended = set(machine.start_time) - set(machine.running) - self.known_ends
        for job in sorted(ended, key=lambda job: (machine.end_time(job), job)):
            runtime = machine.end_time(job) - machine.start_time[job]
            ratio = runtime / machine.jobs[job].estimate
            self.ratios.setdefault(self.users[job], []).append(ratio)
        self.known_ends |= ended

    def row(self, machine: Machine, job: int, shadow: int, extra: int) -> dict[str, float]:
        """The features of a waiting job."""
        request = machine.jobs[job]
        waited = machine.now - request.submit
        ratios = self.ratios.get(self.users[job], []) if self.users[job] >= 0 else []
        row = {
            "present": 1,
            "size": request.size / machine.processors,
            "estimate": squash(request.estimate, 3600),
            "wait": squash(waited, 3600),
            "slowdown": squash(waited, request.estimate),
            "fits": machine.fits_now(job),
            "before_shadow": machine.now + request.estimate <= shadow,
            "within_extra": request.size <= extra,
            "accuracy": sum(ratios) / len(ratios) if ratios else -1,
            "priority": request.priority / (1 + abs(request.priority)),
            "start_in": squash(max(request.requested_start - machine.now, 0), 3600),
        }
        return {name: four_bytes(value) for name, value in row.items()}

    def weighted(self, first: int, row: dict[str, float]) -> float:
        """The sum of the features by the eleven weights from theta[first] on."""
        total = 0.0
        for name in SUMMED:
            total += self.theta[first + COLUMNS.index(name)] * row[name]
        return total

    def score(self, row: dict[str, float]) -> float:
        """The number by which a job is judged."""
        if self.hidden == 0:
            return self.weighted(0, row)
        total = 0.0
        for unit in range(self.hidden):
            total += self.theta[11 * self.hidden + unit] * tanh(self.weighted(11 * unit, row))
        return total

    def schedule(self, machine: Machine) -> None:
        """Make one scheduling pass, unless nothing has happened since the last one."""
        self.learn(machine)
        if self.left == (machine.now, machine.waiting, machine.running) or not machine.waiting:
            return  # a second pass would see other features
        oldest = machine.jobs[machine.waiting[0]]
        shadow, extra = self.reservation(machine, oldest)
        rows = {job: self.row(machine, job, shadow, extra) for job in machine.waiting}
        queue = sorted(machine.waiting, key=lambda job: (-self.score(rows[job]), job))
        while queue and machine.fits_now(queue[0]):
            machine.start(queue.pop(0))
        if queue:
            shadow, extra = self.reservation(machine, machine.jobs[queue.pop(0)])
        for job in queue:
            request = machine.jobs[job]
            if not machine.fits_now(job):
                continue
            if machine.now + request.estimate <= shadow:
                machine.start(job)
            elif request.size <= extra:
                machine.start(job)
                extra -= request.size
        self.left = machine.now, list(machine.waiting), list(machine.running)

    def reservation(self, machine: Machine, head) -> tuple[int, int]:
        """Shadow time and extra nodes of a job."""
        return shadow_and_extra(machine.expected(), machine.processors, head, machine.now)
