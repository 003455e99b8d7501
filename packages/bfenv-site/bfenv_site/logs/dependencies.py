"""Jobs of an accounting log that wait for the ends of others, in Slurm's words.

Source: the manual page sbatch(1) of Slurm 25.11, "--dependency".
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bfenv_site.logs.run import Run

ITEM = re.compile(r"\s*([a-z]*):?([^()]*)(?:\(.*\))?\s*", re.IGNORECASE)  # "afterok:7:8_3(failed)"
TASKS = re.compile(r"_\[[^\]]*\]")  # some tasks of an array: all of it counts
# "7_*" is an array, and "7+1" a part of 7
JOB_ID = re.compile(r"([0-9]+(?:_[0-9]+)?)(?:_\*)?(?:\+[0-9]+)?")
ENDS = {"", "afterok", "afterany", "afternotok", "aftercorr", "afterburstbuffer"}  # "" for a number
CORRESPONDS = "aftercorr"  # each task of an array waits for the one of its number


class Dependency(NamedTuple):
    """What a job waits for."""

    jobs: list[list[str]]  # of each condition, the jobs that must have ended
    is_any: bool  # one condition suffices
    is_whole: bool  # nothing of the text is left out


def read_dependency(text: str, task: str = "") -> Dependency:
    """Read a dependency, such as "afterok:7:8,afterany:9".

    Conditions are joined by "," if all must hold, and by "?" if one suffices. What waits for the
    start of a job ("after") or for jobs of the same name ("singleton") is left out.

    * `task`: the number of the job in its array; "" if it is of none.
    """
    is_any, is_whole = "?" in text, True
    jobs: list[list[str]] = []
    for item in re.split("[,;?]", TASKS.sub("", text)):
        match = ITEM.fullmatch(item)
        kind = match[1].lower() if match else "unknown"
        names = [number[1] for number in JOB_ID.finditer(match[2])] if match else []
        if kind not in ENDS:
            is_whole = is_whole and not item.strip()
        elif names:
            if kind == CORRESPONDS and task:
                names = [name if "_" in name else f"{name}_{task}" for name in names]
            jobs.append(names)
    return Dependency(jobs, is_any, is_whole)


def waited_for(runs: Sequence[Run]) -> tuple[np.ndarray, int]:
    """Return the run that each waits for, (n,) int64 places; -1 for none.

    If a job waits for several others, this is the one that ends last. If one condition is enough,
    it is the one whose condition holds first. An array has ended when all of its tasks have. It
    does not matter how a job ended. Also return how many runs have a condition that is not
    followed.

    * `runs`: by submit time.
    """
    by_job: dict[str, list[int]] = {}
    places = np.full(len(runs), -1)
    unfollowed = 0

    def end(place: int) -> float:
        return runs[place].start + runs[place].runtime

    for place, run in enumerate(runs):
        array, _, task = run.job.partition("_")
        if run.after:
            dependency = read_dependency(run.after, task)
            unfollowed += not dependency.is_whole
            lasts = []
            for names in dependency.jobs:
                if before := [i for name in names for i in by_job.get(name, ())]:
                    lasts.append(max(before, key=end))
            if lasts:
                places[place] = (min if dependency.is_any else max)(lasts, key=end)
        for name in {run.job, array, run.job.partition("+")[0]}:
            by_job.setdefault(name, []).append(place)
    return places, unfollowed
