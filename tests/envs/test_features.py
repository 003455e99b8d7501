"""The tables of features, and the scales that they are written in."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import bfenv.envs.features as f
from bfenv.envs import features
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.observation import log, log_count, log_expansion, log_time
from bfenv.knowledge.user_history import QUANTITIES


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
    rows = [*f.QUEUE, *f.AGE, *f.TRIAL, *f.CLUSTER, *f.PASS, *f.PROFILE]
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
    names = [feature.name for feature in f.job_columns(["priority", "users"], age=True, trial=True)]
    groups = (*f.USERS, *f.JOB_FEATURES["priority"], *f.AGE, *f.TRIAL)
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


def test_versions():
    """What a version added to is another observation for earlier models; the rest is the same."""
    assert f.has_same_columns(f.VERSION, ["users"]) and f.has_same_columns(3, ["priority"])
    assert not f.has_same_columns(3, ["users"])
    assert not f.has_same_columns(2, []) and not f.has_same_columns(f.VERSION + 1, [])


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
        ({"trial_limit": 900}, True),
    ):
        env = BackfillEnv("lublin", **options)
        observation, info = env.reset(seed=0)
        assert env.observation_space["cluster"].shape == (width + seen,)
        for _ in range(20):
            assert not seen or observation["cluster"][-1] == info["action_mask"][env.window]
            observation, *_, info = env.step(int(info["action_mask"].argmax()))
