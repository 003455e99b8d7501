"""Run a search: generations of candidates, the best of them selected, the result as JSON.

A search is a function of its settings and of the scores that its candidates get. So the journal
holds the scores alone, one line of JSON per generation, and a search that resumes draws its
candidates again and reads their scores instead of running them.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.agents.card import POLICY, Card
from bfenv.agents.seen_jobs import decode_span, encode_span, searched_spans
from bfenv.baselines.registry import find_policy
from bfenv.core.arguments import check_integer, check_number
from bfenv.core.errors import BfenvError
from bfenv.core.files import read_file, write_atomically
from bfenv.core.policy import COMPLETION, TRIALS
from bfenv.core.versions import versions
from bfenv.parallel.cluster import connect
from bfenv.parallel.sweep import check_workers
from bfenv.workloads.load import load_workload
from bfenv_lab.search.cases import Case, CaseSet, make_cases
from bfenv_lab.search.evolution import EvolutionSearch, import_cma
from bfenv_lab.search.genetic import GeneticSearch
from bfenv_lab.search.objective import WAIT_MARGIN, Outcome, Score, combine, score_policies
from bfenv_lab.search.search_settings import SearchSettings
from bfenv_lab.search.template import read_template
from bfenv_lab.search.trees import QUANTITIES, WITHOUT_USERS, Limits, names_of, parse_tree

FORMAT = "bfenv search 1"
JOURNAL = "journal.jsonl"  # in the folder of a search
FINALISTS = 8  # candidates that are scored on the final cases


class Journal:
    """A file of entries: read those that it has, then append others.

    * `path`: the file; it is made if it does not exist.
    * `settings`: what the search is. A file with other settings is refused.

    Raises BfenvError if the file cannot be read, or is of another search.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.entries: list[dict[str, Any]] = []
        if not path.exists():
            write_atomically(path, _line(settings))
            return
        lines = path.read_bytes().splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):  # cut short when the search was killed
            lines.pop()
            write_atomically(path, b"".join(lines))
        try:
            head, *self.entries = ({**json.loads(line)} for line in lines)
        except (ValueError, TypeError) as error:
            raise BfenvError(f"{path}: is not the journal of a search: {error}") from error
        wanted = json.loads(_line(settings))
        differences = [name for name in wanted if head.get(name) != wanted[name]]
        if differences:
            name = differences[0]
            raise BfenvError(
                f"{path} is of another search: its {name} is {head.get(name)!r:.80}, not "
                f"{wanted[name]!r:.80}"
            )

    def entry(self, generation: int, policies: Sequence[str]) -> dict[str, Any] | None:
        """Return the entry of a generation, or None if there is none yet.

        Raises BfenvError if the entry is about other policies: another version of the program made
        it.
        """
        if generation >= len(self.entries):
            return None
        entry = self.entries[generation]
        if entry["policies"] != _digest(policies) or len(entry["scores"]) != len(policies):
            raise BfenvError(
                f"{self.path}: generation {generation} scored other policies than this version of "
                "bfenv draws; search again in another folder"
            )
        return entry

    def append(self, policies: Sequence[str], **values: Any) -> dict[str, Any]:
        """Write the entry of the next generation, and return it."""
        entry = {"generation": len(self.entries), "policies": _digest(policies), **values}
        with open(self.path, "ab") as file:
            file.write(_line(entry))
            file.flush()
            os.fsync(file.fileno())
        self.entries.append(entry)
        return entry

    @property
    def seconds(self) -> float:
        """How long the generations took."""
        return float(sum(entry["seconds"] for entry in self.entries))


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, allow_nan=False).encode() + b"\n"


def _digest(policies: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(policies).encode()).hexdigest()[:16]


class Progress(NamedTuple):
    """How far a search is."""

    generation: int
    seconds: float  # of all generations so far
    jobs: int  # that candidates have started
    policy: str  # the best on the validation cases so far
    score: Score  # its score there


