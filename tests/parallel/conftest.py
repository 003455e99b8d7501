"""What the tests of sweeps share: a cluster of two workers.

Its workers are threads, which start at once. Workers in processes of their own, and in other
folders, are those of `tests.parallel.test_cluster`.
"""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster
