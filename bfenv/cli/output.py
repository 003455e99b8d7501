"""Output in encodings that lack some characters, such as ASCII or Latin-1."""

import codecs
import io
import sys

SIMILAR = {"−": "-", "–": "-", "…": "...", "×": "x"}  # what bfenv itself writes
HANDLER = "bfenv-similar"


def _similar(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for the characters that an encoding lacks, and where to go on."""
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
