"""Learning curves: which trainings are one curve, and files."""

import pytest

from bfenv.agents.training import change, find_settings
from bfenv.agents.training.curves import Point, curves_csv, draw_curves, read_curves
from bfenv.agents.training.run_folder import RunFolder
from bfenv.core.errors import BfenvError

pytestmark = pytest.mark.torch


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
