"""bfenv for judging the schedulers of others: players, verified leaderboards, certified bounds.

`find_gap` and `check_gap` say how far a policy is from the best possible schedule. `run_policy` and
`run_command` test a scheduler with small cases. `write_task` writes a task for services that evolve
programs. `bfenv_judge.verify` checks the rows of a leaderboard, and `bfenv_judge.players` runs code
of others in a process of its own.
"""

from typing import TYPE_CHECKING

from bfenv.core.lazy_exports import export_lazily

if TYPE_CHECKING:
    from bfenv_judge.exports import *  # noqa: F403
else:
    __getattr__, __dir__ = export_lazily(__name__)
