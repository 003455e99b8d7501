"""A site's own policy beside the candidates: what would change, for how many, and how surely."""

from collections.abc import Sequence
from typing import NamedTuple

from bfenv.analysis.calibration import NEAR, VERDICTS, calibrate, verdict
from bfenv.analysis.comparison import starves
from bfenv.analysis.formatting import typical_duration
from bfenv.analysis.intervals import Interval, batch_means
from bfenv.core.schedule import Schedule
from bfenv_site.reports.parties import users_changed
from bfenv_site.reports.slurm_support import SlurmSupport, slurm_support

FIT = VERDICTS["fair"].factor  # by which today's mean wait may be off for a verdict, either way
ORDER_ALONE = "fcfs"  # the policy that backfills nothing
CLOSER = 0.05  # share of the jobs by which a simulation is clearly closer to the log


class Finding(NamedTuple):
    """What a candidate would change; waits in seconds."""

    schedule: Schedule  # of the candidate
    change: Interval  # of the mean wait, below 0 is less
    users_less: int  # users whose mean wait falls by over a minute
    users_more: int  # and those whose mean wait grows by over a minute
    starves: bool  # its longest wait is over STARVES times that of today's policy
    slurm: SlurmSupport  # whether Slurm can follow it

    @property
    def policy(self) -> str:
        """Name of the policy."""
        return self.schedule.policy

    @property
    def mean_wait(self) -> float:
        """Seconds."""
        return float(self.schedule.wait.mean())

    @property
    def longest_wait(self) -> int:
        """Seconds."""
        return int(self.schedule.wait.max())


class SiteComparison(NamedTuple):
    """One workload: as it ran, under today's policy, and under each candidate."""

    workload: str  # its label
    today: Schedule  # of today's policy
    logged: Schedule | None  # what the log records
    findings: list[Finding]  # shortest mean wait first, those that starve last

    @property
    def typical(self) -> float:
        """Seconds, a duration in whose unit all waits are written."""
        waits = [self.today.wait, *(finding.schedule.wait for finding in self.findings)]
        return typical_duration(
            value for wait in waits for value in (float(wait.mean()), float(wait.max()))
        )

    @property
    def calibration(self) -> dict[str, float]:
        """What `calibrate` returns of today's policy; empty without a log that records starts."""
        return {} if self.logged is None else calibrate(self.today, self.logged)

    @property
    def verdict(self) -> str:
        """How well the simulation of today's policy repeats the log; "" if that is not known."""
        return verdict(self.calibration)

    @property
    def closest(self) -> tuple[str, str] | None:
        """The candidate that repeats the log best, and its verdict.

        None if none has a better verdict than today's policy, or the same with CLOSER more of the
        jobs close to the log.
        """
        if self.logged is None:
            return None
        ranks = list(VERDICTS)
        fits = []
        for finding in self.findings:
            numbers = calibrate(finding.schedule, self.logged)
            if (word := verdict(numbers)) in ranks:
                fits.append((ranks.index(word), -numbers["log_close"], finding.policy, word))
        if not fits:
            return None
        rank_today = ranks.index(self.verdict) if self.verdict in ranks else len(ranks)
        rank, close, policy, word = min(fits)
        is_closer = rank == rank_today and -close - self.calibration["log_close"] >= CLOSER
        return (policy, word) if rank < rank_today or is_closer else None

    @property
    def is_misfit(self) -> bool:
        """Whether today's simulated mean wait is far from the logged one: by FIT and by NEAR."""
        if self.logged is None:
            return False
        mean, logged_mean = float(self.today.wait.mean()), float(self.logged.wait.mean())
        is_alike = logged_mean / FIT <= mean <= logged_mean * FIT
        return abs(mean - logged_mean) > NEAR and not is_alike

    @property
    def is_behind_fcfs(self) -> bool:
        """Whether FCFS surely has a shorter mean wait than today's policy."""
        return any(
            finding.policy == ORDER_ALONE and finding.change.high < 0 for finding in self.findings
        )

    @property
    def starves_today(self) -> bool:
        """Whether today's simulated policy starves jobs and the log does not."""
        if self.logged is None:
            return False
        longest, logged_longest = int(self.today.wait.max()), int(self.logged.wait.max())
        return longest - logged_longest > NEAR and starves(longest, logged_longest)

    @property
    def has_verdict(self) -> bool:
        """Whether the model of today is good enough to compare candidates with it."""
        return not self.is_misfit and not self.is_behind_fcfs

    @property
    def best(self) -> Finding | None:
        """The candidate of the shortest mean wait that does not starve and that Slurm can follow.

        None if there is no verdict, or all candidates wait longer than today's policy.
        """
        if not self.has_verdict:
            return None
        for finding in self.findings:  # shortest mean wait first
            if not finding.starves and finding.slurm.answer != "no" and finding.change.value < 0:
                return finding
        return None


def compare_site(
    today: Schedule, candidates: Sequence[Schedule], logged: Schedule | None = None
) -> SiteComparison:
    """Compare the schedules of candidates with that of today's policy, job by job.

    * `today`: the schedule of the site's policy.
    * `candidates`: schedules of the same jobs.
    * `logged`: the schedule that the log records, if it does.
    """
    findings = [
        Finding(
            schedule,
            batch_means(schedule.wait - today.wait),
            *users_changed(today, schedule),
            starves=starves(int(schedule.wait.max()), int(today.wait.max())),
            slurm=slurm_support(schedule.policy),
        )
        for schedule in candidates
    ]
    findings.sort(key=lambda finding: (finding.starves, finding.change.value, finding.policy))
    return SiteComparison(today.trace.name, today, logged, findings)