def run_search(
    settings: SearchSettings,
    out: Path,
    *,
    generations: int | None = None,
    budget: float | None = None,
    leave_out: bool = False,
    done: Callable[[Progress], None] = lambda progress: None,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: Any = None,
) -> dict[str, Any]:
    """Search, or resume the search in a folder; return what is written to its result.json.

    Each generation is scored on cases drawn for it, the same for all candidates. Its best one is
    then scored on the validation cases. When the generations are over, the FINALISTS that were best
    there, and the mean of the distribution of CMA-ES, are scored on the final cases. The best of
    them is the result.

    Args:
        settings: What to search on, and how.
        out: Folder of the journal and of result.json; made if it does not exist.
        generations, budget: When to stop: after this many generations, or after the generation in
            which the total time exceeds this many seconds. The result depends only on settings and
            number of generations.
        leave_out: Search again without each of the workloads in turn, in a folder of `out`, and
            score what is found on the workload that was left out, at all loads. The scores say what
            such a search is worth on logs that it has not seen; they are "left_out" of the result.
        done: Called after each generation.
        jobs, backend, scheduler: Where to run, see `bfenv.parallel.run_tasks`. Results do not
            depend on it.

    Raises:
        BfenvError: For wrong settings, and if the folder is of another search.
    """
    if (generations is None) == (budget is None):
        raise BfenvError("give either a number of generations or a budget")
    if leave_out and len(settings.workloads) < 2:
        raise BfenvError("to leave a workload out, a search needs at least two")
    if generations is not None:
        check_integer("generations", generations, 1)
    else:
        check_number("budget", budget, positive=True)
    check_workers(jobs, backend, scheduler)
    with connect(scheduler) if backend == "dask" else nullcontext() as client:
        workers = {"jobs": jobs, "backend": backend, "scheduler": client}
        result = _search(settings, out, generations, budget, done, workers)
        if leave_out:
            result["left_out"] = [
                _score_left_out(settings, workload, out, generations, budget, done, workers)
                for workload in settings.workloads
            ]
            result["command"] += " --leave-out"
            _write_result(out, result)
        return result


def _score_left_out(
    settings: SearchSettings,
    left_out: str,
    out: Path,
    generations: int | None,
    budget: float | None,
    done: Callable[[Progress], None],
    workers: dict[str, Any],
) -> dict[str, Any]:
    """Search without a workload; return what is found, and its score on that workload."""
    workloads = tuple(workload for workload in settings.workloads if workload != left_out)
    folder = out / f"without-{settings.workloads.index(left_out)}"
    search = replace(settings, workloads=workloads)
    result = _search(search, folder, generations, budget, done, workers)
    cases = cases_of(replace(settings, workloads=(left_out,))).final
    outcomes = score_policies([result["policy"]], cases, **workers)
    (score,) = combine_each(cases, outcomes, settings)
    return {
        "workload": left_out,
        "policy": result["policy"],
        "penalized_slowdown": score.penalized,
        "slowdown_ratio": score.slowdown_ratio,
        "wait_ratio": score.wait_ratio,
    }


def cases_of(settings: SearchSettings) -> CaseSet:
    """Return the cases of a search.

    Raises BfenvError as `make_cases`.
    """
    return make_cases(
        settings.workloads,
        settings.loads,
        split=settings.split,
        slice_jobs=settings.slice_jobs,
        shakes=settings.shakes,
        shake_seconds=settings.shake_seconds,
        warmup_jobs=settings.warmup_jobs,
    )


def _write_result(out: Path, result: dict[str, Any]) -> None:
    text = json.dumps(result, indent=1, allow_nan=False)
    write_atomically(out / "result.json", text.encode() + b"\n")


def _search(
    settings: SearchSettings,
    out: Path,
    generations: int | None,
    budget: float | None,
    done: Callable[[Progress], None],
    workers: dict[str, Any],
) -> dict[str, Any]:
    searcher = _make_searcher(settings)  # wrong settings are reported before wrong workloads
    cases = cases_of(settings)
    spans = searched_spans(settings.workloads, settings.split)
    training = [encode_span(span) for span in spans]
    out.mkdir(parents=True, exist_ok=True)
    journal = Journal(out / JOURNAL, asdict(settings) | {"training": training})
    generator = np.random.default_rng((settings.seed, 1))
    validation_scores: dict[str, Score] = {}  # on the validation cases
    seconds, generation, count, jobs = 0.0, 0, 0, 0

    def score(policies: Sequence[str], cases: Sequence[Case]) -> list[Score]:
        return combine_each(cases, score_policies(policies, cases, **workers), settings)

    while generation < generations if generations is not None else seconds < (budget or 0):
        policies, batch = searcher.ask(), cases.draw(generator, settings.cases)
        entry = journal.entry(generation, policies)
        if entry is None:
            begin = time.perf_counter()
            scores = score(policies, batch)
            best = policies[min(range(len(scores)), key=lambda i: (scores[i].value, i))]
            entry = journal.append(
                policies,
                scores=[score.value for score in scores],
                best=best,
                validation=list(validation_scores.get(best) or score([best], cases.validation)[0]),
                seconds=time.perf_counter() - begin,
            )
        searcher.tell(entry["scores"])
        validation_scores[entry["best"]] = Score(*entry["validation"])
        generation += 1
        count += len(policies)
        jobs += len(policies) * sum(case.job_count for case in batch)
        seconds += entry["seconds"]
        leader = min(
            validation_scores,
            key=lambda policy: (rank(validation_scores[policy], settings.objective), policy),
        )
        done(Progress(generation, seconds, jobs, leader, validation_scores[leader]))
    favorites = searcher.favorites()
    for policy in favorites:
        if policy not in validation_scores:
            validation_scores[policy] = score([policy], cases.validation)[0]
    result = {
        "format": FORMAT,
        **select(validation_scores, favorites, cases, settings, workers),
        "command": settings.command(generation),
        "settings": asdict(settings),
        "generations": generation,
        "candidates": count,
        "training": training,
        "versions": versions() | ({"cma": version("cma")} if settings.method == "cma-es" else {}),
    }
    _write_result(out, result)
    return result


