"""Tasks for services in which a language model rewrites a scheduler."""

import importlib.util
import json
import stat

import numpy as np
import pytest

import bfenv
from bfenv.core.errors import BfenvError
from bfenv_judge import evolution as ev
from bfenv_judge.evolution import score_program

WORKLOAD = "lublin:procs=32,jobs=400,load=0.9,seed=1"


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    """A small task."""
    folder = tmp_path_factory.mktemp("task")
    ev.write_task(folder / "task", [WORKLOAD], windows=2, window_jobs=50)
    return folder / "task"


def program(folder, text):
    """A file with a program."""
    path = folder / "program.py"
    path.write_text(text)
    return path


def test_files(task):
    """The salt can be read by its owner only, and a task is not overwritten."""
    assert stat.S_IMODE((task / ev.TASK).stat().st_mode) == 0o600
    content = json.loads((task / ev.TASK).read_text())
    assert content["workloads"] == [WORKLOAD] and content["salt"] > 0
    with pytest.raises(BfenvError, match="has a task already"):
        ev.write_task(task, [WORKLOAD], window_jobs=50)
    with pytest.raises(BfenvError, match="window_jobs of lublin.* from 2 to"):
        ev.write_task(task / "other", [WORKLOAD], window_jobs=500)


def test_first_program(task):
    """It is EASY: 1 on the logs, a tenth on windows, and it passes the first stage."""
    first = task / "initial_program.py"
    scores = [score_program(task, first, stage)[0]["combined_score"] for stage in ev.STAGES]
    assert scores == [ev.PASSED, ev.OF_WINDOWS, 1.0]
    metrics, texts = score_program(task, first, "logs")
    assert metrics == {"combined_score": 1.0, "slowdown_ratio": 1.0, "longest_wait_ratio": 1.0}
    assert "mean bounded slowdown 1.000, longest wait 1.00 of EASY's" in texts["ratios"]
    assert len(texts["longest_waits"].splitlines()) == 1 + ev.LONGEST


def test_starvation_does_not_pay():
    """Beyond twice EASY's longest wait the score is below EASY's by the square of the excess."""
    fair, starving = (
        ev._summary([ev.Measured("log", 0.5, wait, "jobs")], 1.0) for wait in (2.0, 4.0)
    )
    assert fair[0]["combined_score"] == pytest.approx(2.0) and "starvation" not in fair[1]
    assert starving[0]["combined_score"] == pytest.approx(0.25)
    assert "longest wait is 4.0 times EASY's" in starving[1]["starvation"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("def decide(cluster, jobs)\n", "SyntaxError"),
        ("def decide(cluster, jobs):\n    pass\n", "leaves 60 jobs waiting forever"),
        ("def decide(cluster, jobs):\n    raise SystemExit(3)\n", "SystemExit: 3"),
        (
            "from bfenv.core.cluster import start\ndef decide(cluster, jobs):\n"
            "    start(cluster, jobs, 59)\n",
            "illegal start of job 59",
        ),
    ],
)
def test_failing_programs(task, tmp_path, text, error):
    """A program that fails has 0, and the reason is for the model."""
    metrics, texts = score_program(task, program(tmp_path, text), "conformance")
    assert metrics == {"combined_score": 0.0}
    assert error in texts["error"] and "in stage conformance" in texts["error"]


def test_no_patching(task, tmp_path):
    """A program that rewrites the metrics and the trace in its process changes nothing here."""
    text = (task / "initial_program.py").read_text()
    patch = (
        "import bfenv.core.schedule as s, bfenv_judge.evolution as e\n"
        "s.bounded_slowdown = lambda *a: 0\ne._summary = lambda *a: ({'combined_score': 99}, {})\n"
    )
    patched = program(tmp_path, text + patch)
    assert score_program(task, patched, "logs")[0]["combined_score"] == 1.0


def test_salted():
    """The copy has other times, runtimes and users, no records, and depends on the salt alone."""
    trace = bfenv.load_workload("lublin:jobs=300", seed=3)
    trace = bfenv.make_trace(
        trace.jobs.submit,
        trace.jobs.size,
        trace.runtime,
        trace.processors,
        estimate=trace.jobs.estimate,
        user=np.arange(300) % 7,
    )
    one, same, other = (ev.salted(trace, salt, 0) for salt in (5, 5, 6))
    assert one.hash == same.hash != other.hash
    assert sorted(one.jobs.size) == sorted(trace.jobs.size) and one.records is None
    assert (one.runtime <= one.jobs.estimate).all()
    assert set(one.jobs.user) == set(trace.jobs.user)
    assert sorted(one.runtime) != sorted(trace.runtime)
    exact = bfenv.make_trace(trace.jobs.submit, trace.jobs.size, trace.runtime, trace.processors)
    copy = ev.salted(exact, 5, 0)
    assert (copy.runtime == copy.jobs.estimate).all() and (copy.jobs.user == -1).all()


def test_evaluator(task, tmp_path):
    """The file that services import gives a dict where OpenEvolve is not installed."""
    spec = importlib.util.spec_from_file_location("evaluator", task / "evaluator.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    failing = str(program(tmp_path, "decide = 3"))
    for result in (module.evaluate_stage1(failing), module.evaluate(failing)):
        assert (
            result["combined_score"] == 0 and "in stage conformance" in result["artifacts"]["error"]
        )


def test_missing_task(tmp_path):
    """A folder without a task, an incomplete task and an unknown stage are errors."""
    with pytest.raises(BfenvError, match="no task that can be read"):
        score_program(tmp_path, "x.py", "logs")
    (tmp_path / "task.json").write_text('{"salt": 1}')
    with pytest.raises(BfenvError, match="no task, or not of this version: it needs workloads"):
        score_program(tmp_path, "x.py", "logs")
    with pytest.raises(BfenvError, match="stage must be one of"):
        score_program(tmp_path, "x.py", "all")
