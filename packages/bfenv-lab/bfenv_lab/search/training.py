"""`bfenv train`: evolution of a small score, a search by CMA-ES on whole training splits.

All candidates of a generation are scored on the same cases. The result is the card of a policy, so
it needs neither torch nor an environment.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bfenv.agents.card import write_card
from bfenv.core.errors import BfenvError
from bfenv_lab.search.cases import make_cases
from bfenv_lab.search.evolution import import_cma
from bfenv_lab.search.objective import WAIT_MARGIN
from bfenv_lab.search.search_run import JOURNAL, Progress, result_card, run_search
from bfenv_lab.search.search_settings import SearchSettings
from bfenv_lab.search.template import read_template

WORKLOADS = tuple(
    f"lublin:procs={processors},jobs=6000,seed={seed}"
    for seed, processors in enumerate((128, 256) * 3)
)
LOADS = (0.7, 0.8, 0.9)
OPTIONS = "guard={1.1:1.5}, reservations=0"
WHOLE = 10**9  # jobs of a slice: no training split has as many


def training_settings(
    workloads: tuple[str, ...] = WORKLOADS,
    loads: tuple[float | None, ...] = LOADS,
    *,
    options: str = OPTIONS,
    units: int = 0,
    population: int = 16,
    seed: int = 0,
) -> SearchSettings:
    """Return the settings of the search that a training is.

    Args:
        workloads: Names for `load_workload`; the training split of each is scored on as a whole.
        loads: Offered loads to scale to; None keeps a workload's own.
        options: Options of `easy` that candidates have; a range in braces is tuned.
        units: Hidden units of the score, at most 6; 0 is linear.
        population: Candidates of a generation, at least 4.
        seed: Random seed, from 0.

    Raises:
        BfenvError: If a value is out of range.
    """
    return SearchSettings(
        workloads=workloads,
        loads=loads,
        slice_jobs=WHOLE,
        method="cma-es",
        options=options,
        hidden=units,
        covariance="diagonal" if units else "full",
        population=population,
        cases=1,
        tolerated_wait=WAIT_MARGIN,
        seed=seed,
    )


def train(
    settings: SearchSettings,
    folder: Path,
    *,
    generations: int = 24,
    done: Callable[[Progress], None] = lambda progress: None,
    **workers: Any,
) -> Path:
    """Find a score by evolution; return the card of the best policy, FOLDER/agent.json.

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
    make_cases(settings.workloads, settings.loads)  # all before the folder: nothing is left behind
    if folder.exists() and not (folder / JOURNAL).is_file():
        if any(not path.name.startswith(".") for path in folder.iterdir()):
            raise BfenvError(f"{folder} is neither empty nor a training: choose another folder")
    result = run_search(settings, folder, generations=generations, done=done, **workers)
    kind = f"of {settings.hidden} hidden units" if settings.hidden else "that is linear"
    description = f"a score {kind}, found by evolution on {len(settings.workloads)} workloads"
    path = folder / "agent.json"
    write_card(path, result_card(path.stem, description, result))
    return path
