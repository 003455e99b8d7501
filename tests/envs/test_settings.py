"""Settings: errors, signatures and types."""

import inspect
import math
import pickle
from typing import get_type_hints

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv
import bfenv.envs.features as f
from bfenv.envs import features
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.observation import log, log_count, log_expansion, log_time
from bfenv.envs.sb3 import BackfillVecEnv
from bfenv.envs.settings import SETTINGS, EnvSettings, UnknownSettingError
from bfenv.envs.vector import BackfillVectorEnv
from bfenv.knowledge.user_history import QUANTITIES


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window .*0"),
        ({"window": 2.5}, "window .*2.5"),
        ({"reservations": -1}, "reservations .*-1"),
        ({"reservations": "newest"}, "reservations must be one of 'chosen', 1, 0; got 'newest'"),
        ({"reservations": 2}, "reservations must be one of 'chosen', 1, 0; got 2"),
        ({"reservations": True}, "reservations .*True"),
        ({"episode_jobs": 0}, "episode_jobs"),
        ({"warmup_jobs": -1}, "warmup_jobs"),
        ({"episode_jobs": 10**6}, "episode_jobs=1000000"),
        ({"split": "trian"}, "split 'trian'"),
        ({"reward": "weight"}, "reward 'weight'"),
        ({"reward": "nowhere:f"}, "nowhere:f"),
        ({"reward": 3}, "reward .*3"),
        ({"workload": "lubin"}, "workload 'lubin'"),
        ({"load": 0.0}, "load"),
        ({"load": float("nan")}, "load"),
        ({"render_mode": "jpeg"}, "render_mode"),
        ({"idle": "sometimes"}, "idle .*'sometimes'"),
        ({"window_order": "sjf"}, "window_order must be one of 'mixed', 'oldest', 'saf'.*'sjf'"),
        ({"window_order": np.zeros(2)}, r"window_order .*array"),
        ({"reward": np.zeros(2)}, "reward .*array"),
        ({"reward": len}, "reward .*two or three arguments, got .*len"),
        ({"load": np.array(0.7)}, "load .*array"),
        ({"job_features": False}, "job_features .*False"),
        ({"job_features": "users"}, "job_features .* list .*'users'"),
        ({"job_features": (name for name in ["users"])}, "job_features .* list"),
        ({"window_order": ["size"]}, r"window_order .*\['size'\]"),
        ({"job_features": ["user"]}, "job_features .*'user'"),
        ({"trial_limit": None}, "trial_limit"),
        ({"guard": 0.9}, "guard"),
        ({"tau": 0}, "tau .*0"),
        ({"split": None}, "split 'None'"),
        ({"split": ["train"]}, "split"),
        ({"workload": 3}, "workload .*3"),
        ({"reward": "os:sep"}, "os:sep"),
        ({"reward": ":"}, ":"),
        ({"reward": "os:"}, "os:"),
        ({"window": 10**12}, "window .*1000000000000"),
        ({"warmup_jobs": 10**30}, "warmup_jobs=1000000"),
    ],
)
def test_errors(options, message):
    """A wrong setting is named, with its value, in one line."""
    with pytest.raises(bfenv.BfenvError, match=message) as caught:
        BackfillEnv(**options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_envs": 0}, "num_envs .*0"),
        ({"window": 10**12}, "window .*1000000000000"),
        ({"workload": []}, "workload .*empty"),
        ({"load": []}, "load .*empty"),
        ({"load": "12"}, "load .*'12'"),
        ({"workload": 3}, "workload .*3"),
        ({"max_episode_steps": 0}, "max_episode_steps .*0"),
        ({"windw": 3}, "'windw'"),
    ],
)
def test_vector_errors(settings, message):
    """So it is by the vector environment."""
    with pytest.raises(bfenv.BfenvError, match=message):
        BackfillVectorEnv(**settings)


ENVIRONMENTS = [BackfillEnv, BackfillVectorEnv, BackfillVecEnv]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_unknown(environment):
    """An unknown setting is a TypeError, as of any function, and a BfenvError."""
    with pytest.raises(UnknownSettingError, match="'windw'.*window") as caught:
        environment(windw=3)
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, bfenv.BfenvError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and "unexpected keyword argument 'windw'" in str(again)


def test_unknown_in_make():
    """`gymnasium.make` raises it again with a longer message, which names the setting."""
    with pytest.raises(UnknownSettingError, match="'windw'.*window.*Backfill-v0"):
        gymnasium.make("Backfill-v0", windw=3)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_signature(environment):
    """Each environment's signature has the workload and every setting, with its default."""
    parameters = inspect.signature(environment).parameters
    own = ("num_envs", "autoreset_mode", "copy", "threads")  # of vectors
    assert [name for name in parameters if name not in own] == ["workload", *SETTINGS]
    for name, setting in SETTINGS.items():
        assert parameters[name].default == setting.default
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY


