"""What tests of the environment share: whole traces as episodes, and playing one."""

from bfenv.envs.backfill import BackfillEnv

# Whatever fits may start, and the pass is legal; rewards add up to minus the mean bounded slowdown.
FREE = {"reservations": 0, "idle": "allowed", "reward": "bounded_slowdown"}


def whole(trace, window=8, **options):
    """An environment whose one episode is all of the trace, from an empty machine."""
    options = {"window": window, "episode_jobs": None, "warmup_jobs": 0, "split": "all"} | options
    return BackfillEnv(trace, **FREE | options)


def play(env, agent=None, seed=0, truncates=False, **reset):
    """Rewards and final info of one episode; without an agent the first legal action is taken."""
    observation, info = env.reset(seed=seed, **reset)
    rewards, done, truncated = [], False, False
    while not (done or truncated):
        action = (
            int(info["action_mask"].argmax()) if agent is None else agent.predict(observation)[0]
        )
        observation, reward, done, truncated, info = env.step(action)
        assert truncates or not truncated
        rewards.append(reward)
    return rewards, info
