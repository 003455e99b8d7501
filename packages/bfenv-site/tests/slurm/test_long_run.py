"""A run of 500 jobs on sixteen nodes by a real slurmctld, with two partitions and job sizes.

`long_run.json` has the site's slurm.conf, and of each job submit time, size, limit, runtime, start
and partition, as the accounting of Debian's Slurm 22.05.8 had them, 120 times faster than real
time. One partition has half of the nodes and the higher tier. The machine was busy for 90 % of the
time, and jobs waited two and a half hours on average.
"""

import json
from pathlib import Path

import numpy as np

import bfenv
from site_helpers.partitions import in_partitions

RUN = json.loads((Path(__file__).parent / "long_run.json").read_text())


def test_waits(tmp_path):
    """The policy repeats the real waits better than what came closest before.

    Job by job, schedules drift where seconds decide; the mean is within a tenth.
    """
    *columns, partition = zip(*RUN["jobs"], strict=True)
    submit, size, limit, runtime, start = map(np.array, columns)
    names = sorted(set(partition))
    trace = bfenv.make_trace(
        submit,
        size,
        runtime,
        16,
        estimate=limit,
        **in_partitions([names.index(name) for name in partition], names),
    )
    conf = tmp_path / "slurm.conf"
    conf.write_text("\n".join(RUN["conf"]))
    real = start - submit

    def repeated(policy):
        """The mean wait over the real one, and how the waits correlate."""
        wait = bfenv.simulate(trace, policy).wait
        return wait.mean() / real.mean(), np.corrcoef(wait, real)[0, 1]

    mean, correlation = repeated(f"slurm(conf='{conf}')")
    assert 0.9 < mean < 1.1 and correlation > 0.85
    mean, correlation = repeated("conservative-replan")
    assert mean < 0.65 and correlation < 0.35
