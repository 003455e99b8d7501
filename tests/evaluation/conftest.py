"""What the tests of the evaluator share: a folder of rows."""

from tests.leaderboard.conftest import rows as rows
from tests.leaderboard.conftest import store as store
