"""Players: code that is not bfenv's own decides in a process that never has the trace.

The referee holds the trace, the clock and the metrics, and drives the one engine. A player is sent
what a scheduler may know, as it becomes known, and answers with starts or actions. docs/players.md
describes the messages, the limits, and what is promised with and without a sandbox.
"""

from bfenv.players.foresight import NONE_FOUND, NOT_CHECKED, foresight_of, foresight_of_agent
from bfenv.players.limits import DEFAULT, MIB, PlayerLimits, hide_memory
from bfenv.players.mirror import warm_mirror
from bfenv.players.player_process import (
    PlayerError,
    PlayerKilledError,
    PlayerProcess,
    check_command,
)
from bfenv.players.remote_agent import RemoteAgent, play_remotely, read_greeting, remote_agent
from bfenv.players.remote_policy import Flags, declared_flags, greet, player_policy, program_policy
from bfenv.players.sandbox import bubblewrap
from bfenv.players.serve import python_player
from bfenv.players.strangers import (
    CARDS,
    is_strange_agent,
    is_strange_policy,
    package_of,
    source_of,
)

__all__ = [
    "CARDS",
    "DEFAULT",
    "MIB",
    "NONE_FOUND",
    "NOT_CHECKED",
    "Flags",
    "PlayerError",
    "PlayerKilledError",
    "PlayerLimits",
    "PlayerProcess",
    "RemoteAgent",
    "bubblewrap",
    "check_command",
    "declared_flags",
    "foresight_of",
    "foresight_of_agent",
    "greet",
    "hide_memory",
    "is_strange_agent",
    "is_strange_policy",
    "package_of",
    "play_remotely",
    "player_policy",
    "program_policy",
    "python_player",
    "read_greeting",
    "remote_agent",
    "source_of",
    "warm_mirror",
]
