"""Merge sort of scored jobs: for lines that are too far out of order to be mended job by job."""

from bfenv.core.kernel import kernel


@kernel
def sort_by_merging(score, line, spare_score, spare_line, count):
    """Sort the first `count` jobs by score, and those of equal score by index.

    Parameters
    ----------
    score
        (n,) float64, not NaN; score of the job at the same position of the line. Is sorted, too.
    line
        (n,) int64 jobs.
    spare_score, spare_line
        Arrays alike, to merge into; what they hold is lost.
    count
        Number of jobs.
    """
    width = 1
    in_spare = False
    while width < count:
        for first in range(0, count, 2 * width):
            middle, end = min(first + width, count), min(first + 2 * width, count)
            if in_spare:
                _merge(spare_score, spare_line, score, line, first, middle, end)
            else:
                _merge(score, line, spare_score, spare_line, first, middle, end)
        in_spare = not in_spare
        width *= 2
    if in_spare:
        for i in range(count):
            score[i], line[i] = spare_score[i], spare_line[i]


@kernel
def _merge(score, line, other_score, other_line, first, middle, end):
    """Merge two sorted parts, from `first` up to `middle` and from there up to `end`."""
    i, j = first, middle
    for k in range(first, end):
        from_first = j == end or (
            i < middle and (score[i] < score[j] or (score[i] == score[j] and line[i] < line[j]))
        )
        if from_first:
            other_score[k], other_line[k] = score[i], line[i]
            i += 1
        else:
            other_score[k], other_line[k] = score[j], line[j]
            j += 1
