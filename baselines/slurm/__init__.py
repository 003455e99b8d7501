"""Slurm's scheduler as a policy.

`scheduler` has the rules and the options, `future` the backfill's map of time, `nodes` which job is
on which nodes, and `parameters` what a site's settings say.
"""

from bfenv.baselines.slurm.scheduler import SLURM, slurm

__all__ = ["SLURM", "slurm"]
