"""Learners and their curves: pairs in a small case, and the arithmetic of intervals."""

import numpy as np
import pytest

from bfenv.core.errors import BfenvError

learn = pytest.importorskip("benchmarks.learn")

pytestmark = [pytest.mark.torch, pytest.mark.compiled]


def test_interquartile_mean():
    """The interquartile mean leaves out a quarter of the values at either end."""
    assert learn.interquartile_mean(np.array([[9, 1], [2, 3], [100, 4], [5, 6]])) == 4.5
    assert learn.interquartile_mean(np.full((2, 8), 0.7)) == pytest.approx(0.7)


def test_bootstrap_interval():
    """The interval holds the interquartile mean, and is a point where all runs are equal."""
    generator = np.random.default_rng(1)
    scores = generator.lognormal(size=(5, 40))
    low, high = learn.bootstrap_interval(scores)
    assert low < learn.interquartile_mean(scores) < high < low + 0.5
    same = np.tile(scores[:1], (5, 1))
    assert learn.bootstrap_interval(same) == pytest.approx((learn.interquartile_mean(same),) * 2)


def test_points(tmp_path):
    """Points survive their file, a table has a row for either end, and a picture is drawn."""
    points = [
        learn.Point(name, seed, steps, episode, 1.0 + seed + steps, 0.5, 3.0)
        for name in ("random", "MaskablePPO")
        for seed in range(2 if name != "random" else 1)
        for steps in ((0, 8, 16) if name != "random" else (0,))
        for episode in range(4)
    ]
    learn.write_points(tmp_path / "points.csv", points)
    assert learn.read_points(tmp_path / "points.csv") == points
    rows = learn.table(points)
    assert [row[:3] for row in rows] == [
        ("random", "", "1"),
        ("MaskablePPO", "", "2"),
        ("MaskablePPO", "16", "2"),
    ]
    assert rows[-1][4:6] == ("17.000", "18.000") and rows[-1][-1] == "100%"
    learn.draw_curves(points, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BfenvError, match=r"other\.csv"):
        learn.read_points(tmp_path / "other.csv")


def test_training():
    """A curve has a point before the training, later ones, and one at its end, all of one run."""
    watchers = []
    curves = learn.learning_points(
        ["A2C"], 1, 160, episodes=2, workload="lublin:jobs=3000,procs=32", watch=watchers.append
    )
    curve = next(curves)
    (share,) = watchers
    assert share() == 1
    assert list(curves) == []
    steps = sorted({point.steps for point in curve})
    assert steps[0] == 0 and steps[-1] == 160 and len(steps) > 2
    assert {(point.learner, point.seed) for point in curve} == {("A2C", 0)}
    assert {point.episode for point in curve} == {0, 1}
    untrained, trained = (
        [point.measure for point in curve if point.steps == count] for count in (0, 160)
    )
    assert untrained != trained


@pytest.mark.together
@pytest.mark.thorough
def test_evolution():
    """On unseen episodes, an evolved order is below the best known one."""
    references = learn.reference_points(episodes=64)
    (curve,) = learn.learning_points([learn.EVOLUTION], 1, 0, episodes=64)
    order = [point.measure for point in references if point.learner == learn.BEST_ORDER]
    assert np.log([point.measure for point in curve]).mean() < np.log(order).mean()


@pytest.mark.thorough
def test_learns():
    """After 131,072 steps, a library's network is below EASY, random actions and where it began."""
    references = learn.reference_points(episodes=16)
    (curve,) = learn.learning_points(["MaskablePPO-256"], 1, 131_072, episodes=16)
    random, easy, untrained, trained = (
        np.exp(np.mean(np.log([point.measure for point in points])))
        for points in (
            [point for point in references if point.learner == "random"],
            [point for point in references if point.learner == "easy"],
            [point for point in curve if point.steps == 0],
            [point for point in curve if point.steps >= 131_072],
        )
    )
    assert trained < 0.8 * easy and trained < 0.8 * random and trained < 0.5 * untrained
