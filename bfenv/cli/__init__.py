"""The command `bfenv`: `command` holds what can be said, `show` how it is printed."""

from bfenv.cli.app import main as main
