"""What a user's script looks like to a type checker; `make lint` checks it, nothing runs it."""

import gymnasium
import numpy as np

import bfenv
from bfenv.core import Cluster, may_start, start, waiting

trace = bfenv.load_workload("lublin", jobs=500, load=0.9)
schedule = bfenv.simulate(trace, "easy").check()
longest: int = int(schedule.wait.max())
numbers: dict[str, float] = bfenv.metrics(schedule)
names: list[str] = list(bfenv.policies())


@bfenv.policy
def shortest(cluster: Cluster, jobs: bfenv.Jobs) -> None:
    """Start what fits, the shortest estimate first."""
    for job in sorted(waiting(cluster), key=lambda job: int(jobs.estimate[job])):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


for other in bfenv.simulate_many([trace, "lublin:jobs=100"], ["easy", shortest], jobs=2):
    print(other.policy, other.trace.name, other.wait.mean())

report = bfenv.check_policy(shortest)
env = gymnasium.make("Backfill-v0", window=32, reservations=1)
observation, info = env.reset(seed=0)
action = int(np.argmax(info["action_mask"]))
direct = bfenv.BackfillEnv("lublin", window=32)
agent = bfenv.PolicyAgent("easy", direct)
bfenv.write_swf(trace, "trace.swf.gz", schedule)

# Mistakes are found: a strict check refuses a comment to ignore an error that is none.
bfenv.simulate(trace, 7)  # type: ignore[arg-type]
print(schedule.waits)  # type: ignore[attr-defined]
