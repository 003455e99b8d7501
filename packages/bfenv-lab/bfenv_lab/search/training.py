"""`bfenv train`: evolution of an order, a search by CMA-ES on slices of training splits.

All candidates of a generation are scored on the same slices, by their penalized slowdowns. The
result is the card of a policy, so it needs neither torch nor an environment.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bfenv.agents.card import write_card
from bfenv.core.errors import BfenvError
from bfenv.core.text import counted
from bfenv.envs.settings import DEFAULTS, LOADS, MODEL, SEEDS
from bfenv_lab.search.evolution import import_cma
from bfenv_lab.search.objective import without_seed
from bfenv_lab.search.search_run import JOURNAL, Progress, cases_of, result_card, run_search
from bfenv_lab.search.search_settings import SearchSettings
from bfenv_lab.search.template import read_template

# The environment's, and more of the same model: on few traces, evolution learns them by heart
TRAINING_SEEDS = (*SEEDS["train"], *range(101, 113))
WORKLOADS = tuple(f"{MODEL},seed={seed}" for seed in TRAINING_SEEDS)
# Small areas first, until a job has waited for days; the longer, the more work waits. Sizes count
# for less where processors are free or much work waits, and for more in long jobs.
ORDER = (
    "estimate * size ** (1.7 - 0.5 * free / processors - 0.03 * backlog / 86400)"
    " * max(1, size / 64) * (estimate / 3000) ** (0.03 * log(size / 7)) / expansion ** 0.08"
    " / (1.3 + (wait * size ** 0.09 * estimate ** 0.07"
    " / (9000 * (30000 + backlog) ** 0.34)) ** 5.3) ** 3"
)
# Small jobs are believed to be shorter than estimated, so more of them are backfilled
OPTIONS = "reservations=8, backfill_estimate='estimate * (1 - {0.1:0.5} * (size < {8:32}))'"
NETWORK_OPTIONS = "guard={1.1:1.5}, reservations=0"  # its features of age are shares of the limit
SLICES = 128  # of all workloads in a generation
GENERATIONS = 24


def training_settings(
    workloads: tuple[str, ...] = WORKLOADS,
    loads: tuple[float | None, ...] = LOADS,
    *,
    order: str | None = None,
    options: str | None = None,
    units: int = 0,
    population: int = 16,
    seed: int = 0,
) -> SearchSettings:
    """Return the settings of the search that a training is.

    Args:
        workloads: Names for `load_workload`; slices of the training split of each are scored on.
        loads: Offered loads to scale to; None keeps a workload's own.
        order: Formula whose numbers are tuned; candidates start the smallest value first. None for
            ORDER.
        options: Options of `easy` that candidates have; a range in braces is tuned. None for
            OPTIONS, or NETWORK_OPTIONS with units.
        units: Hidden units, at most 6, of a network whose weights are tuned in place of the
            formula's numbers; 0 for the formula.
        population: Candidates of a generation, at least 4.
        seed: Random seed, from 0.

    Raises:
        BfenvError: If a value is out of range, or both an order and units are given.
    """
    if order is not None and units:
        raise BfenvError("give either an order or units: a network has no formula")
    if options is None:
        options = NETWORK_OPTIONS if units else OPTIONS
    episode_jobs = DEFAULTS["episode_jobs"]
    assert episode_jobs is not None
    return SearchSettings(
        workloads=workloads,
        loads=loads,
        slice_jobs=episode_jobs,
        shakes=2,  # there are many slices at three loads
        warmup_jobs=DEFAULTS["warmup_jobs"],
        method="cma-es",
        options=options,
        starts=() if units else (ORDER if order is None else order,),
        hidden=units,
        covariance="diagonal" if units else "full",
        population=population,
        cases=-(-SLICES // len(workloads)),
        objective="penalized",
        seed=seed,
    )


def train(
    settings: SearchSettings,
    folder: Path,
    *,
    generations: int = GENERATIONS,
    done: Callable[[Progress], None] = lambda progress: None,
    **workers: Any,
) -> Path:
    """Find an order by evolution; return the card of the best policy, FOLDER/agent.json.

    An interrupted training goes on in the same folder, and ends with the same policy. More
    generations than before continue a training that is complete.

    Args:
        settings: See `training_settings`.
        folder: Of the training; made if it does not exist.
        generations: Of candidates.
        done: Called after each generation.
        **workers: Where to run: `jobs`, `backend` and `scheduler` of `bfenv.parallel.run_tasks`.
            The result does not depend on it.

    Raises:
        BfenvError: If settings are wrong, or the folder has other files or another training.
    """
    import_cma()
    read_template(settings.options)
    cases_of(settings)  # all before the folder: nothing is left behind
    if folder.exists() and not (folder / JOURNAL).is_file():
        if any(not path.name.startswith(".") for path in folder.iterdir()):
            raise BfenvError(f"{folder} is neither empty nor a training: choose another folder")
    result = run_search(settings, folder, generations=generations, done=done, **workers)
    kind = f"a network of {settings.hidden} hidden units" if settings.hidden else "a formula"
    different = len(set(map(without_seed, settings.workloads)))
    description = f"{kind}, found by evolution on {counted(different, 'workload')}"
    if different < len(settings.workloads):
        description += f" ({len(settings.workloads)} traces)"
    path = folder / "agent.json"
    write_card(path, result_card(path.stem, description, result))
    return path
