"""What the tests of the other distributions take from those of bfenv."""

from tests.cli.conftest import run as run
from tests.cli.conftest import swf as swf
from tests.conftest import *  # noqa: F403  # hooks and fixtures
from tests.leaderboard.conftest import rows as rows
from tests.leaderboard.conftest import store as store
