"""The commands of this distribution keep what every command has to keep."""

import pytest

from tests.command_contract import *  # noqa: F403  # the tests
from tests.command_contract import (
    FAILURES,
    check_closed_output,
    check_failing_policy,
    check_workload_is_an_argument,
    commands_of,
)


@pytest.fixture(params=commands_of("judge"))
def command(request):
    """Each command of this distribution."""
    return request.param


def test_closed_output(swf, tmp_path):
    """The command writes its file even if the reader of the table stops early, like `head -1`."""
    check_closed_output(["evaluate", "bound", str(swf)], tmp_path / "gap.npz")


def test_argument_too_many(run):
    """An argument where a command takes none is answered with the options that may be meant."""
    status, _, err = run("check", "conformance", "./mine")
    hint = "name a policy by --policy ./mine, a program by --command"
    assert (status, err) == (2, f"bfenv: check conformance takes no argument './mine'; {hint}\n")


@pytest.mark.parametrize("option", ["-w", "--workload"])
def test_workload_is_an_argument(run, option):
    """If you give the workload as an option, the error says that it is an argument."""
    check_workload_is_an_argument(run, "evaluate bound", option)


@pytest.mark.parametrize(
    "command", ["evaluate bound lublin:jobs=20 --moves 1", "check conformance"]
)
@pytest.mark.parametrize(("body", "error"), FAILURES)
def test_failing_policy(run, tmp_path, monkeypatch, command, body, error):
    """A policy that fails is one line with its name, the error and its place."""
    check_failing_policy(run, tmp_path, monkeypatch, command, body, error)
