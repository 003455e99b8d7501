"""Vector environments with several threads, and steps that are sent."""

import numpy as np
import pytest

from bfenv.core.errors import BfenvError
from bfenv.envs.vector import BackfillVectorEnv
from tests.envs.vectors import SHORT, same, some_actions


@pytest.mark.compiled  # uncompiled threads take turns
@pytest.mark.parametrize("order", [{}, {"window": 3, "window_order": "saf"}])
def test_threads(order):
    """Several threads take the steps of one, bit for bit, also those that are sent."""
    one, three, sent = (BackfillVectorEnv(96, threads=n, **SHORT | order) for n in (1, 3, 2))
    generator = np.random.default_rng(0)
    results = [env.reset(seed=4) for env in (one, three, sent)]
    ends = 0
    for _ in range(300):
        for result in results[1:]:
            for mine, yours in zip(results[0], result, strict=True):
                same(mine, yours)
        actions = some_actions(results[0][-1]["action_mask"], generator)
        sent.send(actions)
        results = [one.step(actions), three.step(actions), sent.recv()]
        ends += int(results[0][2].sum())
    assert ends > 300


def test_sent():
    """A sent step is received once, with its error, and before the next is sent."""
    env = BackfillVectorEnv(2, **SHORT)
    env.reset(seed=0)
    with pytest.raises(BfenvError, match="recv needs a send"):
        env.recv()
    env.send(np.zeros(2, dtype=int))
    for call in (env.send, env.step):
        with pytest.raises(BfenvError, match=f"{call.__name__} needs a recv"):
            call(np.zeros(2, dtype=int))
    with pytest.raises(BfenvError, match="reset needs a recv"):
        env.reset(seed=1)
    env.recv()
    env.send(np.zeros(3, dtype=int))
    with pytest.raises(BfenvError, match="actions .*2"):
        env.recv()
    with pytest.raises(BfenvError, match="recv needs a send"):
        env.recv()
