"""The commands of this distribution keep what every command has to keep."""

import os
import subprocess
import sys

import pytest

from tests.command_contract import *  # noqa: F403  # the tests
from tests.command_contract import (
    FAILURES,
    check_closed_output,
    check_failing_policy,
    check_workload_is_an_argument,
    commands_of,
    without_notices,
)


@pytest.fixture(params=commands_of("site"))
def command(request):
    """Each command of this distribution."""
    return request.param


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_encodings(swf, encoding):
    """If the output's encoding has no minus sign, a hyphen is printed instead."""
    words = ["-m", "bfenv", "report", "whatif", str(swf), "--processors=+4", "--processors=-0%"]
    environment = os.environ | {"PYTHONIOENCODING": encoding, "COLUMNS": "100"}
    done = subprocess.run([sys.executable, *words], capture_output=True, env=environment)
    text = done.stdout.decode(encoding)
    assert (done.returncode, without_notices(done.stderr.decode(encoding))) == (0, [])
    assert "-0 % processors (4)" in text and "?" not in text


def test_closed_output(swf, tmp_path):
    """The page is written even if the reader of the table stops early, as `| head -1` does."""
    check_closed_output(["report", "whatif", str(swf)], tmp_path / "page.html")


@pytest.mark.parametrize("command", ["report whatif", "report"])
@pytest.mark.parametrize("option", ["-w", "--workload"])
def test_workload_is_an_argument(run, command, option):
    """If you give the workload as an option, the error says that it is an argument."""
    check_workload_is_an_argument(run, command, option)


def test_argument_too_many(run):
    """An argument too many is one line that names it."""
    status, out, err = run("report", "whatif", "lublin", "extra")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "'extra'; see --help" in err
    _, _, err = run("when", "a.swf.gz")
    assert err.endswith("; name a workload by --log a.swf.gz, a policy by --policy\n")


@pytest.mark.parametrize(("body", "error"), FAILURES)
def test_failing_policy(run, tmp_path, monkeypatch, body, error):
    """A policy that fails is one line with its name, the error and its place."""
    command = "report whatif lublin:jobs=20"
    check_failing_policy(run, tmp_path, monkeypatch, command, body, error)


@pytest.mark.filterwarnings("default")
def test_warning(run):
    """A warning is one line, without the code that gave it."""
    policy = 'slurm(parameters="bf_continue")'
    err = run("evaluate", "--workload", "lublin:jobs=9", "--policy", policy)[2]
    lines = [line for line in err.splitlines() if "bf_continue" in line]
    message = "SchedulerParameters: the policy slurm does not model bf_continue"
    assert lines == [f"warning: {message}"]