def test_defaults():
    """Every default has the type of its annotation, and every meaning is a sentence."""
    kinds = {"reward": str, "episode_jobs": int, "load": type(None)}
    optional = ("render_mode", "max_episode_steps", "job_features")
    kinds |= dict.fromkeys(optional, type(None))
    for name, annotation in get_type_hints(EnvSettings).items():
        assert isinstance(SETTINGS[name].default, kinds.get(name, annotation)), name
        assert SETTINGS[name].meaning.endswith(".")


def test_numpy_integers():
    """Integers of numpy are integers."""
    lengths = {"episode_jobs": np.int32(9), "warmup_jobs": np.int64(3)}
    env = BackfillEnv("lublin:jobs=100", window=np.int64(4), **lengths)
    assert env.action_space.n == 5 and env.reset(seed=0)[0]["queue"].shape == (4, 10)


@given(st.floats(1, 1e15))
def test_log(x):
    """The logarithm is that of the standard library, far closer than float32 can tell."""
    assert abs(log(x) - math.log(x)) < 1e-9


def test_scales():
    """The scales have the values that the page of the environment gives, and stay within 0 to 1."""
    assert [round(log_time(t), 2) for t in (600, 36_000, 360_000)] == [0.4, 0.66, 0.8]
    for scale, most in ((log_time, 100 * 86_400), (log_count, 10_000)):
        assert scale(0) == 0.0
        assert abs(scale(most) - 1.0) < 1e-9
        assert scale(most + 1) == scale(10 * most) == 1.0
        values = [scale(n) for n in (0, 1, 2, 10, 100, 1000)]
        assert values == sorted(set(values))
    values = [log_expansion(ratio) for ratio in (1, 10, 100, 1000, 10_000, 100_000)]
    assert np.allclose(values, [0, 0.25, 0.5, 0.75, 1, 1], atol=1e-9)


def test_tables():
    """Names are unique, ranges are not empty, and each number says what it is."""
    rows = [*f.QUEUE, *f.CLUSTER, *f.PASS, *f.PROFILE]
    rows += [feature for group in f.JOB_FEATURES.values() for feature in group]
    assert len({feature.name for feature in rows}) == len(rows)
    for feature in rows:
        assert -1 <= feature.low < feature.high <= 1
        assert feature.unit and feature.formula


def test_columns():
    """Every feature has a named index, which is its place in its table."""
    for table, prefix in ((f.QUEUE, "JOB_"), (f.CLUSTER, "CLUSTER_")):
        for i, feature in enumerate(table):
            assert getattr(features, prefix + feature.name.upper()) == i


def test_groups():
    """Groups follow QUEUE in one order, whatever order they are named in."""
    names = [feature.name for feature in f.job_columns(["priority", "users"])]
    groups = (*f.USERS, *f.JOB_FEATURES["priority"])
    assert names == [feature.name for feature in (*f.QUEUE, *groups)]


def test_quantities():
    """The features of users are called, measured and explained like the quantities of orders."""
    by_name = {quantity.name: quantity for quantity in QUANTITIES}
    for feature in f.USERS:
        quantity = by_name[feature.name]
        assert feature.unit == quantity.unit and quantity.meaning in feature.formula
    scales = {feature.name: feature.formula.partition("(")[0] for feature in f.USERS}
    assert scales["predicted_expansion"] == "log_expansion"
    assert scales["user_runtime"] == "log_time" and scales["user_running"] == "log_count"


def test_times_ahead():
    """The profile looks ahead from now to five days, at ascending times."""
    assert f.AHEAD[0] == 0 and f.AHEAD[-1] == 5 * 86_400
    assert (np.diff(f.AHEAD) > 0).all()


def test_pass_legal():
    """Whether the pass is legal is seen where that varies."""
    width = len(f.CLUSTER)
    for options, seen in (
        ({}, False),
        ({"idle": "allowed"}, True),
        ({"idle": "every_pass"}, True),
    ):
        env = BackfillEnv("lublin", **options)
        observation, info = env.reset(seed=0)
        assert env.observation_space["cluster"].shape == (width + seen,)
        for _ in range(20):
            assert not seen or observation["cluster"][-1] == info["action_mask"][env.window]
            observation, *_, info = env.step(int(info["action_mask"].argmax()))
