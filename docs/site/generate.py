"""Write what the pages include: tables and texts of the code, and drawings of scenarios.

Everything goes to the folder `generated` beside the pages; a file that would not change is left
alone, so that Sphinx reads again only the pages that changed.
"""

import inspect
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import typer.main
from docutils import nodes
from drawings import THEMES, draw_growth, draw_reliability, draw_reservation, draw_scenario, save
from matplotlib.figure import Figure
from scenarios import SCENARIOS, Scenario

import bfenv
from benchmarks.__main__ import app as benchmarks
from benchmarks.measurements import PUBLISHED, read_measurements
from bfenv.agents.card import NETWORK, POLICY, read_card, shipped_names
from bfenv.analysis.formatting import duration
from bfenv.baselines import policies
from bfenv.cli.app import app
from bfenv.core.files import write_atomically
from bfenv.core.names import import_object
from bfenv.envs import BackfillEnv
from bfenv.knowledge.priorities import ORDERS
from bfenv.knowledge.user_history import QUANTITIES

SCORED_FORECASTS = Path(__file__).parents[1] / "how_to" / "when_scores.json"
SCORES = (
    "scored on",
    "load",
    "log seen",
    "ratio",
    "lowest to highest",
    "longest wait",
    "mean wait / EASY's",
)
# Page of a family: the names of its policies, or what they begin with
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "fcfs": ("fcfs",),
    "orders": ("sjf", "lpt", "sqf", "lqf", "saf", "lxf", "wfp3", "unicef", "f1", "f2", "f3", "f4"),
    "easy": ("easy", "easy++", "easy-*"),
    "conservative": ("conservative", "conservative-*", "cons-rs"),
    "multiqueue": ("multiqueue", "easy-speculative"),
    "los": ("los", "los-*"),
    "slack": ("selective", "slack", "relaxed"),
    "slurm": ("slurm",),
    "rlscheduler": ("rlscheduler",),
}


def write_pages(source: Path) -> None:
    """Write the generated files of a site whose pages are in `source`."""
    folder = source / "generated"
    for name, text in _pages():
        _write(folder / f"{name}.md", text)
    for name, scenario in SCENARIOS.items():
        _write_scenario(folder, name, scenario)
    _write_drawings(folder)


def _pages() -> Iterator[tuple[str, str]]:
    yield "environment", inspect.cleandoc(BackfillEnv.__doc__ or "") + "\n"
    yield "policies", _policy_table(policies().values())
    for family in FAMILIES:
        members = [one for one in policies().values() if _family(one.name) == family]
        yield f"policies-{family}", _policy_table(members)
    yield "orders", _orders()
    yield "quantities", _quantities()
    yield "agents", command("agents", "--format", "markdown")
    yield "cards", "\n\n".join(map(_card, shipped_names(POLICY) + shipped_names(NETWORK))) + "\n"
    yield "names", _names()
    yield "speed", _speed()
    yield "when", _forecasts()
    yield "when-others", _pinball()
    yield "when-months", _by_month()
    yield "commands", "\n".join(_commands(typer.main.get_command(app), "bfenv")) + "\n"


def _family(name: str) -> str:
    """Return the page of a policy; the longest name or beginning counts."""
    found = {
        pattern: family
        for family, patterns in FAMILIES.items()
        for pattern in patterns
        if name == pattern or (pattern[-1] == "*" and name.startswith(pattern[:-1]))
    }
    if not found:
        raise LookupError(f"no page in FAMILIES for the policy {name}")
    return found[max(found, key=len)]


# Tables -----------------------------------------------------------------------------------------


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; columns of numbers are aligned to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    numbers = [
        all(re.fullmatch(r"[-+\d.,]*", cell) for cell in column)
        for column in zip(*rows, strict=True)
    ]
    lines = [header, ["--:" if number else "---" for number in numbers], *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines
    )


def _policy_table(members: Iterable[bfenv.Policy]) -> str:
    rows = [(f"`{one.name}`", one.summary.replace("*", "\\*"), one.source) for one in members]
    return table(("policy", "what it does", "source"), rows)


def _orders() -> str:
    rows = [
        (f"`{one.name}`", f"{one.meaning} first", f"`{one.formula}`", one.source)
        for one in ORDERS.values()
    ]
    return table(("order", "which job comes first", "score", "source"), rows)


def _quantities() -> str:
    rows = [(f"`{one.name}`", one.unit, one.meaning) for one in QUANTITIES]
    return table(("quantity", "unit", "meaning"), rows)


