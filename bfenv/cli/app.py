"""The command `bfenv`: the application with all commands, and its exit status."""

import codecs
import io
import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any

import typer

from bfenv.cli.groups import AllCommands
from bfenv.core.errors import BfenvError, UnknownNameError
from bfenv.core.interrupt import INTERRUPTED
from bfenv.core.text import one_line

SIMILAR = {"−": "-", "–": "-", "…": "...", "×": "x"}  # what bfenv itself writes
HANDLER = "bfenv-similar"
TERMINATED = 128 + signal.SIGTERM  # exit status


def _similar(error: UnicodeError) -> tuple[str, int]:
    """Replace the characters that an encoding lacks; also return where the next ones begin."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(SIMILAR.get(character, "?") for character in lacking), error.end


def accept_any_text() -> None:
    """Let standard output write a similar character, or "?", where its encoding lacks one.

    A minus sign must not become "?", and a name with a byte that is no text must not end a command.
    """
    codecs.register_error(HANDLER, _similar)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=HANDLER)


app = typer.Typer(
    cls=AllCommands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_versions(is_wanted: bool) -> None:
    if is_wanted:
        from bfenv.core.versions import versions

        print(", ".join(f"{name} {version}" for name, version in versions().items()))
        raise typer.Exit


@app.callback()
def bfenv(
    version: Annotated[
        bool, typer.Option("--version", help="Print versions and exit.", callback=_print_versions)
    ] = False,
) -> None:
    """Simulate backfilling schedulers of HPC clusters, and compare them.

    `bfenv COMMAND --help` explains a command and has examples.
    """


class Terminated(BaseException):
    """SIGTERM arrived. A SystemExit would count as a failure of the policy that runs just then."""


def main() -> None:
    """Run the command line and exit."""
    run_app(app, "bfenv")


def run_app(commands: typer.Typer, name: str) -> None:
    """Run commands under this name and exit.

    Bad input is reported in one line on stderr, with exit status 2, and Ctrl-C with 130. Modules in
    the current folder can be imported, but they come last on the path, so they shadow no other
    module. Warnings are one line each.
    """
    accept_any_text()
    with suppress(ValueError):  # only the main thread may
        signal.signal(signal.SIGTERM, _terminate)
    warnings.showwarning = lambda message, *_: print(
        f"warning: {one_line(str(message))}", file=sys.stderr
    )
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        status = commands(prog_name=name, standalone_mode=False)
        if status == INTERRUPTED:  # newer versions of Typer return it in place of raising Abort
            _fail("interrupted", INTERRUPTED)
        sys.exit(status)
    except Terminated:
        sys.exit(TERMINATED)
    except BfenvError as error:
        _fail(str(_with_agents(error)))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError as error:
        _fail(f"not enough memory: {error}" if str(error) else "not enough memory")
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", INTERRUPTED)
    except Exception as error:
        if _is_interrupt(error):
            _fail("interrupted", INTERRUPTED)
        # Wrong usage. Typer may have a copy of click's exceptions, so their class is unknown.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            sys.exit(2)
        _fail(_usage(error))


def _terminate(*_: Any) -> None:
    """End on SIGTERM as on any error, so that workers and incomplete files are removed."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether Ctrl-C caused an error, as in a class body of Python 3.11."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _usage(error: Any) -> str:
    """Return what is wrong with a command; a wrong value is quoted."""
    find_details = getattr(error.__cause__, "errors", None)
    if find_details is None:
        return str(error.format_message())
    details = find_details()[0]  # pydantic's, with which newer versions of Typer read values
    value = repr(details["input"])
    expected = details["msg"].removeprefix("Value error, ").partition(", unable")[0]
    text = str(error.format_message()).replace(details["msg"], expected)
    return text if value in text else f"{text.rstrip('.')}, got {value}"


def _with_agents(error: BfenvError) -> BfenvError:
    """Let the message on an unknown policy or agent suggest bfenv's agents."""
    if type(error) is not UnknownNameError or error.kind not in ("policy", "agent"):
        return error
    from bfenv.agents.card import SHIPPED, shipped_names

    shipped = shipped_names()
    agents = {SHIPPED + name for name in shipped}
    return UnknownNameError(error.kind, error.name, agents | (set(error.known) - set(shipped)))


def _fail(message: str, status: int = 2) -> None:
    print("bfenv: " + one_line(message), file=sys.stderr)
    sys.exit(status)