def quantities_of(workloads: tuple[str, ...], trials: bool) -> tuple[str, ...]:
    """Return the quantities to search with: those that vary in the training.

    A search learns nothing about any other, which could then do harm on other workloads. `trials`
    is whether jobs are started for a trial; else none was tried.
    """
    traces = [load_workload(workload) for workload in workloads]
    named = any((trace.jobs.user >= 0).any() for trace in traces)
    of_one_size = len({trace.processors for trace in traces}) == 1
    return tuple(
        name
        for name in (QUANTITIES if named else WITHOUT_USERS)
        if not (of_one_size and name == "processors") and (trials or name != "tried")
    )


def _make_searcher(settings: SearchSettings) -> GeneticSearch | EvolutionSearch:
    generator = np.random.default_rng((settings.seed, 0))
    template = read_template(settings.options)
    common = template, generator, settings.population, settings.starts
    if settings.method == "gp":
        limits = Limits(quantities=quantities_of(settings.workloads, template.has_trials))
        for start in settings.starts:
            unknown_names = sorted(names_of(parse_tree(start)) - set(limits.quantities))
            if unknown_names:
                raise BfenvError(
                    f"a start uses {', '.join(unknown_names)}, which the training does not vary"
                )
        return GeneticSearch(*common, limits)
    import_cma()
    return EvolutionSearch(*common, settings.hidden, settings.covariance)


def rank(score: Score, objective: str = "slowdown") -> tuple[bool, float]:
    """Return the sort key of candidates; by slowdown, those beyond WAIT_MARGIN come last."""
    return objective == "slowdown" and score.wait_ratio > WAIT_MARGIN, score.value


def combine_each(
    cases: Sequence[Case], outcomes: Sequence[Sequence[Outcome]], settings: SearchSettings
) -> list[Score]:
    """Return the score of each policy over cases.

    * `cases`: what was run.
    * `outcomes`: of each policy in each case, see `score_policies`.
    * `settings`: what `combine` takes is in them.
    """
    return [
        combine(cases, by_case, settings.tolerated_wait, settings.objective) for by_case in outcomes
    ]


def select(
    validation_scores: dict[str, Score],
    favorites: Sequence[str],
    cases: CaseSet,
    settings: SearchSettings,
    workers: dict[str, Any],
) -> dict[str, Any]:
    """Score the FINALISTS and the favorites on the final cases; return the best, with its scores.

    * `validation_scores`: the scores of candidates on the validation cases.
    * `favorites`: those of them that are finalists beside the best ones.
    * `cases`: of the search.
    * `settings`: of the search.
    * `workers`: where to run, see `bfenv.parallel.run_tasks`.
    """
    objective = settings.objective
    ranked = sorted(
        validation_scores, key=lambda policy: (rank(validation_scores[policy], objective), policy)
    )
    finalists = list(dict.fromkeys([*ranked[:FINALISTS], *favorites]))
    outcomes = score_policies(finalists, cases.final, **workers)
    final = combine_each(cases.final, outcomes, settings)
    best = min(range(len(finalists)), key=lambda i: (rank(final[i], objective), i))
    return {
        "policy": finalists[best],
        "score": final[best]._asdict(),
        "validation": validation_scores[finalists[best]]._asdict(),
        "cases": [
            case._asdict() | outcome._asdict()
            for case, outcome in zip(cases.final, outcomes[best], strict=True)
        ],
    }


def read_result(path: Path) -> dict[str, Any]:
    """Read the result of a search.

    Raises BfenvError if the file cannot be read, or is none.
    """
    try:
        content = json.loads(read_file(path))
    except OSError as error:
        raise BfenvError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BfenvError(f"{path}: is not the result of a search: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BfenvError(f"{path}: is not the result of a search of format {FORMAT!r}")
    return content


def result_card(name: str, description: str, result: dict[str, Any]) -> Card:
    """Return the card of a search's result, without scores."""
    keys = ("command", "generations", "candidates", "score", "validation", "settings")
    return Card(
        name=name,
        division=TRIALS if find_policy(result["policy"]).trials else COMPLETION,
        kind=POLICY,
        what=description,
        policy=result["policy"],
        found={key: result[key] for key in (*keys, "left_out") if key in result},
        trained_on=tuple(map(decode_span, result["training"])),
        versions=result["versions"],
    )
