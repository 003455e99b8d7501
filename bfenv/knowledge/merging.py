"""Merge sort of scored jobs: for lines that are too far out of order to be mended job by job."""

from bfenv.core.kernel import kernel


@kernel
def sort_by_merging(score, line, count):
    """Sort the first `count` jobs by score, and those of equal score by index.

    Parameters
    ----------
    score
        (m,) float64, not NaN; score of the job at the same position of the line. Is sorted, too.
    line
        (m,) int64 jobs. What is behind the first `count` jobs, as many again at least, is lost.
    count
        Number of jobs.
    """
    width, source, target = 1, 0, count
    while width < count:
        for first in range(0, count, 2 * width):
            middle, end = min(first + width, count), min(first + 2 * width, count)
            _merge(score, line, source + first, source + middle, source + end, target + first)
        source, target = target, source
        width *= 2
    if source > 0:
        for i in range(count):
            score[i], line[i] = score[source + i], line[source + i]


@kernel
def _merge(score, line, first, middle, end, target):
    """Merge two sorted parts, from `first` up to `middle` and from there up to `end`."""
    i, j = first, middle
    for k in range(target, target + end - first):
        from_second = j < end and (
            i == middle or score[j] < score[i] or (score[j] == score[i] and line[j] < line[i])
        )
        if from_second:
            score[k], line[k] = score[j], line[j]
            j += 1
        else:
            score[k], line[k] = score[i], line[i]
            i += 1
