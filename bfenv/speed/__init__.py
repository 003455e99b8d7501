"""How fast bfenv is on this machine.

Each `measure_` function yields measurements, and takes the number of repetitions. The best of them
counts. `measured.json` has the published measurements; `bfenv bench` makes, shows and compares
such files. `bfenv.speed.training.measure_training` is not imported here, because it needs torch.
"""

from bfenv.speed.engine import measure_engine, measure_policies, measure_scaling
from bfenv.speed.environments import measure_environments
from bfenv.speed.measurements import (
    PUBLISHED,
    Change,
    Measurement,
    Measurements,
    compare,
    read_measurements,
    with_provenance,
    write_measurements,
)
from bfenv.speed.processes import measure_start
from bfenv.speed.search import measure_search

__all__ = [
    "PUBLISHED",
    "Change",
    "Measurement",
    "Measurements",
    "compare",
    "measure_engine",
    "measure_environments",
    "measure_policies",
    "measure_scaling",
    "measure_search",
    "measure_start",
    "read_measurements",
    "with_provenance",
    "write_measurements",
]
