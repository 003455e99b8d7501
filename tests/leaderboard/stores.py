"""Folders of rows as a run leaves them, made without it, for tests of what reads them.

The rows are spelled out as JSON here, independent of `bfenv.evaluation.row`.
"""

import json
import platform
from itertools import pairwise

import numba
import numpy as np

import bfenv
from bfenv.analysis.schedule_metrics import bounded_slowdown
from bfenv.analysis.summary import metrics
from bfenv.core.policy import division_of
from bfenv.evaluation.row import row_key
from bfenv.workloads.load import takes_seed

POLICIES = ("fcfs", "easy", "easy-sjbf", "easy-saf", "conservative", "sjf", "easy-lxf", "los")
WORKLOADS = {
    "lublin-64-0.8": "lublin:procs=64,jobs=600,load=0.8",
    "lublin-128-0.9": "lublin:procs=128,jobs=600,load=0.9",
}


def make_store(
    folder, policies=POLICIES, workloads=WORKLOADS, seeds=1, keep=False, suite="test-v1"
):
    """Rows of every policy, workload and seed under `folder`, and their schedules if `keep`."""
    (folder / "rows").mkdir(parents=True)
    (folder / "schedules").mkdir()
    for label, workload in workloads.items():
        for seed in range(seeds):
            source = f"{workload},seed={seed}" if takes_seed(workload) else workload
            trace = bfenv.load_workload(source)
            reference = bfenv.simulate(trace, "easy")
            for policy in policies:
                schedule = bfenv.simulate(trace, policy, seed)
                row = row_of(schedule, reference, label, source, seed, suite)
                key = write_row(folder, row)
                if keep:
                    arrays = ("start", "end", "trial_start", "trial_end")
                    np.savez(
                        folder / "schedules" / f"{key}.npz",
                        **{name: getattr(schedule, name) for name in arrays},
                    )
    return folder


def row_of(schedule, reference, label, source, seed, suite="test-v1"):
    trace = schedule.trace
    return {
        "schema": 1,
        "suite": suite,
        "policy": schedule.policy,
        "kind": "policy",
        "division": division_of(bool((schedule.trial_end >= 0).any()), trace),
        "workload": label,
        "source": source,
        "workload_hash": f"sha256:{trace.hash}",
        "processors": trace.processors,
        "jobs": len(trace),
        "load": None,
        "offered_load": trace.offered_load,
        "seed": seed,
        "status": "ok",
        "error": "",
        "metrics": metrics(schedule),
        "classes": classes(schedule),
        "versus": {
            "reference": "easy",
            "mean_bounded_slowdown": versus(
                bounded_slowdown(schedule) - bounded_slowdown(reference)
            ),
            "mean_wait": versus((schedule.wait - reference.wait).astype(float)),
        },
        "curves": {
            "wait_quantiles": np.percentile(schedule.wait, range(101)).tolist(),
            "queue_length": queue_length(schedule),
            "per_1000": {"time": [0, 3600], "slowdown_ratio": [0.5, None]},
        },
        "versions": {
            "bfenv": bfenv.__version__,
            "numpy": np.__version__,
            "numba": numba.__version__,
            "python": platform.python_version(),
        },
        "commit": None,
        "command": f"bfenv leaderboard run --suite {suite} --policy {schedule.policy}",
    }


def write_row(folder, row):
    """Write a row, and return its key."""
    key = row_key(row["kind"], row["policy"], row["workload"], row["seed"])
    text = json.dumps(row, sort_keys=True, indent=1) + "\n"
    (folder / "rows" / f"{key}.json").write_text(text, encoding="utf-8")
    return key


def write_store(folder, rows):
    """Write rows into a new folder, and return it."""
    (folder / "rows").mkdir(parents=True)
    for row in rows:
        write_row(folder, row)
    return folder


def versus(difference, batches=20):
    """A batch means interval with Student's 97.5 % quantile at 19 degrees of freedom."""
    means = np.array([batch.mean() for batch in np.array_split(difference, batches)])
    half = 2.093 * means.std(ddof=1) / np.sqrt(batches)
    mean = float(difference.mean())
    return {
        "difference": mean,
        "low": mean - half,
        "high": mean + half,
        "confidence": 0.95,
        "batches": batches,
        "jobs": len(difference),
    }


def classes(schedule):
    long, wide = schedule.trace.runtime > 3600, schedule.trace.jobs.size > 8
    slowdown, parts = bounded_slowdown(schedule), {}
    for one, is_long in (("short", ~long), ("long", long)):
        for other, is_wide in (("narrow", ~wide), ("wide", wide)):
            chosen = is_long & is_wide
            is_filled = bool(chosen.any())
            parts[f"{one} {other}"] = {
                "jobs": int(chosen.sum()),
                "mean_wait": float(schedule.wait[chosen].mean()) if is_filled else None,
                "mean_bounded_slowdown": float(slowdown[chosen].mean()) if is_filled else None,
            }
    return parts


def queue_length(schedule, parts=200):
    """Mean number of waiting jobs in each of equal parts of the time."""
    end = int(schedule.start.max()) + 1
    edges = np.linspace(0, end, parts + 1)
    begin, stop = schedule.trace.jobs.submit, schedule.start
    waited = [
        np.maximum(0, np.minimum(stop, b) - np.maximum(begin, a)).sum() / (b - a)
        for a, b in pairwise(edges)
    ]
    return {"time": edges.tolist(), "jobs": [float(value) for value in waited]}
