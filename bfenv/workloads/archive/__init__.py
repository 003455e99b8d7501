"""Logs of the Parallel Workloads Archive."""
