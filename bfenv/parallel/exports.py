"""The public names of `bfenv.parallel`, which its `__init__` imports when one is first used."""

from bfenv.parallel.shards import read_shard, take_shard
from bfenv.parallel.sweep import run_tasks, simulate_many
from bfenv.parallel.worker_process import WorkerDiedError, WorkerProcess, call_in_worker

__all__ = [
    "WorkerDiedError",
    "WorkerProcess",
    "call_in_worker",
    "read_shard",
    "run_tasks",
    "simulate_many",
    "take_shard",
]
