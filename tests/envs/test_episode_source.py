"""Where episodes come from: splits, workloads, and the options of reset."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.core.cluster import running, start, waiting
from bfenv.core.jobs import Outage
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import LOADS
from tests.envs.playing import play, whole
from tests.envs.vectors import SHORT


@pytest.mark.usefixtures("compiled_environments")
def test_split():
    """Episodes come from the split, and the machine is warm."""
    for split in ("train", "validation", "test"):
        env = gymnasium.make("Backfill-v0", split=split, episode_jobs=50, warmup_jobs=50).unwrapped
        for seed in range(20):
            env.reset(seed=seed)
            first, last = env.batch.source.splits[env.batch.windows[0].k]
            jobs = env.episode_jobs
            assert first + 50 <= jobs.start and jobs.stop <= last
            assert len(jobs) == 50
    assert len(running(env.cluster)) > 0


def test_last_jobs():
    """The last jobs of a split are drawn, too, and short splits have many windows."""
    env = BackfillEnv("lublin:jobs=1300", episode_jobs=256)
    first, last = env.batch.source.splits[0]
    drawn = set()
    generator = np.random.default_rng(0)
    for _ in range(200):
        drawn.add(env.batch.source.sample(generator).first)
    assert len(drawn) > 60
    assert max(drawn) > last - 256 - 10 and min(drawn) < first + 256 + 10


def test_end_of_split():
    """No job outside the split ever arrives."""
    env = gymnasium.make("Backfill-v0", workload="lublin", episode_jobs=50, warmup_jobs=0).unwrapped
    last = env.batch.source.splits[0][1]
    env.reset(seed=0, options={"first_job": last - 50})
    done = False
    while not done:
        assert waiting(env.cluster).max(initial=0) < last
        _, _, done, _, _ = env.step(env.window)


def test_first_job():
    """An episode can be chosen by its first job; wrong options are named."""
    env = gymnasium.make("Backfill-v0", workload="lublin").unwrapped
    env.reset(options={"first_job": 300})
    assert env.episode_jobs == range(300, 940)
    for options, message in (
        ({"first_job": 5}, "first_job .* 5"),
        ({"first": 5}, "'first'"),
        ({"first_job": "x"}, "first_job .*'x'"),
        ({"first_job": 300.5}, "first_job .*300.5"),
        ({"first_job": [300]}, "first_job .*300"),
        ({"first_job": 10**30}, "first_job .*1000000"),
        (["first_job"], "options .*'first_job'"),
        (3, "options .*3"),
    ):
        with pytest.raises(bfenv.BfenvError, match=message):
            env.reset(options=options)


def test_trace_option():
    """An episode can be chosen on each of several workloads and loads."""
    env = BackfillEnv(["lublin", "sud:jobs=400"], load=[0.6, 0.8], **SHORT)
    names = []
    for k in range(4):
        env.reset(options={"trace": k, "first_job": 30})
        names.append((env.trace.name.split(":")[0], round(env.trace.offered_load, 1)))
        assert env.episode_jobs == range(30, 42)
    assert [load for _, load in names] == [0.6, 0.8, 0.6, 0.8]
    assert names[0][0] == names[1][0] != names[2][0] == names[3][0]
    with pytest.raises(bfenv.BfenvError, match="trace .*4"):
        env.reset(options={"trace": 4})


def test_training():
    """Each split of the default workload has the same model and loads, and other seeds."""
    hashes = {}
    for split in ("train", "validation", "test"):
        source = BackfillEnv(split=split).batch.source
        assert source.splits == [(0, len(trace)) for trace in source.traces]
        assert sorted(round(trace.offered_load, 1) for trace in source.traces) == sorted(4 * LOADS)
        hashes[split] = {trace.hash for trace in source.traces}
        assert len(hashes[split]) == 12
    everything = {trace.hash for trace in BackfillEnv(split="all").batch.source.traces}
    assert everything == set.union(*hashes.values()) and len(everything) == 36
    drawn = set()
    env = BackfillEnv(warmup_jobs=0, episode_jobs=5)
    for seed in range(100):
        env.reset(seed=seed)
        drawn.add(env.batch.windows[0].k)
    assert len(drawn) == 12
    at_one_load = BackfillEnv(load=0.5).batch.source.traces
    assert [round(trace.offered_load, 1) for trace in at_one_load] == [0.5] * 4
    assert BackfillEnv("lublin").batch.source.traces == [bfenv.load_workload("lublin")]


@pytest.mark.compiled
@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_replay_lublin(policy):
    """A policy driven through `step` makes the schedule of `simulate`."""
    trace = bfenv.load_workload("lublin")[:2000]
    env = whole(trace, window=2000)
    play(env, PolicyAgent(policy, env))
    assert np.array_equal(env.cluster.start, bfenv.simulate(trace, policy).start)


def test_forced_starts():
    """Passing forever ends the episode by forced starts, which are counted."""
    trace = bfenv.make_trace([0, 0, 1], [1, 1, 1], [3, 3, 3], 1)
    env = whole(trace)
    env.reset(seed=0)
    steps, done = 0, False
    while not done:
        _, _, done, _, info = env.step(env.window)
        steps += 1
    assert info["forced_starts"] == 3
    assert env.cluster.start.tolist() == [1, 4, 7]


def test_every_pass():
    """With idle="every_pass", time stops where no start is legal."""
    trace = bfenv.make_trace([0, 1, 2], [1, 1, 1], [9, 9, 9], 1)
    times = {}
    for idle in ("never", "every_pass"):
        env = whole(trace, idle=idle, reservations=1)
        _, info = env.reset(seed=0)
        times[idle], done = [info["now"]], False
        while not done:
            _, _, done, _, info = env.step(int(info["action_mask"].argmax()))
            times[idle].append(info["now"])
    assert times == {"never": [0, 9, 18, 18], "every_pass": [0, 1, 2, 9, 18, 18]}


def test_loaded_to_the_end():
    """Jobs keep arriving until the last job of the episode has started."""
    env = gymnasium.make("Backfill-v0", episode_jobs=50, warmup_jobs=50).unwrapped
    env.reset(seed=1)
    done = False
    while not done:
        _, _, done, _, _ = env.step(env.window if env.action_masks()[-1] else 0)
        if waiting(env.cluster).max(initial=0) >= env.episode_jobs.stop:
            return
    pytest.fail("no job after the episode's ever arrived")


def test_handles_of():
    """An environment of another kind has no handles, and neither has anything else."""
    with pytest.raises(bfenv.PolicyError, match="CartPole"):
        PolicyAgent("easy", gymnasium.make("CartPole-v1"))
    for value in (None, 3):
        with pytest.raises(bfenv.PolicyError, match=f"got {value}$"):
            PolicyAgent("easy", value)


def test_illegal_start():
    """An illegal start of a policy is an error and leaves the machine alone."""

    def greedy(cluster, jobs, memory):
        for job in waiting(cluster):
            start(cluster, jobs, job)

    trace = bfenv.make_trace([0, 0], [1, 1], [1, 1], 1)
    env = whole(trace)
    observation, _ = env.reset(seed=0)
    with pytest.raises(bfenv.PolicyError, match="illegal start of job 1"):
        PolicyAgent(bfenv.Policy("greedy", greedy), env).predict(observation)
    assert waiting(env.cluster).tolist() == [0, 1]


def test_render_mode():
    """Without a render mode, `render` is an error."""
    env = BackfillEnv()
    env.reset(seed=0)
    with pytest.raises(bfenv.BfenvError, match="render_mode"):
        env.render()


def test_truth_is_private():
    """No public attribute but the traces tells when a running job will end."""
    trace = bfenv.make_trace([1_000, 1_000], [1, 1], [12_345, 7], 2, estimate=[99_999, 9])
    env = whole(trace)
    env.reset(seed=0)
    env.step(0)
    begin = int(env.cluster.start[0])
    secret = {12_345, begin + 12_345, begin - 1_000 + 12_345}
    told = [path for path, array in public_arrays(env) if secret & set(array.ravel().tolist())]
    assert told and all("trace" in path for path in told)  # the traces are there for scoring


def public_arrays(value, path="env", depth=6):
    """Every integer array that public names lead to, with its path."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "iu":
            yield path, value
    elif depth and isinstance(value, list):
        for i, each in enumerate(value):
            yield from public_arrays(each, f"{path}[{i}]", depth - 1)
    elif depth and type(value).__module__.startswith("bfenv"):
        for name in dir(value):
            if not name.startswith("_") and not callable(getattr(value, name)):
                yield from public_arrays(getattr(value, name), f"{path}.{name}", depth - 1)


def test_outages():
    """A workload with outages is refused by one error that names it, and says what to do."""
    trace = bfenv.make_trace([0, 1], [1, 1], [5, 5], 2, outages=(Outage(9, 20, 1),), name="site")
    with pytest.raises(
        bfenv.WorkloadError, match="site has outages, .* `bfenv.simulate`"
    ) as caught:
        BackfillEnv(["lublin", trace])
    assert "\n" not in str(caught.value)
    assert BackfillEnv(replace(trace, outages=()), split="all", warmup_jobs=0, episode_jobs=2)
