"""Run a search: generations of candidates, the best of them selected, the result as JSON."""

import json
import shlex
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.agents.search.cases import CaseSet, make_cases, training_record
from bfenv.agents.search.evolution import EvolutionSearch, import_cma
from bfenv.agents.search.genetic import GeneticSearch
from bfenv.agents.search.journal import Journal
from bfenv.agents.search.objective import Score, combine, score_policies
from bfenv.agents.search.template import read_template
from bfenv.agents.search.trees import QUANTITIES, WITHOUT_USERS, Limits
from bfenv.analysis.comparison import STARVES
from bfenv.core.arguments import check_choice, check_integer, check_number
from bfenv.core.durations import MINUTE
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.versions import versions
from bfenv.parallel.sweep import check_workers, connect
from bfenv.workloads.load import load_workload

FORMAT = "bfenv search 1"
METHODS = ("gp", "cma-es")
SEARCHED = ("order", "backfill_estimate", "backfill")
FINALISTS = 8  # candidates that are scored on the large cases


@dataclass(frozen=True)
class SearchSettings:
    """What a search depends on, but for its length.

    Parameters
    ----------
    workloads, loads, split, slice_jobs, shakes, shake_seconds
        The jobs, see `make_cases`.
    method
        "gp" or "cma-es".
    options
        Options of `easy` that candidates have, see `read_template`.
    searched
        Options of `easy` to find expressions for, the order first; "cma-es" finds the order alone.
    starts
        Orders to start from, besides the built-in ones of "gp". "cma-es" tunes the numbers of one
        instead of the weights of a scorer.
    hidden
        Hidden units of the scorer of "cma-es"; 0 is linear.
    population
        Candidates of a generation.
    cases
        Cases of each workload that a generation is scored on.
    tolerated_wait
        Multiple of EASY's longest wait up to which there is no penalty, see `combine`.
    seed
        Random seed.
    """

    workloads: tuple[str, ...]
    loads: tuple[float | None, ...] = (None, 0.9)
    split: str = "train"
    slice_jobs: int = 10_000
    shakes: int = 4
    shake_seconds: int = 5 * MINUTE
    method: str = "gp"
    options: str = ""
    searched: tuple[str, ...] = ("order",)
    starts: tuple[str, ...] = ()
    hidden: int = 0
    population: int = 40
    cases: int = 2
    tolerated_wait: float = 1.5
    seed: int = 1

    def __post_init__(self) -> None:
        """Check the numbers; what they are used for checks the rest."""
        check_choice("method", self.method, METHODS)
        check_number("tolerated_wait", self.tolerated_wait, 1)
        if self.hidden and self.method != "cma-es":
            raise BfenvError("hidden units belong to the method cma-es")
        if self.searched[:1] != ("order",) or set(self.searched) - set(SEARCHED):
            raise BfenvError(
                f"a search is for the order, then any of {', '.join(SEARCHED[1:])}; got "
                f"{', '.join(self.searched)}"
            )
        if self.method == "cma-es" and len(self.searched) > 1:
            raise BfenvError("cma-es searches for the order alone; tune numbers in other options")
        for name, least in (
            ("slice_jobs", 1), ("shakes", 1), ("shake_seconds", 0), ("population", 4), ("cases", 1),
            ("seed", 0),
        ):  # fmt: skip
            check_integer(name, getattr(self, name), least)

    def command(self, generations: int) -> str:
        """Return the command that makes the same search again."""
        words = ["bfenv", "search"]
        for workload in self.workloads:
            words += ["-w", workload]
        for load in self.loads:
            words += ["--load", "own" if load is None else f"{load:g}"]
        defaults = SearchSettings(self.workloads)
        for name, option in OPTIONS.items():
            if getattr(self, name) != getattr(defaults, name):
                words += [option, str(getattr(self, name))]
        for option in self.searched[1:]:
            words += ["--also", option]
        for start in self.starts:
            words += ["--start", start]
        words += ["--seed", str(self.seed), "--generations", str(generations), "--out", "DIR"]
        return shlex.join(words)


