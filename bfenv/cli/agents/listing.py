"""The commands `bfenv agents` and `bfenv agents show`: bfenv's agents."""

from typing import Any

import typer

from bfenv.cli import show
from bfenv.cli.options import FormatOption
from bfenv.cli.show import Format


def agents(context: typer.Context, format: FormatOption = Format.table) -> None:
    """List agents, or show, score or publish one.

    Use an agent as "agent:NAME" wherever you name a policy. "ratio" is the mean bounded slowdown
    divided by EASY's, as the geometric mean over the test splits on the card, at the original load
    and at load 0.9. "unseen" is this ratio over the other workloads on the card, at the original
    load. "longest wait" is the largest ratio to EASY's longest wait. `bfenv agents show NAME`
    describes an agent and lists the workloads.

    \b
    Examples:
      bfenv agents
      bfenv agents --format csv
    """
    if context.invoked_subcommand:
        return
    from bfenv.agents.card import shipped_agents

    rows = [_row(**card) for card in shipped_agents()]
    if format in (Format.json, Format.csv):
        show.rows(rows, format)
        return
    columns = ("agent", "kind", "division", "ratio", "at 0.9", "unseen", "longest\nwait")
    lines = [
        (
            row["agent"],
            row["kind"],
            row["division"],
            *(
                "" if row[key] is None else f"{row[key]:.3f}"
                for key in ("ratio", "ratio_at_0.9", "unseen_ratio")
            ),
            "" if row["wait_ratio"] is None else f"{row['wait_ratio']:.2f}",
        )
        for row in rows
    ]
    show.table(columns, lines, format, numbers=4, whole_names=1)


def _row(name: str, kind: str, division: str, what: str) -> dict[str, Any]:
    from bfenv.agents.card import SHIPPED, geometric_means, read_card

    card = read_card(name)
    # A network's card may also have scores of other kinds, as on the traces that chose it.
    scores = [score for score in card.scores if "slowdown_ratio" in score]
    tests = geometric_means([score for score in scores if score["split"] == "test"])
    unseen = geometric_means([score for score in scores if score["split"] != "test"])
    return {
        "agent": f"{SHIPPED}{name}",
        "kind": kind,
        "division": division,
        "what": what,
        "ratio": tests.get("own"),
        "ratio_at_0.9": tests.get("0.9"),
        "unseen_ratio": unseen.get("own"),
        "wait_ratio": max((score["wait_ratio"] for score in scores), default=None),
        "policy": card.policy or None,
    }


def show_agent(
    name: str = typer.Argument(
        ..., metavar="NAME", help="Name of an agent, or the path of a card."
    ),
    format: FormatOption = Format.table,
) -> None:
    """Show an agent's card: what it is and how it scores.

    The card also has the command that found the agent, and the jobs it was trained on. "ratio" is
    the mean bounded slowdown over EASY's, "longest wait" the longest wait over EASY's.

    \b
    Examples:
      bfenv agents show formula
      bfenv agents show formula --format json
      bfenv agents show network
    """
    from bfenv.agents.card import SHIPPED, read_card

    card = read_card(name.removeprefix(SHIPPED))
    if format in (Format.json, Format.csv):
        spans = [
            span._asdict() | {"blocks": None if span.blocks is None else len(span.blocks)}
            for span in card.trained_on
        ]
        whole = {name: value for name, value in vars(card).items() if value}
        whole.pop("validated_on", None)
        # The score that chose a network has other columns.
        names = dict.fromkeys(name for score in card.scores for name in score)
        scores = [{name: score.get(name) for name in names} for score in card.scores]
        show.rows([whole | {"trained_on": spans}] if format is Format.json else scores, format)
        return
    policy = f"\n\n  {card.policy}" if card.policy else ""
    show.prose(f"{card.what}\n\nDivision: {card.division}{policy}\n")
    if "command" in card.found:  # which models do not have
        show.text(f"Found by:\n\n  {card.found['command']}\n")
        if "then" in card.found:
            show.prose(f"{card.found['then']}\n")
    if "left_out" in card.found:
        show.text("Penalized slowdown of the same search on a workload that it left out:\n")
        for score in card.found["left_out"]:
            show.text(f"  {score['penalized_slowdown']:.3f} on {score['workload']}")
        show.text()
    show.text("Trained on:\n")
    for line in card.training_lines():
        show.text(f"  {line}")
    if card.validated_on:
        show.text("\nValidated on:\n")
        for span in card.validated_on:
            show.text(f"  jobs {span.first:,} to {span.last - 1:,} of {span.trace}")
    show.text()
    columns = [
        "scored on",
        "load",
        "log\nseen",
        "ratio",
        "lowest to highest",
        "longest\nwait",
        "mean wait\n/ EASY's",
    ]
    show.table(columns, card.score_cells(), format, numbers=len(columns) - 3)
    for failure in card.failures:
        show.prose(f"! {failure}")
