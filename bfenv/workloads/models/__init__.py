"""Models of workloads: generators of jobs, and models of users' runtime estimates.

`lublin` and `sud` generate traces. The others return estimates for given runtimes;
`bfenv.workloads.with_estimates` applies them to a trace.
"""
