"""The public names of `bfenv.parallel`, which its `__init__` imports when one is first used."""

from bfenv.parallel.shards import read_shard as read_shard
from bfenv.parallel.shards import take_shard as take_shard
from bfenv.parallel.sweep import run_tasks as run_tasks
from bfenv.parallel.sweep import simulate_many as simulate_many
from bfenv.parallel.worker_process import WorkerDiedError as WorkerDiedError
from bfenv.parallel.worker_process import WorkerProcess as WorkerProcess
from bfenv.parallel.worker_process import call_in_worker as call_in_worker
