"""Evolution of a small score: `bfenv train --algo es`, a search by CMA-ES on whole traces.

The search is `bfenv.agents.search.run_search`. All candidates of a generation are scored on the
same cases, which are training splits as a whole. The result is a policy, so it needs no torch.
"""

from pathlib import Path

from bfenv.agents.card import write_card
from bfenv.agents.search.cases import make_cases
from bfenv.agents.search.evolution import import_cma
from bfenv.agents.search.objective import WAIT_MARGIN
from bfenv.agents.search.search_run import Progress, result_card, run_search
from bfenv.agents.search.search_settings import SearchSettings
from bfenv.agents.search.template import read_template
from bfenv.agents.training.run_folder import Report, RunFolder
from bfenv.agents.training.settings import TrainSettings

WHOLE = 10**9  # jobs of a slice: no training split has as many


def train(
    settings: TrainSettings,
    folder: str | Path,
    *,
    resume: bool = False,
    tensorboard: bool = False,
    report: Report | None = None,
) -> Path:
    """Find a score by evolution; write progress, the search and the best policy to a folder.

    The parameters, the result and the errors are those of `bfenv.agents.training.ppo.train`. The
    agent is the card of a policy, "agent:PATH". An interrupted training that is resumed ends with
    the same policy.
    """
    load = settings.environment.get("load")
    search = SearchSettings(
        workloads=tuple(settings.workload),
        loads=tuple(load) if isinstance(load, list | tuple) else (load,),
        slice_jobs=WHOLE,
        method="cma-es",
        options=settings.options,
        hidden=settings.units,
        covariance="diagonal" if settings.units else "full",
        population=settings.population,
        cases=1,
        tolerated_wait=WAIT_MARGIN,
        seed=settings.seed,
    )
    import_cma()
    read_template(settings.options)
    make_cases(search.workloads, search.loads)  # all before the folder: nothing is left behind
    run = RunFolder(Path(folder), settings, resume, tensorboard)

    def done(progress: Progress) -> None:
        """Write a generation to the run's folder."""
        row = {
            "update": progress.generation,
            "steps": progress.jobs,
            "seconds": round(progress.seconds, 3),
            "steps_per_second": round(progress.jobs / progress.seconds),
            "ratio": progress.score.slowdown_ratio,
            "wait_ratio": progress.score.wait_ratio,
        }
        run.write_row(row)
        if report is not None:
            report(row | {"best": progress.score.slowdown_ratio})

    generations, jobs = settings.generations, settings.threads
    result = run_search(search, run.path, generations=generations, done=done, jobs=jobs)
    kind = f"of {settings.units} hidden units" if settings.units else "that is linear"
    what = f"a score {kind}, found by evolution on {len(settings.workload)} workloads"
    write_card(run.agent, result_card(run.agent.stem, what, result))
    run.close()
    return run.agent
