"""The command `bfenv` (top layer): `command` holds what can be said, `show` how it is printed."""

from bfenv.cli.command import main as main
