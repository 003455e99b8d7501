"""The command `bfenv train curves`."""

from pathlib import Path

import typer

from bfenv.cli.options import ForceOption, check_new, option


def curves(
    folder: Path = typer.Argument(
        ..., metavar="FOLDER", help="Folder of `bfenv train` or search; subfolders are included."
    ),
    out: Path | None = option(None, "FILE", "Picture, such as curves.png or .svg.", "--out", "-o"),
    data: Path | None = option(None, "FILE", "CSV file of the curves' points."),
    force: ForceOption = False,
) -> None:
    """Draw the learning curves of trainings.

    A curve shows the score of each generation's best candidate on validation, relative to EASY's.
    Trainings that differ only in their seed share a curve: the median, and a band from the
    lowest to the highest score. Horizontal lines are the scores of easy-sjf, easy-saf and
    easy-saf-aged on the jobs of the first training. Without --out and --data, the points are
    printed as CSV.

    \b
    Examples:
      bfenv train curves runs --out curves.png
      bfenv train curves runs --data curves.csv
    """
    from bfenv.core.files import write_atomically
    from bfenv_lab.search.curves import curves_csv, draw_curves, read_curves, reference_points

    for path in (out, data):
        if path is not None:
            check_new(path, force)
    points = read_curves(folder)
    points += reference_points(folder, points)
    text = curves_csv(points)
    if data is not None:
        write_atomically(data, text.encode())
    if out is not None:
        draw_curves(points, out)
    if out is None and data is None:
        print(text, end="")
