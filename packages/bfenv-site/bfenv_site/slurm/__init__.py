"""Slurm's scheduler as a policy.

`site` has the policy and its options, `scheduler` the rules, `future` the backfill's map of time,
`nodes` which job is on which nodes, `priority` which job comes first, and `parameters` and `conf`
what a site's settings say.
"""

from bfenv_site.slurm.site import slurm

__all__ = ["slurm"]
