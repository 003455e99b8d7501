"""Why a start was illegal: kernels raise only constant text, so the cause is found afterwards."""

from typing import NoReturn

from bfenv.core.cluster import FIRST_JOB, FREE, NEXT_JOB, NOW, OFFENDER, Cluster
from bfenv.core.errors import IllegalStartError
from bfenv.core.jobs import Jobs


def find_illegal_start(cluster: Cluster, jobs: Jobs, policy: str = "") -> IllegalStartError | None:
    """Return the illegal start that this pass has attempted, and forget it; None if there is none.

    Call it when a policy has raised ValueError: if this returns None, the fault is the policy's
    own. `policy` is the name in the message.
    """
    offender = int(cluster.state[OFFENDER])
    if offender == -1:
        return None
    cluster.state[OFFENDER] = -1
    job = offender if offender >= 0 else offender + 1
    return IllegalStartError(job, int(cluster.state[NOW]), _obstacle(cluster, jobs, job), policy)


def raise_illegal_start(error: ValueError, cluster: Cluster, jobs: Jobs, policy: str) -> NoReturn:
    """Raise the IllegalStartError behind the error of a policy, or else the error itself.

    * `error`: what the policy has raised.
    * `cluster`, `jobs`: the machine.
    * `policy`: the name of the policy, for the message.
    """
    illegal_start = find_illegal_start(cluster, jobs, policy)
    if illegal_start is None:  # a fault of the policy's own code
        raise error
    raise illegal_start from error


def _obstacle(cluster: Cluster, jobs: Jobs, job: int) -> str:
    """Tell why a job may not start now."""
    state = cluster.state
    if job < 0:
        return "does not exist"
    if job >= state[NEXT_JOB]:  # a player may read this: not when it comes, nor whether it does
        return "has not been submitted"
    if job < state[FIRST_JOB]:
        return f"is not part of this run, whose first job is {state[FIRST_JOB]}"
    if cluster.start[job] >= 0:
        return f"has started already, at {cluster.start[job]} s"
    if jobs.size[job] > state[FREE]:
        return f"needs {jobs.size[job]} processors; free: {state[FREE]}"
    if jobs.requested_start[job] > state[NOW]:
        return f"asks to start at {jobs.requested_start[job]} s"
    if jobs.restartable[job] == 0:
        return "is not restartable, so it cannot have a trial"
    if cluster.trial_start[job] >= 0:
        return f"has had its trial, at {cluster.trial_start[job]} s"
    return "was to be tried for less than 1 s"
