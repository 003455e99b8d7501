"""What a table or figure of a paper is made of: runs, values, cells, lines, claims."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Step = tuple[str, Any]  # an option of `transformed`, or RUNTIME_FACTOR, and its value
RUNTIME_FACTOR = "runtime_factor"  # a step of a run: runtimes times this, rounded up


class Log(NamedTuple):
    """A workload that a paper uses."""

    label: str  # in the paper
    workload: str  # for `load_workload`
    stand_in: str  # a generated workload for quick runs
    comparable: bool  # whether numbers can be compared with the printed ones
    edition: str  # one sentence: how these jobs differ from the paper's

    def source(self, quick: bool) -> str:
        """Return the workload to load."""
        return self.stand_in if quick else self.workload


def stand_in(processors: int, load: float = 0.8) -> str:
    """Return a generated workload for a machine of this size."""
    return f"lublin(procs={processors}, jobs=5000, load={load:g})"


class Run(NamedTuple):
    """A policy on a workload, with seeds 0 to `seeds` - 1."""

    workload: str  # name, as of `load_workload`
    policy: str = ""  # empty: the workload itself is measured
    steps: tuple[Step, ...] = ()  # changes of the workload, in this order
    seeds: int = 1  # how many
    reference: str = ""  # a second policy on the same jobs, for measures that compare


class Value(NamedTuple):
    """A number that a run gives."""

    run: Run  # that has to be made
    measure: str  # a name of `reproductions.measures.MEASURES`
    scale: float = 1.0  # from our unit to the printed one


def value_of(
    log: Log,
    policy: str,
    measure: str,
    quick: bool,
    *,
    scale: float = 1.0,
    seeds: int = 1,
    reference: str = "",
    **steps: Any,
) -> Value:
    """Return a value of a policy on a log, after steps of `transformed`."""
    run = Run(log.source(quick), policy, tuple(steps.items()), seeds, reference)
    return Value(run, measure, scale)


def workload_value(log: Log, measure: str, quick: bool, scale: float = 1.0) -> Value:
    """Return a value of the workload itself."""
    return Value(Run(log.source(quick)), measure, scale)


class Extreme(NamedTuple):
    """The smallest, largest or mean of several values, or an end of the interval of one."""

    values: Sequence[Value]
    kind: str  # "min", "max" or "mean"; "low" or "high" of the interval


class Pair(NamedTuple):
    """The ratio of two values, seed by seed, with an interval over the seeds."""

    values: tuple[Value, Value]
    kind: str = "value"  # "value", or "low" or "high" of the interval


Side = Value | Extreme | Pair | float  # of a comparison


class Cell(NamedTuple):
    """A cell of a table; the printed value has the same row and column."""

    row: str  # its heading
    column: str  # its heading
    value: Value | Extreme | Pair  # what is computed
    log: Log  # whose jobs are used


def by_place(cells: Iterable[Cell]) -> dict[tuple[str, str], Value]:
    """Return the values of cells by row and column, except those derived from others."""
    return {(cell.row, cell.column): cell.value for cell in cells if isinstance(cell.value, Value)}


def by_row(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells row by row; rows come in the order of their first cells."""
    rows = list(dict.fromkeys(cell.row for cell in cells))
    return sorted(cells, key=lambda cell: rows.index(cell.row))


class Line(NamedTuple):
    """A line of a figure: one value per x, or one value that is a curve (x, y)."""

    label: str  # in the legend
    values: Sequence[Value]  # one per x, or one curve
    x: Sequence[float | str] = ()  # empty for a curve
    band: bool = False  # draw an interval: of the seeds, or the measure's own
    style: str = "-"  # as matplotlib has it


def curve(label: str, value: Value, style: str = "-") -> Line:
    """Return a line from a measure that is a curve."""
    return Line(label, [value], style=style)


class Panel(NamedTuple):
    """One pair of axes."""

    title: str  # above the axes
    x: str  # label
    y: str  # label
    lines: Sequence[Line]  # in the order of the legend
    kind: str = "line"  # "line", "step", "bar", "scatter" or "boxes"
    log_x: bool = False  # logarithmic
    log_y: bool = False  # logarithmic
    zero: bool = False  # draw the line y = 0


class Comparison(NamedTuple):
    """left < right, or left <= right."""

    label: str  # the log, the load
    left: Side  # the smaller side
    right: Side  # the larger side
    log: Log  # whose jobs are used
    strict: bool = True  # whether equal sides are not enough
    slack: float = 0.0  # relative excess of left over right that still counts


def alike(label: str, a: Side, b: Side, log: Log, slack: float = 0.0) -> list[Comparison]:
    """Return the comparisons that hold if neither side exceeds the other by more than the slack."""
    return [Comparison(label, x, y, log, strict=False, slack=slack) for x, y in ((a, b), (b, a))]


class Claim(NamedTuple):
    """A statement of the paper, as comparisons that hold if it is true here."""

    text: str  # one sentence
    comparisons: Sequence[Comparison]  # all of which must hold


class Content(NamedTuple):
    """What an item computes."""

    cells: Sequence[Cell] = ()  # of a table
    panels: Sequence[Panel] = ()  # of a figure
    claims: Sequence[Claim] = ()  # of the text
    per_row: int = 2  # panels beside each other

    def values(self) -> list[Value]:
        """Return all values that rows must have."""
        sides: list[Side] = [cell.value for cell in self.cells]
        sides += [v for panel in self.panels for line in panel.lines for v in line.values]
        compared = [comparison for claim in self.claims for comparison in claim.comparisons]
        sides += [side for comparison in compared for side in (comparison.left, comparison.right)]
        single = [side for side in sides if isinstance(side, Value)]
        return single + [
            v for side in sides if isinstance(side, Extreme | Pair) for v in side.values
        ]


def label_of(name: str) -> str:
    """Return the name of an item as its paper writes it, like "Figure B.1"."""
    return name[0].upper() + name[1:].replace("-", " ")


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, and the rules of its verdict."""

    name: str  # "table-2"; also the key of the printed values
    title: str  # as in the paper, shortened
    place: str  # section and page of the paper
    build: Callable[[bool], Content]  # from whether the run is quick
    band: float = 0.10  # a cell agrees if its ratio is within 1 / (1 + band) and 1 + band
    ordered: bool = False  # whether the rows of each column must be in the order of print
    exact: bool = False  # cells must be equal
    digits: int = 2  # decimals in tables
    unit: str = ""  # of the values
    legend: str = ""  # of a table with nothing printed
    spread: bool = False  # whether cells show the 5th and 95th percentile of their seeds
    note: str = ""  # Markdown, below the verdict

    @property
    def heading(self) -> str:
        """Return the name and the title, like "Table 2: average slowdown"."""
        return f"{label_of(self.name)}: {self.title}"


@dataclass(frozen=True)
class Paper:
    """A paper and its items."""

    name: str  # on the command line
    title: str  # of the paper
    reference: str  # authors, place and year
    logs: tuple[Log, ...]  # workloads that it uses
    items: tuple[Item, ...]  # in the order of the paper
    figures_lost: bool = True  # whether only the text is available, not the values of figures
