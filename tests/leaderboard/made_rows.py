"""Rows of a leaderboard that no run has made."""

from dataclasses import replace

from bfenv.evaluation.row import Row


def row(policy, workload, seed, slowdown, wait=100.0, *, longest=1000.0, trace=None):
    return Row(
        suite="test-v1",
        policy=policy,
        kind="policy",
        workload=workload,
        source="",
        workload_hash=f"sha256:{workload}-{seed if trace is None else trace}",
        processors=1,
        jobs=1,
        load=None,
        offered_load=None,
        seed=seed,
        status="ok",
        versions={},
        commit=None,
        command="",
        metrics={
            "mean_bounded_slowdown": slowdown,
            "mean_wait": wait,
            "p95_wait": 3 * wait,
            "max_wait": longest,
            "utilization": 0.5,
        },
    )


def failed(policy, workload, seed):
    return replace(
        row(policy, workload, seed, None), status="failed", metrics={}, error="out of time"
    )


def with_metrics(row, **metrics):
    return replace(row, metrics={**row.metrics, **metrics})
