"""The command `bfenv`, one file per command; `options` and `show` are shared by the commands."""

from bfenv.core.interrupt import end_at_interrupt

with end_at_interrupt():
    from bfenv.cli.app import main

__all__ = ["main"]
