"""What a log says of its jobs' partitions."""

import numpy as np

from bfenv.workloads.logs import records


def in_partitions(numbers, names, groups=-1):
    """Records and header of a log, as options of `make_trace`, with partitions by number from 0."""
    columns = np.full((len(numbers), len(records.FIELDS)), -1.0)
    columns[:, records.PARTITION] = np.array(numbers) + 1
    columns[:, records.GROUP] = groups
    header = [f"Partition: {number} {name}" for number, name in enumerate(names, start=1)]
    return {"records": columns, "header": header}
