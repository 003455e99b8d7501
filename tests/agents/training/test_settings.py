"""Settings: presets, files, changes by name, and what is refused."""

from dataclasses import fields

import numpy as np
import pytest

from bfenv.agents.training import TrainSettings, change, find_settings, presets
from bfenv.agents.training.curves import Point, curves_csv, draw_curves, read_curves
from bfenv.agents.training.run_folder import RunFolder
from bfenv.agents.training.settings import ORDER, command, read_changes, write_settings
from bfenv.core.errors import BfenvError

pytestmark = pytest.mark.torch


def test_presets():
    """Every preset is valid; those like another have its other settings; orders are windows'."""
    for name, preset in presets().items():
        settings, other = find_settings(name), find_settings(preset.get("like", name))
        differing = {f.name for f in fields(settings)}
        differing = {f for f in differing if getattr(settings, f) != getattr(other, f)}
        assert differing <= set(preset)
        order = settings.environment.get("window_order")
        assert order is None or settings.warm_start == ORDER + order


def test_round_trip(tmp_path):
    """Settings written to a file are those that are read."""
    settings = change(find_settings("toy"), {"horizon": "2d", "learning_rate": 3e-5})
    path = tmp_path / "settings.yaml"
    path.write_text(write_settings(settings))
    assert find_settings(str(path)).as_dict() == settings.as_dict()
    assert find_settings(f"{path}:settings").as_dict() == settings.as_dict()
    assert find_settings(f"{path}:toy") == find_settings("toy")


def test_changes():
    """Changes are YAML, reach into the environment, and leave the rest."""
    texts = ["learning_rate=3e-4", "environment.window=64", "target_kl=null", "horizon=12h"]
    settings = change(find_settings("toy"), read_changes(texts))
    assert (settings.learning_rate, settings.target_kl) == (3e-4, None)
    assert settings.horizon_seconds == 12 * 3600
    assert settings.environment == {**find_settings("toy").environment, "window": 64}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning=1", "did you mean learning_rate"),
        ("gamma=2", "gamma must be a finite number from 0 to 1, got 2"),
        ("network=deep", "network must be one of 'scorer', 'ranker'"),
        ("environment.windows=3", "unknown setting of the environment 'windows'"),
        ("steps", "NAME=VALUE, got 'steps'"),
        ("steps=[1", "cannot be read as YAML"),
        ("horizon=soon", "horizon: 'soon'"),
        ("horizon=[1]", r"horizon must be a finite number > 0, got \[1\]"),
        ("seed=5000000000", "seed must be an integer from 0 to 4,294,967,295"),
        ("workload=3", "workload must be a list of names, got 3"),
        ("environment={1: 2}", "unknown setting of the environment '1'"),
        ("environment={load: {}}", "load must be text, a number or a list of these"),
        ("environment.trial_limit=60", "no actions for trials"),
        ("num_envs=1.5", "num_envs must be an integer"),
        ("credit=group", "num_envs must be a multiple of group_size=4, got 18"),
        ("threads=1025", "threads must be an integer from 1 to 1,024"),
        ("warm_start=easy-sjf", "warm_start must be order:EXPRESSION, got 'easy-sjf'"),
        ('learning_rate=!!int ""', '^learning_rate=!!int "": is no value'),
        ("learning_rate=!!timestamp x", "is no value"),
        ("learning_rate=" + "9" * 5000, "^learning_rate=9+: is no value, or too large"),
        ("seed=0x" + "f" * 5000, "is no value, or too large"),
        ("workload=" + "[" * 1500, "is no value, or too large or deep a one"),
    ],
)
def test_refused(text, message):
    """A wrong change is refused in one line that names it."""
    with pytest.raises(BfenvError, match=message) as caught:
        change(find_settings("toy"), {"num_envs": 18} | read_changes([text]))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_plain_values():
    """Tuples and numbers of numpy are written like lists and numbers, and compared as these."""
    environment = {"load": (0.5, np.float64(0.75)), "window": np.int64(8)}
    settings = change(TrainSettings(), {"environment": environment, "gamma": np.float32(0.5)})
    plain = {"environment": {"load": [0.5, 0.75], "window": 8}, "gamma": 0.5}
    expected = change(TrainSettings(), plain)
    assert settings.as_dict() == expected.as_dict()
    assert write_settings(settings) == write_settings(expected)
    assert command(settings) == command(expected)


def test_files(tmp_path):
    """Files that are no presets are refused, and presets that are like themselves."""
    path = tmp_path / "own.yaml"
    for text, message in (
        ("a: 1", "expected presets"),
        ("a: {like: a}", "'a' is defined by itself: a is like a"),
        ("a: {like: nothing}", "unknown preset 'nothing'"),
        ("a: !!python/object:os.system {}", "cannot be read as YAML"),
    ):
        path.write_text(text)
        with pytest.raises(BfenvError, match=message):
            find_settings(str(path))
    path.write_text("a: {like: b}\nb: {like: a}")
    with pytest.raises(BfenvError, match="'b' is defined by itself: b is like a is like b"):
        find_settings(f"{path}:b")
    with pytest.raises(BfenvError, match=r"has several presets: a, b; choose one, as in .*yaml:a$"):
        find_settings(str(path))
    with pytest.raises(BfenvError, match="yaml: cannot be read: No such file or directory$"):
        find_settings(str(tmp_path / "missing.yaml"))
    assert TrainSettings().horizon_seconds == float("inf")


def write_run(folder, seed, network, ratio):
    settings = change(find_settings("toy"), {"seed": seed, "network": network})
    run = RunFolder(folder, settings, resume=False)
    run.write_row({"update": 1, "steps": 10})
    run.write_row({"update": 2, "steps": 20, "ratio": ratio, "wait_ratio": 1.5})


def test_points(tmp_path):
    """Only validations are points; trainings are labelled by what differs beside the seed."""
    write_run(tmp_path / "a" / "0", 0, "scorer", 0.5)
    write_run(tmp_path / "a" / "1", 1, "scorer", 0.7)
    assert read_curves(tmp_path) == [
        Point("scorer", 0, 20, 0.5, 1.5),
        Point("scorer", 1, 20, 0.7, 1.5),
    ]
    write_run(tmp_path / "b", 0, "ranker", 0.6)
    points = read_curves(tmp_path)
    assert [p.label for p in points] == 2 * ["network=scorer"] + ["network=ranker"]
    assert curves_csv(points).splitlines()[1] == "network=scorer,0,20,0.5,1.5"


def test_picture(tmp_path):
    """A picture is drawn; another kind of file, and a folder without trainings, is refused."""
    with pytest.raises(BfenvError, match="no validation scores found"):
        read_curves(tmp_path)
    points = [Point("scorer", seed, steps, 0.5 + seed, 1) for seed in (0, 1) for steps in (1, 2)]
    draw_curves(points, tmp_path / "curves.svg")
    text = (tmp_path / "curves.svg").read_text()
    assert "svg" in text
    with pytest.raises(BfenvError, match="suffix of a picture must be"):
        draw_curves(points, tmp_path / "curves.unknown")
