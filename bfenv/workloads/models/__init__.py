"""Models of workloads: generators of jobs, and models of users' runtime estimates.

`lublin` and `sud` generate traces. The others return estimates for given runtimes;
`bfenv.workloads.with_estimates` applies them to a trace.
"""

from bfenv.workloads.models.lublin_workload import lublin
from bfenv.workloads.models.modal_estimates import tsafrir
from bfenv.workloads.models.simple_estimates import deterministic, doubled, exact, phi, uniform
from bfenv.workloads.models.sud_workload import sud

__all__ = ["deterministic", "doubled", "exact", "lublin", "phi", "sud", "tsafrir", "uniform"]
