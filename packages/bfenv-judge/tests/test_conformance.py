"""The cases for EASY and conservative backfilling: right, sharp, and usable by any simulator."""

import json
import os
import shlex
import sys

import pytest
from typer.testing import CliRunner

from bfenv.cli.app import app
from bfenv_judge import conformance
from bfenv_judge.conformance import ConformanceError
from tests.conftest import ROOT
from tests.oracles import mistakes

CASES = conformance.load_cases()
NAMES = [f"{case.rules}/{case.name}" for case in CASES]
MISTAKES = [
    (rules, mistake) for rules, (_, known) in mistakes.SCHEDULERS.items() for mistake in known
]
SIMULATOR = """
import sys
sys.path.insert(0, {root!r})
from tests.oracles.mistakes import starts
rows = [line.split() for line in open(sys.argv[1])]
processors = int(next(row[2] for row in rows if row[:2] == [";", "MaxProcs:"]))
jobs = [tuple(int(row[field]) for field in (1, 7, 3, 8)) for row in rows if row[0] != ";"]
for job, start in enumerate(starts({rules!r}, jobs, processors, {mistake!r}), 1):
    print(job, start)
"""


def cases_of(rules):
    return conformance.load_cases(rules)


def simulator(tmp_path, rules, mistake):
    path = tmp_path / "simulator.py"
    path.write_text(SIMULATOR.format(root=str(ROOT), rules=rules, mistake=mistake))
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))} {{input}}"


def answering(text):
    """A command that answers the same to every case."""
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(f'print({text!r})')} {{input}}"


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_second_implementation(case):
    """With and without each mistake, jobs start when the slow implementation starts them."""
    assert list(case.starts) == mistakes.starts(case.rules, case.jobs, case.processors)
    changed = {}
    for mistake, cause in mistakes.SCHEDULERS[case.rules][1].items():
        starts = mistakes.starts(case.rules, case.jobs, case.processors, mistake)
        if starts != list(case.starts):
            changed[cause] = tuple(starts)
    assert case.mistakes == changed


@pytest.mark.parametrize("rules", conformance.RULES)
def test_bfenv_conforms(rules):
    """The policies of the same names pass all cases."""
    assert all(verdict.passed for verdict in conformance.run_policy(rules, cases_of(rules)))


@pytest.mark.parametrize(("rules", "mistake"), MISTAKES)
def test_each_mistake_is_caught(rules, mistake):
    """Each mistake fails a case; one about a convention fails only cases of conventions."""
    cause = mistakes.SCHEDULERS[rules][1][mistake]
    failed = [case for case in cases_of(rules) if cause in case.mistakes]
    assert failed
    if mistake in mistakes.CONVENTIONS:
        assert all(case.convention for case in failed)
    else:
        assert not all(case.convention for case in failed)


def test_no_idle_case():
    """No case is idle: each catches a mistake."""
    assert all(case.mistakes for case in CASES)


def test_a_mistake_is_named(tmp_path):
    """The one mistake that explains all starts of a command is found."""
    command = simulator(tmp_path, "easy", "simultaneous ends")
    verdicts = conformance.run_command(command, cases_of("easy"))
    assert conformance.explain(verdicts) == [mistakes.EASY["simultaneous ends"]]
    assert not all(verdict.passed for verdict in verdicts)


def test_no_mistake(tmp_path):
    """A command that follows the rules passes, and nothing needs an explanation."""
    verdicts = conformance.run_command(
        simulator(tmp_path, "conservative", ""), cases_of("conservative")
    )
    assert all(verdict.passed for verdict in verdicts)
    assert conformance.explain(verdicts) == []


def test_starts_in_swf():
    """In SWF, a job starts at its submit time plus its wait."""
    case = conformance.find_case("ties", "easy")
    lines = conformance.format_swf(case).splitlines()
    jobs = [line.split() for line in lines if not line.startswith(";")]
    for job, wait in zip(jobs, (0, 1), strict=True):
        job[2] = str(wait)
    text = "; a comment\n" + "\n".join(" ".join(job) for job in jobs)
    assert conformance.read_starts(text, case) == (0, 1)
    assert conformance.read_starts("# job, start\n2,7\n1,3\n", case) == (3, 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0", "ties: job 2 is missing"),
        ("1 0\n1 1", "ties: job 1 is twice"),
        ("1 0\n3 1", "ties: job 3 is unknown"),
        ("1 soon", "ties: expected lines .* got '1 soon'"),
        ("1 0 5", "ties: expected lines"),
        ("1 nan", "ties: expected lines"),
        ("", "ties: job 1 is missing"),
    ],
)
def test_wrong_answer(text, message):
    """An answer that cannot be read names the case and the line."""
    case = conformance.find_case("ties", "easy")
    with pytest.raises(ConformanceError, match=message):
        conformance.run_command(answering(text), [case])