OPTIONS = {
    "split": "--split",
    "slice_jobs": "--slice-jobs",
    "shakes": "--shakes",
    "shake_seconds": "--shake",
    "method": "--method",
    "options": "--options",
    "hidden": "--hidden",
    "population": "--population",
    "cases": "--cases",
    "tolerated_wait": "--tolerated-wait",
}


class Progress(NamedTuple):
    """How far a search is."""

    generation: int
    seconds: float  # of all generations so far
    policy: str  # the best on the validation cases so far
    score: Score  # its score there


def run_search(
    settings: SearchSettings,
    out: Path,
    *,
    generations: int | None = None,
    budget: float | None = None,
    done: Callable[[Progress], None] = lambda progress: None,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: Any = None,
) -> dict[str, Any]:
    """Search, or go on with the search in a folder, and write the result to it.

    Each generation is scored on cases drawn for it, the same for all candidates. Its best one is
    then scored on the validation cases. When the generations are over, the FINALISTS that were best
    there are scored on the large cases, and the best of them is the result.

    Parameters
    ----------
    settings
        What to search on, and how.
    out
        Folder of the journal and of result.json; made if it does not exist.
    generations, budget
        When to stop: after this many generations, or after the first that ends beyond so many
        seconds in all. The result of a search of so many generations is always the same.
    done
        Called after each generation.
    jobs, backend, scheduler
        Where to run, see `bfenv.parallel.run_tasks`. Results do not depend on it.

    Returns
    -------
    dict
        What result.json holds.

    Raises
    ------
    BfenvError
        For wrong settings, and if the folder is of another search.
    """
    if (generations is None) == (budget is None):
        raise BfenvError("give a number of generations or a budget, one of the two")
    check_workers(jobs, backend, scheduler)
    workers = {"jobs": jobs, "backend": backend, "scheduler": scheduler}
    if backend == "dask":
        workers["scheduler"] = connect(scheduler)
    cases = make_cases(
        settings.workloads,
        settings.loads,
        split=settings.split,
        slice_jobs=settings.slice_jobs,
        shakes=settings.shakes,
        shake_seconds=settings.shake_seconds,
    )
    training = training_record(settings.workloads, settings.split)
    searcher = _make_searcher(settings)
    out.mkdir(parents=True, exist_ok=True)
    journal = Journal(out / "journal.jsonl", asdict(settings) | {"training": training})
    generator = np.random.default_rng((settings.seed, 1))
    known: dict[str, Score] = {}  # on the validation cases
    seconds, generation, count = 0.0, 0, 0
    while generation < generations if generations is not None else seconds < (budget or 0):
        policies, batch = searcher.ask(), cases.draw(generator, settings.cases)
        entry = journal.entry(generation, policies)
        if entry is None:
            begin = time.perf_counter()
            scores = [
                combine(batch, each, settings.tolerated_wait)
                for each in score_policies(policies, batch, **workers)
            ]
            best = min(range(len(scores)), key=lambda i: (scores[i].value, i))
            validation = known.get(policies[best]) or combine(
                cases.validation,
                score_policies([policies[best]], cases.validation, **workers)[0],
                settings.tolerated_wait,
            )
            entry = journal.append(
                policies,
                scores=[score.value for score in scores],
                best=policies[best],
                validation=list(validation),
                seconds=time.perf_counter() - begin,
            )
        searcher.tell(entry["scores"])
        known[entry["best"]] = Score(*entry["validation"])
        generation, count, seconds = (
            generation + 1,
            count + len(policies),
            seconds + entry["seconds"],
        )
        leader = min(known, key=lambda policy: (_rank(known[policy]), policy))
        done(Progress(generation, seconds, leader, known[leader]))
    result = {
        "format": FORMAT,
        **_select(known, cases, settings.tolerated_wait, workers),
        "command": settings.command(generation),
        "settings": asdict(settings),
        "generations": generation,
        "candidates": count,
        "training": training,
        "versions": versions() | ({"cma": version("cma")} if settings.method == "cma-es" else {}),
    }
    _write(out, result)
    return result


