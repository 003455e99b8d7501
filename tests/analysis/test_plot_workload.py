"""The picture of a workload: that there is one, of every trace, and what its panels show."""

import sys

import numpy as np
import pytest

import bfenv
from bfenv.analysis.plots.workload import check_target, duration, plot, write_plot
from bfenv.workloads.transform import at_once

pytest.importorskip("matplotlib")


def panels(trace):
    return {axes.get_title(loc="left").split(":")[0]: axes for axes in plot(trace).axes}


@pytest.mark.parametrize(
    ("suffix", "begin"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")]
)
def test_a_picture_is_of_the_kind_that_its_name_says(tmp_path, suffix, begin):
    path = tmp_path / f"one{suffix}"
    write_plot(bfenv.load_workload("lublin", jobs=300), path)
    assert path.read_bytes().startswith(begin)
    assert list(tmp_path.iterdir()) == [path]


def test_equal_traces_have_equal_pictures(tmp_path):
    trace = bfenv.load_workload("lublin", jobs=300)
    one, two, other = (tmp_path / f"{name}.svg" for name in ("one", "two", "other"))
    write_plot(trace, one)
    write_plot(trace, two)
    write_plot(bfenv.load_workload("lublin", jobs=300, seed=1), other)
    assert one.read_bytes() == two.read_bytes() != other.read_bytes()


def test_every_trace_has_a_picture():
    model = bfenv.load_workload("lublin", jobs=300)
    for trace in (
        model,
        at_once(model),
        model[:1],
        model[:2],
        bfenv.make_trace([0, 0], [1, 1], [1, 1], 1),
        bfenv.make_trace([0, 10**9], [10**6, 3], [10**8, 1], 10**6, estimate=[10**9, 1]),
    ):
        figure = plot(trace)
        figure.canvas.draw()
        assert len(figure.axes) == 9


def test_the_panels_show_the_numbers_of_the_trace():
    trace = bfenv.make_trace(
        [0, 3600, 7200, 7300], [1, 2, 3, 4], [60, 60, 600, 900], 4, estimate=[60, 120, 3600, 3600]
    )
    shown = panels(trace)
    runtime, estimate = shown["Runtimes and estimates"].get_lines()
    assert runtime.get_xdata()[1:].tolist() == [60, 600, 900]
    assert runtime.get_ydata().tolist() == [0, 50, 75, 100]
    assert estimate.get_ydata().tolist() == [0, 25, 50, 100]
    bars = shown["Most popular estimates"].patches
    assert [bar.get_width() for bar in bars] == [50, 25, 25]
    assert [tick.get_text() for tick in shown["Most popular estimates"].get_yticklabels()] == [
        "1 h", "1 min", "2 min",
    ]  # fmt: skip
    heights = [bar.get_height() for bar in shown["Sizes"].patches]
    assert heights == [25, 25, 25, 0, 0, 25]  # 1, 2, 4; 3
    hours = [bar.get_height() for bar in shown["Arrivals by hour of the day"].patches]
    assert hours == [25, 25, 50] + [0] * 21
    accuracy = [bar.get_height() for bar in shown["How much of the estimate is used"].patches]
    assert np.flatnonzero(accuracy).tolist() == [3, 5, 10, 19]
    lengths = [bar.get_height() for bar in shown["Jobs by length, in steps of 1 min"].patches]
    assert sum(lengths) == 4


def test_weekends_are_shown_where_the_date_is_known(tmp_path):
    line = "1 {} -1 5 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1"
    days = "\n".join(line.format(86_400 * day) for day in range(14))
    head = "; MaxProcs: 8\n; UnixStartTime: 843470000\n"
    (tmp_path / "log.swf").write_text(f"{head}{days}\n")
    axes = panels(bfenv.read_swf(tmp_path / "log.swf"))["Arrivals by day of the week"]
    assert [round(bar.get_height(), 6) for bar in axes.patches] == [round(100 / 7, 6)] * 7
    model = panels(bfenv.load_workload("lublin", jobs=300))["Arrivals by day of the week"]
    assert not model.patches and "no weekdays" in model.texts[0].get_text()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"), (59, "59 s"), (60, "1 min"), (90, "1 min 30 s"), (900, "15 min"),
        (3600, "1 h"), (7140, "1 h 59 min"), (12_000, "3 h 20 min"), (129_600, "36 h"),
        (172_800, "2 d"), (216_000, "2 d 12 h"), (28_762_000, "333 d"), (10**8, "1,157 d"),
    ],
)  # fmt: skip
def test_times_are_for_people(seconds, text):
    assert duration(seconds) == text


def test_a_picture_of_another_kind_or_in_no_folder_is_refused(tmp_path):
    for name in ("a.gif", "a", "a.png.gz"):
        with pytest.raises(bfenv.BfenvError, match=r"a picture is \.png, \.svg, \.pdf, not"):
            check_target(tmp_path / name)
    with pytest.raises(bfenv.BfenvError, match="no such folder"):
        check_target(tmp_path / "nowhere" / "a.png")


def test_without_matplotlib_the_way_to_get_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(bfenv.BfenvError, match=r"pip install 'bfenv\[plot\]'"):
        write_plot(bfenv.load_workload("lublin", jobs=300), tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_nothing_but_a_picture_needs_matplotlib():
    import subprocess

    modules = "sys, bfenv.cli.info, bfenv.analysis.plots.workload"
    code = f"import {modules}; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
