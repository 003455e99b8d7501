"""Options that several commands have."""

import pytest
import typer
from typer.testing import CliRunner

from bfenv.cli.options import check_folder, check_new, duration_option
from bfenv.core.errors import BfenvError


@pytest.fixture
def seconds():
    """What a command is given for --span."""
    app = typer.Typer(rich_markup_mode=None)
    given = []

    @app.command()
    def command(span: int = duration_option(7, "--span", "Help.", least=1)) -> None:
        given.append(span)

    def run(*arguments):
        result = CliRunner().invoke(app, arguments)
        return given.pop() if result.exit_code == 0 else result.output

    return run


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90", 90), ("2d", 172_800), ("1-12:00", 129_600), ("90m", 5_400), ("1h 30m", 5_400)],
)
def test_duration(seconds, text, expected):
    """A duration is a number of seconds, has units, or is written like Slurm's."""
    assert seconds("--span", text) == expected


def test_default_duration(seconds):
    """The default is a number of seconds."""
    assert seconds() == 7


@pytest.mark.parametrize("text", ["soon", "-1h", "0", "9" * 400 + "w"])
def test_no_duration(seconds, text):
    """What is not a duration, or too short or long, is refused with its text and option."""
    output = seconds("--span", text)
    assert "--span" in output and text[:40] in output.replace("\n", "")


def test_given_twice(run):
    """An option that is not a list can be given once only."""
    command = "evaluate -w lublin --policy easy --policy fcfs --workload sud"
    assert run(*command.split()) == (2, "", "bfenv: --workload is given twice\n")


def test_check_new(tmp_path):
    """A file can be written if it is new or --force is given, and its folder exists."""
    there = tmp_path / "there"
    there.touch()
    check_new(there, force=True)
    check_new(tmp_path / "new", force=False)
    for path in (there, tmp_path, tmp_path / "nowhere" / "new"):
        with pytest.raises(BfenvError):
            check_new(path, force=False)
    with pytest.raises(BfenvError, match=str(tmp_path / "nowhere")):
        check_folder(tmp_path / "nowhere" / "new")
    check_folder(None)