def _card(name: str) -> str:
    card = read_card(name)
    trained = "; ".join(card.training_lines())
    if card.kind == NETWORK:
        traces = sorted({span.trace for span in card.trained_on})
        trained = f"{len(card.trained_on)} traces: {', '.join(traces)}"
    return "\n".join(
        (
            f"## agent:{name}\n",
            f"{card.what} Division: {card.division}.\n",
            *([f"```text\n{card.policy}\n```\n"] if card.policy else []),
            f"Trained on {trained}.\n",
            table(SCORES, card.score_cells()),
            *(f"* {failure}" for failure in card.failures),
            f"\n:::{{dropdown}} How it was found\n```text\n{card.found['command']}\n```\n:::\n",
        )
    )


def _names() -> str:
    rows = []
    for name in sorted(bfenv.__all__, key=str.lower):
        thing = getattr(bfenv, name)
        first_line = (inspect.getdoc(thing) or "").partition("\n")[0].replace("`", "")
        page = ".".join(thing.__module__.split(".")[:2])  # the package that exports it
        rows.append((f"{{py:obj}}`{name} <{page}.{name}>`", first_line))
    return table(("name", "what it is"), rows)


def _speed() -> str:
    groups = ("traces", "gymnasium.make", "gymnasium.make_vec", "BackfillVecEnv", "jobs")
    chosen = [word for group in (*groups, "new process", "peak memory") for word in ("-g", group)]
    return command("show", *chosen, "--format", "markdown", commands=benchmarks)


def _forecasts() -> str:
    """Return how good forecasts are on each log, of jobs just submitted and of waiting ones."""
    rows = []
    for (log, starts, jobs), ways in _by_case().items():
        if jobs == "all":
            continue
        row = ways.pop("forecast")
        ways.pop("futures alone")  # ours, too
        best = min(ways, key=lambda way: ways[way]["pinball"])
        low, high = (f"{100 * row[f'holds_80_{end}']:.0f}" for end in ("low", "high"))
        rows.append(
            (
                log,
                starts,
                jobs,
                f"{row['pinball']:,.0f} s",
                f"{ways[best]['pinball']:,.0f} s ({best})",
                duration(row["median_error"]),
                f"{100 * row['holds_50']:.0f} %",
                f"{100 * row['holds_80']:.0f} % ({low} to {high})",
                f"{100 * row['holds_95']:.0f} %",
            )
        )
    shares = "50 % holds", "80 % holds", "95 % holds"
    header = "log", "starts", "jobs", "pinball loss", "best other", "median error"
    return table((*header, *shares), rows)


def _by_case() -> dict[tuple[str, str, str], dict[str, dict[str, Any]]]:
    """Return the rows of all ways by log, kind of starts, and kind of jobs; those of no month."""
    found: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for row in _scores():
        if not row["jobs"].startswith("month"):
            found.setdefault((*_case(row), row["jobs"]), {})[row["way"]] = row
    return found


def _by_month() -> str:
    rows = [
        (
            row["jobs"].removeprefix("month "),
            f"{row['number']:.0f}",
            f"{row['pinball']:,.0f}",
            duration(row["median_error"]),
            *(f"{100 * row[name]:.0f}" for name in ("within_10min", "holds_80")),
            f"{100 * row['holds_80_low']:.0f} to {100 * row['holds_80_high']:.0f}",
        )
        for row in _scores()
        if row["jobs"].startswith("month")
    ]
    columns = (
        "pinball loss, s",
        "median error",
        "within 10 min, %",
        "80 % holds, %",
        "95 % interval",
    )
    return table(("month", "forecasts", *columns), rows)


def _pinball() -> str:
    """Return the loss of each way on each log."""
    cases = {case[:2]: ways for case, ways in _by_case().items() if case[2] == "all"}
    names = list(next(iter(cases.values())))
    rows = [
        (*case, *(f"{ways[name]['pinball']:,.0f}" for name in names))
        for case, ways in cases.items()
    ]
    return table(("pinball loss, s", "starts", *names), rows)


def _case(row: dict[str, Any]) -> tuple[str, str]:
    log = re.sub(r"-(19|20)\d\d-.*", "", row["log"])
    return log, "recorded" if row["recorded"] else "simulated"


def _scores() -> list[dict[str, Any]]:
    """Return the rows that the command on the page `how_to/when` prints for each log."""
    scores: list[dict[str, Any]] = json.loads(SCORED_FORECASTS.read_text())
    return scores


# The command line -------------------------------------------------------------------------------


