"""Steps per second of the environments, with random legal actions.

Choosing the actions is part of the measurement. A compiled function chooses them, because doing so
with numpy takes as long as a step.
"""

import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import gymnasium
import numpy as np

from benchmarks.measurements import Measurement, measurement
from bfenv.core.kernel import kernel
from bfenv.envs.vector import BackfillVectorEnv

WINDOW = 64
COUNTS = (1, 64, 256, 1024)  # of environments
THREADS = (1, 2)
VEC_ENV = 64  # environments of the VecEnv
CALLS = 20_000  # steps per measurement of one environment; ten times as many of several


def measure_environments(repeat: int) -> Iterator[Measurement]:
    """Measure one environment, batches, and the VecEnv if stable-baselines3 is installed."""
    for reservations in ("chosen", 1):
        settings = {"window": WINDOW, "reservations": reservations}
        case = f"window {WINDOW}, reservations {reservations}"
        yield _measure("gymnasium.make", case, repeat, _single(settings))
    for count, threads in product(COUNTS, THREADS):
        if threads <= count:
            case = f"{count} environments, threads {threads}"
            yield _measure("gymnasium.make_vec", case, repeat, _vector(count, threads))
    try:
        step = _vec_env(VEC_ENV)
    except ModuleNotFoundError:  # stable-baselines3 is optional
        return
    yield _measure("BackfillVecEnv", f"{VEC_ENV} environments, masks asked for", repeat, step)


def _measure(group: str, case: str, repeat: int, step: Callable[[int], int]) -> Measurement:
    step(CALLS // 10)  # compile, and leave the first episodes, which are alike
    rates = []
    for _ in range(repeat):
        begin = time.perf_counter()
        steps = step(CALLS)
        rates.append(steps / (time.perf_counter() - begin))
    return measurement(group, case, "random legal", 0, rates, "steps/s")


def _single(options: dict[str, Any]) -> Callable[[int], int]:
    """Return a loop over the steps of one environment, as a user would write it."""
    env = gymnasium.make("Backfill-v0", **options)
    generator = np.random.default_rng(0)
    mask = env.reset(seed=0)[1]["action_mask"]

    def run(steps: int) -> int:
        nonlocal mask
        for number in generator.integers(2**31, size=steps).tolist():
            _, _, terminated, truncated, info = env.step(_pick(mask, number))
            if terminated or truncated:
                _, info = env.reset()
            mask = info["action_mask"]
        return steps

    return run


def _vector(count: int, threads: int) -> Callable[[int], int]:
    env = BackfillVectorEnv(count, window=WINDOW, threads=threads)
    generator = np.random.default_rng(0)
    masks = env.reset(seed=0)[1]["action_mask"]
    actions = np.empty(count, dtype=np.int64)

    def run(steps: int) -> int:
        nonlocal masks
        calls = 10 * steps // count
        for numbers in generator.integers(2**31, size=(calls, count)):
            _pick_all(masks, numbers, actions)
            masks = env.step(actions)[4]["action_mask"]
        return calls * count

    return run


def _vec_env(count: int) -> Callable[[int], int]:
    from bfenv.envs.sb3 import BackfillVecEnv

    env = BackfillVecEnv(count, window=WINDOW)
    generator = np.random.default_rng(0)
    env.seed(0)
    env.reset()
    actions = np.empty(count, dtype=np.int64)

    def run(steps: int) -> int:
        calls = 10 * steps // count
        for numbers in generator.integers(2**31, size=(calls, count)):
            masks = np.stack(env.env_method("action_masks"))
            _pick_all(masks, numbers, actions)
            env.step(actions)
        return calls * count

    return run


@kernel
def _pick(mask, number):
    """Return a legal action, given a random number from a range far larger than the mask."""
    legal = 0
    for action in range(len(mask)):
        legal += mask[action]
    left = number % legal
    for action in range(len(mask)):
        if mask[action]:
            if left == 0:
                return action
            left -= 1
    return -1


@kernel
def _pick_all(masks, numbers, actions):
    """Pick a legal action for each environment. Fills `actions`."""
    for i in range(len(actions)):
        actions[i] = _pick(masks[i], numbers[i])