def run_seeds(
    settings: SearchSettings,
    out: Path,
    *,
    seeds: int = 1,
    generations: int | None = None,
    budget: float | None = None,
    done: Callable[[Progress, int], None] = lambda progress, number: None,
    **workers: Any,
) -> dict[str, Any]:
    """Search with several seeds, each for its part of the budget; write and return the best result.

    Parameters
    ----------
    settings, generations, **workers
        As of `run_search`.
    out
        The search with one seed is in this folder; those with several are in folders of it.
    seeds
        How many, from `settings.seed`.
    budget
        Seconds of all seeds together.
    done
        Called after each generation, with the number of the search, from 0.

    Raises
    ------
    BfenvError
        As `run_search` does.
    """
    share = None if budget is None else budget / seeds
    if seeds == 1:
        return run_search(
            settings, out, generations=generations, budget=share, done=partial(_call, done, 0),
            **workers,
        )  # fmt: skip
    results = [
        run_search(
            replace(settings, seed=settings.seed + k),
            out / f"seed-{settings.seed + k}",
            generations=generations,
            budget=share,
            done=partial(_call, done, k),
            **workers,
        )
        for k in range(seeds)
    ]
    best = min(results, key=lambda result: _rank(Score(**result["score"])))
    _write(out, best)
    return best


def _call(done: Callable[[Progress, int], None], number: int, progress: Progress) -> None:
    done(progress, number)


def _write(out: Path, result: dict[str, Any]) -> None:
    text = json.dumps(result, indent=1, allow_nan=False)
    write_atomically(out / "result.json", text.encode() + b"\n")


def read_result(path: Path) -> dict[str, Any]:
    """Read the result of a search.

    Raises
    ------
    BfenvError
        If the file cannot be read, or is none.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise BfenvError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BfenvError(f"{path}: is not the result of a search: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BfenvError(f"{path}: is not the result of a search of format {FORMAT!r}")
    return content


def _make_searcher(settings: SearchSettings) -> GeneticSearch | EvolutionSearch:
    generator = np.random.default_rng((settings.seed, 0))
    template = read_template(settings.options, settings.searched)
    if settings.method == "gp":
        # A quantity that does not vary in the training would do anything elsewhere.
        named = any((load_workload(each).jobs.user >= 0).any() for each in settings.workloads)
        limits = Limits(quantities=QUANTITIES if named else WITHOUT_USERS)
        return GeneticSearch(template, generator, settings.population, settings.starts, limits)
    import_cma()
    return EvolutionSearch(
        template, generator, settings.population, settings.starts, settings.hidden
    )


def _rank(score: Score) -> tuple[bool, float]:
    """Return the sort key of candidates: those that starve jobs come last."""
    return score.wait_ratio > STARVES, score.value


def _select(
    known: dict[str, Score], cases: CaseSet, tolerated_wait: float, workers: dict[str, Any]
) -> dict[str, Any]:
    """Return the best candidate, with its scores and those in each of the large cases."""
    ranked = sorted(known, key=lambda policy: (_rank(known[policy]), policy))[:FINALISTS]
    outcomes = score_policies(ranked, cases.whole, **workers)
    final = [combine(cases.whole, each, tolerated_wait) for each in outcomes]
    best = min(range(len(ranked)), key=lambda i: (_rank(final[i]), i))
    return {
        "policy": ranked[best],
        "score": final[best]._asdict(),
        "validation": known[ranked[best]]._asdict(),
        "cases": [
            case._asdict() | outcome._asdict()
            for case, outcome in zip(cases.whole, outcomes[best], strict=True)
        ],
    }