def command(*words: str, commands: typer.Typer = app) -> str:
    """Return what a command prints, by default one of `bfenv`."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(sys.stderr):
        commands(list(words), prog_name="bfenv", standalone_mode=False)
    return printed.getvalue()


def _commands(one: Any, name: str) -> Iterator[str]:
    """Yield a section for a command and for each command below it."""
    context = one.make_context(name, [], resilient_parsing=True, terminal_width=80)
    if name != "bfenv":
        yield f"{'##' if name.count(' ') == 1 else '###'} {name}\n"
    yield f"```text\n{one.get_help(context).rstrip()}\n```\n"
    if hasattr(one, "list_commands"):
        for below in one.list_commands(context):
            yield from _commands(one.get_command(context, below), f"{name} {below}")


# Scenarios --------------------------------------------------------------------------------------


def _write_scenario(folder: Path, name: str, scenario: Scenario) -> None:
    schedules = scenario.schedules()
    header = ["job", "submit", "size", "estimate"]
    columns: list[Sequence[int]] = [scenario.submit, scenario.size, scenario.estimate]
    if scenario.runtime:
        header.append("runtime")
        columns.append(scenario.runtime)
    header += [f"start under `{schedule.policy}`" for schedule in schedules]
    columns += scenario.starts.values()
    rows = zip(range(len(scenario.submit)), *columns, strict=True)
    names = ", ".join(schedule.policy for schedule in schedules)
    alt = f"Gantt chart of the scenario under {names}"
    _write(folder / "scenarios" / f"{name}.md", table(header, rows) + "\n" + picture(name, alt))
    _draw(folder, name, lambda theme: draw_scenario(schedules, theme))


def _write_drawings(folder: Path) -> None:
    alt = "At second 4: running jobs, the head's reservation at the shadow time, 3 extra nodes"
    _write(folder / "scenarios" / "shadow-time.md", picture("shadow-time", alt))
    _draw(folder, "shadow-time", draw_reservation)
    rows = read_measurements(PUBLISHED)["rows"]
    alt = "Time per job over the number of jobs, of waiting jobs, and of processors"
    _write(folder / "growth.md", picture("growth", alt))
    _draw(folder, "growth", lambda theme: draw_growth(rows, theme))
    tenths = {
        _case(row): [int(share) for share in row["tenths"].split()]
        for row in _scores()
        if row["jobs"] == "all" and row["tenths"]
    }
    alt = "Share of the starts that came by each level of their forecasts, close to the diagonal"
    _write(folder / "reliability.md", picture("reliability", alt))
    _draw(folder, "reliability", lambda theme: draw_reliability(tenths, theme))


def _draw(folder: Path, name: str, draw: Callable[[str], Figure]) -> None:
    for theme in THEMES:
        text = io.BytesIO()
        save(text, draw(theme), theme)
        _write(folder / "scenarios" / f"{name}-{theme}.svg", text.getvalue().decode())


def picture(name: str, alt: str) -> str:
    """Return Markdown that shows the version of a drawing for the theme of the page."""
    return "".join(
        f"```{{image}} /generated/scenarios/{name}-{theme}.svg\n"
        f":class: only-{theme}\n:alt: {alt}\n:width: 100%\n```\n"
        for theme in ("light", "dark")
    )


def _write(path: Path, text: str) -> None:
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())


# Docstrings -------------------------------------------------------------------------------------


def improve_docstring(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Shorten the environment's docstring, which is a page of its own; describe fields of records.

    The comment behind a field is where the code says what it holds.
    """
    if thing is BackfillEnv:
        link = ":doc:`The specification </specification>`"
        lines[1:] = ["", f"{link} has its arguments, actions, observations and rewards."]
    elif lines and lines[0].startswith("Alias for field number"):
        path, _, field = name.rpartition(".")
        lines[0] = _comment(import_object(":".join(path.rsplit(".", 1))), field)
    elif what == "class" and is_dataclass(thing) and ":param" not in "".join(lines):
        named = ((field.name, _comment(thing, field.name)) for field in fields(thing))
        described = [f":param {field}: {comment}" for field, comment in named if comment]
        lines += ["", *described, ""] if described else []
    elif "return" in getattr(thing, "__annotations__", {}):  # the type follows, with a link
        lines[:] = [re.sub(r"^:returns: \*[^*]*\* -- ", ":returns: ", line) for line in lines]


def shorten_signature(
    app: Any,
    what: str,
    name: str,
    thing: Any,
    options: Any,
    signature: str | None,
    result: str | None,
) -> tuple[str, str | None] | None:
    """Show functions that are defaults as "..."."""
    if signature is None:  # of a module
        return None
    return re.sub(r"=<function (?:\w+|<lambda>)>", "=...", signature), result


def move_result_type(app: Any, domain: str, kind: str, content: nodes.Element) -> None:
    """Put the type of a result, which Sphinx adds as the last field, right behind the result."""
    for listed in content.findall(nodes.field_list):
        by_name = {field[0].astext(): field for field in listed}
        if {"returns", "rtype"} <= set(by_name):
            listed.remove(by_name["rtype"])
            listed.insert(listed.index(by_name["returns"]) + 1, by_name["rtype"])


def _comment(record: type, field: str) -> str:
    """Return the comment behind a field, which may go on in lines below it."""
    source = inspect.getsource(record)
    comment = re.search(rf"^    {field}: .*?  # (.*(?:\n +# .*)*)", source, re.MULTILINE)
    return re.sub(r"\n +#", "", comment[1]) if comment else ""
