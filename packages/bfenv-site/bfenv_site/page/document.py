"""A self-contained page of HTML, with its style sheet and its script.

It makes no network requests. Its content security policy allows only this style sheet and this
script, by their hashes.
"""

import base64
import hashlib
from collections.abc import Collection, Sequence
from importlib.resources import files

from bfenv.evaluation.row import Row
from bfenv_site.page.markup import Cell, Markup, element, table


def document(
    heading: str,
    lead: str,
    first: Markup | None,
    sections: Sequence[tuple[str, str, Markup | None]],
    unfolded: Collection[str] = (),
) -> str:
    """Return a page with its style sheet and its script.

    * `heading`, `lead`: what the page is, and the line below.
    * `first`: the first screen, see `bfenv_site.page.first_screen`.
    * `sections`: key, heading and content of each, folded; those without content are left out.
    * `unfolded`: the keys of those that are not.
    """
    style, script = (
        Markup(files(__package__).joinpath(name).read_text(encoding="utf-8"))
        for name in ("page.css", "page.js")
    )
    rules = (
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        f"script-src '{_hash(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content="; ".join(rules)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{lead.partition(':')[0]}: {heading[0].lower()}{heading[1:]}"),
        element("style", style),
    )
    body = element(
        "body",
        element(
            "header",
            element("h1", heading),
            element("p", lead, class_="lead"),
        ),
        element(
            "main",
            first,
            [
                element(
                    "section",
                    element(
                        "details",
                        element("summary", element("h2", name, id=f"{key}-h")),
                        content,
                        class_="section",
                        open=key in unfolded,
                    ),
                    id=key,
                    aria_labelledby=f"{key}-h",
                )
                for key, name, content in sections
                if content is not None
            ],
            element("p", id="status", role="status", class_="hidden"),
        ),
        element("script", script),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def failed_runs(rows: Sequence[Row]) -> Markup | None:
    """List failed rows with their errors; None without any."""
    lines = [
        (
            None,
            [
                Cell(row.policy),
                Cell(row.workload),
                Cell(row.seed),
                Cell(row.error or "no reason given", None, "error"),
            ],
        )
        for row in rows
    ]
    columns = ["policy", "workload", "seed", "error"]
    return table("Runs that failed", columns, lines, text=(0, 1, 3)) if lines else None