@pytest.mark.parametrize("place", ["sys.stdout", "sys.stderr", "open('{output}', 'w')"])
def test_too_much(place, monkeypatch):
    """A command that prints or writes without end is stopped, with an error."""
    monkeypatch.setattr(conformance, "LARGEST", 2**16)
    code = f"import sys, time\nfile = {place}\nwhile file.write('0' * 2**12): time.sleep(0.01)"
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} {{input}}"
    with pytest.raises(ConformanceError, match="ties: the command writes more than 65,536 bytes"):
        conformance.run_command(command, [conformance.find_case("ties", "easy")], seconds=100)


def test_too_much_at_once(monkeypatch):
    """An answer of a command that ends at once may not be too large either."""
    monkeypatch.setattr(conformance, "LARGEST", 10)
    with pytest.raises(ConformanceError, match="the command writes more than 10 bytes"):
        conformance.run_command(answering("1 0\n" * 3), [conformance.find_case("ties", "easy")])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_odd_output():
    """A pipe or a link in place of the answer is refused and not read."""
    case = conformance.find_case("ties", "easy")
    for make in ("os.mkfifo(sys.argv[2])", "os.symlink('/dev/zero', sys.argv[2])"):
        code = shlex.quote(f"import os, sys; {make}")
        with pytest.raises(ConformanceError, match="ties: .* is (a link|not a regular file)"):
            conformance.run_command(f"{sys.executable} -c {code} {{input}} {{output}}", [case])


@pytest.mark.parametrize(
    ("command", "message", "seconds"),
    [
        ("simulator jobs.swf", 'lacks "{input}"', 600),
        ("no-such-simulator {input}", "cannot run 'no-such-simulator'", 600),
        (f"{sys.executable} -c 'raise SystemExit(3)' {{input}}", "exit status 3", 600),
        (
            f"{sys.executable} -c 'import time; time.sleep(600)' {{input}}",
            "within 0.3 s",
            0.3,
        ),
        ("'", "cannot read the command", 600),
    ],
)
def test_broken_command(command, message, seconds):
    """A command that cannot be run, fails or hangs is named."""
    with pytest.raises(ConformanceError, match=message):
        conformance.run_command(command, cases_of("easy")[:1], seconds=seconds)


def test_cases_can_be_exported(tmp_path):
    """The folder has what a test without bfenv needs; a folder in use is left alone."""
    written = conformance.export_cases(tmp_path / "cases", cases_of("easy"))
    entries = json.loads((tmp_path / "cases" / "cases.json").read_text())
    assert len(written) == len(entries) + 1 == len(cases_of("easy")) + 1
    assert entries[0]["starts"] == list(cases_of("easy")[0].starts)
    assert (tmp_path / "cases" / entries[0]["file"]).read_text().startswith("; Version: 2.2")
    with pytest.raises(ConformanceError, match="is not empty"):
        conformance.export_cases(tmp_path / "cases", cases_of("easy"))


def test_drawing():
    """A line is a processor, a character a second."""
    case = conformance.find_case("extra-nodes", "easy")
    assert conformance.draw(case) == "|  33 \n|11122\n|11122\n 0"


def test_command():
    """`bfenv check conformance` lists; with a policy that breaks a rule its exit status is 1."""
    runner = CliRunner()
    listed = runner.invoke(app, ["check", "conformance", "--format", "json"])
    assert [row["case"] for row in json.loads(listed.stdout)] == [c.name for c in cases_of("easy")]
    passed = runner.invoke(app, ["check", "conformance", "--policy", "easy"])
    assert (passed.exit_code, "28 of 28 cases" in passed.stdout) == (0, True)
    failed = runner.invoke(app, ["check", "conformance", "--policy", "fcfs", "--case", "backfill"])
    assert failed.exit_code == 1
    assert "nothing is started past the head" in " ".join(failed.stdout.split())
    unknown = runner.invoke(app, ["check", "conformance", "--case", "nosuch"])
    assert "no case 'nosuch' for easy; known: head" in str(unknown.exception)
