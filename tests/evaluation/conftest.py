"""What the tests of the evaluator share: a cluster, and a folder of rows."""

from tests.leaderboard.conftest import rows as rows
from tests.leaderboard.conftest import store as store
from tests.parallel.conftest import cluster as cluster
