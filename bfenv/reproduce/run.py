"""Make the rows that items need: planned once, resumed, in parallel, in shards."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from bfenv.parallel.shards import take_shard
from bfenv.parallel.sweep import check_workers, run_tasks
from bfenv.reproduce.item import Item, Run
from bfenv.reproduce.measures import MEASURES
from bfenv.reproduce.rows import Row, is_available, make_row, read_rows, write_row
from bfenv.reproduce.workload_measures import WORKLOAD_MEASURES


class Plan(NamedTuple):
    """What is there, what is to be made, and what cannot be made."""

    wanted: dict[Run, set[str]]  # measures of each run
    rows: dict[Run, Row]  # that the folder has
    missing: list[Run]  # to be made
    unavailable: set[str]  # workloads that are not on this machine


def plan(items: Sequence[Item], folder: Path, quick: bool = False) -> Plan:
    """List the runs that items need, and find the rows that a folder has of them.

    Parameters
    ----------
    items
        Items of one paper.
    folder
        Where `run` keeps rows; it need not exist.
    quick
        Use the generated stand-ins of logs.

    Returns
    -------
    Plan
        The runs, the rows that exist, and the runs that are missing.
    """
    wanted: dict[Run, set[str]] = {}
    for item in items:
        for value in item.build(quick).values():
            wanted.setdefault(value.run, set()).add(value.measure)
    rows = read_rows(folder, wanted)
    missing = [run for run in wanted if run not in rows]
    unavailable = {name for name in {run.workload for run in missing} if not is_available(name)}
    missing = [run for run in missing if run.workload not in unavailable]
    return Plan(wanted, rows, missing, unavailable)


def run(
    planned: Plan,
    folder: Path,
    *,
    shard: tuple[int, int] = (1, 1),
    done: Callable[[Run], None] = lambda run: None,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: Any = None,
) -> dict[Run, Row]:
    """Make the missing rows of a plan, and write each as soon as it is there.

    Parameters
    ----------
    planned
        What `plan` returned.
    folder
        Where the rows are kept; interrupted runs resume there.
    shard
        (i, n): make only the i-th of n parts.
    done
        Called after each row.
    jobs, backend, scheduler
        Where to run, see `bfenv.parallel.run_tasks`.

    Returns
    -------
    dict
        All rows, by run.

    Raises
    ------
    BfenvError
        If a run fails, or a file cannot be written.
    """
    check_workers(jobs, backend, scheduler)
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    missing = take_shard(planned.missing, shard)
    rows = dict(planned.rows)
    # A row that is made again keeps the measures that other items wanted.
    others = read_rows(folder, {one: set() for one in missing})
    tasks = [(one, _measures(planned.wanted[one], others.get(one))) for one in missing]
    policies = sorted({name for one in missing for name in (one.policy, one.reference) if name})
    with closing(
        run_tasks(make_row, tasks, jobs=jobs, backend=backend, scheduler=scheduler, warm=policies)
    ) as results:
        for i, row in results:
            rows[missing[i]] = row
            write_row(folder, missing[i], row)
            done(missing[i])
    return rows


def _measures(wanted: set[str], row: Row | None) -> tuple[str, ...]:
    """Return what to measure of a run: what is wanted, and what its row has so far."""
    known = MEASURES.keys() | WORKLOAD_MEASURES.keys()
    return tuple(sorted(wanted | (row["values"].keys() & known if row else set())))
