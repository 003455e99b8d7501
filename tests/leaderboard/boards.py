"""Folders as a leaderboard run leaves them, made by simulating, for tests of what reads them."""

import hashlib
import json
import platform
import re
from itertools import pairwise

import numba
import numpy as np

import bfenv
from bfenv.analysis.schedule_metrics import bounded_slowdown, metrics
from bfenv.workloads.load import takes_seed

POLICIES = ("fcfs", "easy", "easy-sjbf", "easy-saf", "conservative", "sjf", "easy-lxf", "los")
WORKLOADS = {
    "lublin-64-0.8": "lublin:procs=64,jobs=600,load=0.8",
    "lublin-128-0.9": "lublin:procs=128,jobs=600,load=0.9",
}


def make_board(
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
            "per_1000": {},
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
    exact = f"{row['policy']}\0{row['workload']}\0{row['seed']}"
    name = re.sub(r"[^A-Za-z0-9.-]+", "_", f"{row['policy']}-{row['workload']}-{row['seed']}")
    key = f"{name[:60]}-{hashlib.sha256(exact.encode()).hexdigest()[:8]}"
    text = json.dumps(row, sort_keys=True, indent=1)
    (folder / "rows" / f"{key}.json").write_text(text, encoding="utf-8")
    return key


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
    slowdown, found = bounded_slowdown(schedule), {}
    for one, is_long in (("short", ~long), ("long", long)):
        for other, is_wide in (("narrow", ~wide), ("wide", wide)):
            chosen = is_long & is_wide
            some = bool(chosen.any())
            found[f"{one} {other}"] = {
                "jobs": int(chosen.sum()),
                "mean_wait": float(schedule.wait[chosen].mean()) if some else None,
                "mean_bounded_slowdown": float(slowdown[chosen].mean()) if some else None,
            }
    return found


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
