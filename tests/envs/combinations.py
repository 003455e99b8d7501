"""Combinations of settings of the environment, and an episode of each."""

import numpy as np
from hypothesis import strategies as st

from tests.conftest import small_traces

TRACES = st.tuples(
    small_traces(jobs=3), small_traces(jobs=9) | small_traces(jobs=6, requested_starts=True)
)


RULES = st.builds(
    lambda tau, head: tau | head,
    st.sampled_from([{}, {"tau": 1}, {"tau": 60}]),
    st.sampled_from([{"reservations": 0}, {"reservations": 1}, {}]),
)


OPTIONS = st.fixed_dictionaries(
    {
        "window": st.sampled_from([1, 2, 3, 8]),
        "window_order": st.sampled_from(["mixed", "oldest", "saf"]),
        "idle": st.sampled_from(["never", "allowed", "every_pass"]),
        "max_episode_steps": st.sampled_from([None, 1, 3, 7]),
    }
)


def play(env, choices, **reset):
    """All that is seen in an episode of random actions; `choices` is their seed."""
    generator = np.random.default_rng(choices)
    observation, info = env.reset(**reset)
    seen, over = [(observation, info)], False
    while not over:
        mask = info["action_mask"] if generator.random() < 0.9 else env.action_space.n * [1]
        action = int(generator.choice(np.flatnonzero(mask)))
        observation, reward, terminated, truncated, info = env.step(action)
        assert env.observation_space.contains(observation)
        seen.append((observation, reward, terminated, truncated, info))
        over = terminated or truncated
    return seen
