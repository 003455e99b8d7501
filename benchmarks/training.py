"""Steps per second of a training: sb3-contrib's MaskablePPO, with the settings of `train_sb3`.

This module needs torch and sb3-contrib.
"""

import time
from collections.abc import Iterator

from benchmarks.measurements import Measurement, measurement
from bfenv.train_sb3 import Args, make_model

LEARNED = 2  # updates before the first that counts: code is compiled, and queues become longer


def measure_training(
    repeat: int, policy: str = Args.policy, threads: int = 1, steps: int = 128
) -> Iterator[Measurement]:
    """Measure updates: acting in all environments, and learning from it, by CPU time.

    Args:
        repeat: Number of updates.
        policy: As of `bfenv.train_sb3.Args`.
        threads: How many threads torch uses.
        steps: Actions in each environment of an update.

    Yields:
        Steps per second.
    """
    args = Args(policy=policy, threads=threads, num_steps=steps)
    model, actions = make_model(args), args.num_envs * args.num_steps
    rates = []
    for _ in range(LEARNED + repeat):
        begin = time.process_time()
        model.learn(actions, reset_num_timesteps=False)
        rates.append(actions / (time.process_time() - begin))
    case = f"{policy}, {threads} thread{'s' if threads > 1 else ''}"
    yield measurement("training", case, "MaskablePPO", 0, rates[LEARNED:], "steps/s")
