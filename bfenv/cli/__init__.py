"""The command `bfenv`: one file per command; `options` and `show` hold what several of them use."""

from bfenv.cli.app import main

__all__ = ["main"]
