"""The result of a search: the best of its candidates, in a file of JSON."""

import json
from pathlib import Path
from typing import Any

from bfenv.agents.card import POLICY, Card
from bfenv.agents.search.cases import CaseSet
from bfenv.agents.search.objective import WAIT_MARGIN, Score, combine, score_policies
from bfenv.agents.seen_jobs import decode_span
from bfenv.baselines.registry import find_policy
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.policy import COMPLETION, TRIALS

FORMAT = "bfenv search 1"
FINALISTS = 8  # candidates that are scored on the large cases


def rank(score: Score) -> tuple[bool, float]:
    """Return the sort key of candidates: those beyond WAIT_MARGIN come last."""
    return score.wait_ratio > WAIT_MARGIN, score.value


def select(
    known: dict[str, Score], cases: CaseSet, tolerated_wait: float, workers: dict[str, Any]
) -> dict[str, Any]:
    """Score the FINALISTS on the large cases; return the best, with its scores.

    * `known`: the scores of candidates on the validation cases.
    * `cases`, `tolerated_wait`: as `combine` takes them.
    * `workers`: where to run, see `bfenv.parallel.run_tasks`.
    """
    finalists = sorted(known, key=lambda policy: (rank(known[policy]), policy))[:FINALISTS]
    outcomes = score_policies(finalists, cases.whole, **workers)
    final = [combine(cases.whole, each, tolerated_wait) for each in outcomes]
    best = min(range(len(finalists)), key=lambda i: (rank(final[i]), i))
    return {
        "policy": finalists[best],
        "score": final[best]._asdict(),
        "validation": known[finalists[best]]._asdict(),
        "cases": [
            case._asdict() | outcome._asdict()
            for case, outcome in zip(cases.whole, outcomes[best], strict=True)
        ],
    }


def write_result(folder: Path, result: dict[str, Any]) -> None:
    """Write a result to the file result.json in a folder."""
    text = json.dumps(result, indent=1, allow_nan=False)
    write_atomically(folder / "result.json", text.encode() + b"\n")


def read_result(path: Path) -> dict[str, Any]:
    """Read the result of a search.

    Raises BfenvError if the file cannot be read, or is none.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise BfenvError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BfenvError(f"{path}: is not the result of a search: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BfenvError(f"{path}: is not the result of a search of format {FORMAT!r}")
    return content


def result_card(name: str, what: str, result: dict[str, Any]) -> Card:
    """Return the card of a search's result, without scores."""
    keys = ("command", "generations", "candidates", "score", "validation", "settings")
    return Card(
        name=name,
        division=TRIALS if find_policy(result["policy"]).trials else COMPLETION,
        kind=POLICY,
        what=what,
        policy=result["policy"],
        found={key: result[key] for key in keys},
        trained_on=tuple(map(decode_span, result["training"])),
        versions=result["versions"],
    )
