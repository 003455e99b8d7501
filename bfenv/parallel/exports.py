"""The public names of `bfenv.parallel`, which its `__init__` imports when one is first used."""

from bfenv.parallel.evaluation import Run, evaluate, plan_evaluation, run_plan
from bfenv.parallel.shards import read_shard, take_shard
from bfenv.parallel.sweep import run_tasks, simulate_many
from bfenv.parallel.worker_process import WorkerDiedError, WorkerProcess, call_in_worker

__all__ = [
    "Run",
    "WorkerDiedError",
    "WorkerProcess",
    "call_in_worker",
    "evaluate",
    "plan_evaluation",
    "read_shard",
    "run_plan",
    "run_tasks",
    "simulate_many",
    "take_shard",
]
