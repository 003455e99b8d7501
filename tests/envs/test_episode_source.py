"""Where episodes come from: splits, workloads, and the options of reset."""

import gymnasium
import pytest

import bfenv
from bfenv.core.cluster import running, waiting
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import TRAINING_LOADS
from tests.envs.test_vector import SHORT


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
    env = BackfillEnv("lublin:jobs=1300")
    first, last = env.batch.source.splits[0]
    drawn = set()
    for seed in range(200):
        env.reset(seed=seed)
        drawn.add(env.episode_jobs.start)
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
    assert env.episode_jobs == range(300, 556)
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
    """Training is on several generated traces and loads; validation and test on another seed."""
    traces = BackfillEnv().batch.source.traces
    assert len(traces) == 12 and len({trace.hash for trace in traces}) == 12
    loads = {round(trace.offered_load, 1) for trace in traces}
    assert loads == set(TRAINING_LOADS)
    for split in ("validation", "test", "all"):
        assert BackfillEnv(split=split).batch.source.traces == [bfenv.load_workload("lublin")]
    assert bfenv.load_workload("lublin").hash not in {trace.hash for trace in traces}
    drawn = set()
    env = BackfillEnv(warmup_jobs=0, episode_jobs=5)
    for seed in range(100):
        env.reset(seed=seed)
        drawn.add(env.batch.windows[0].k)
    assert len(drawn) == 12
    at_one_load = BackfillEnv(load=0.5).batch.source.traces
    assert [round(trace.offered_load, 1) for trace in at_one_load] == [0.5] * 4
    assert BackfillEnv("lublin").batch.source.traces == [bfenv.load_workload("lublin")]
