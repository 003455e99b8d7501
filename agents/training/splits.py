"""Parts of traces that hold different jobs at every load.

A split is a part of a trace's time span. Where a workload keeps the length of its days at any load,
as the embedded model does, the bounds of a split fall on other jobs at another load.
"""

from collections import defaultdict

from bfenv.envs.episode_source import EpisodeSource


def separate_splits(source: EpisodeSource) -> None:
    """Take episodes only from jobs that are in the split at each load of their workload.

    So no job of a training is validated on at another load, and none that is validated on is in
    another load's test split.

    Raises
    ------
    BfenvError
        If too few jobs are left for an episode.
    """
    alike = defaultdict(list)  # the traces of the same jobs
    for k, trace in enumerate(source.traces):
        alike[trace.jobs.size.tobytes(), trace.runtime.tobytes()].append(k)
    splits = list(source.splits)
    for group in alike.values():
        firsts, lasts = zip(*(source.splits[k] for k in group), strict=True)
        for k in group:
            splits[k] = max(firsts), min(lasts)
    source.narrow(splits)
