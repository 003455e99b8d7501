"""The names of bfenv's own competitors, which no other may have, nor one that reads like it.

Names are compared as a reader sees them: in upper or lower case, with any separators, and with
letters and digits that look alike. Nothing is opened or run for it.
"""

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from bfenv.agents.agent_names import ALL as AGENTS
from bfenv.agents.card import NETWORK, SHIPPED, shipped_names
from bfenv.analysis.logged import LOGGED
from bfenv.baselines.registry import ALL as POLICIES
from bfenv.baselines.registry import ELSEWHERE, FAMILIES
from bfenv.core.errors import BfenvError
from bfenv.core.names import parse_name

SEPARATORS = re.compile(r"[\s_.:~=-]+")
# Printable ASCII that looks alike; of pairs, such as rn and m, the single one
ALIKE = str.maketrans("01i|!5$@43", "ollllssaae")
PAIRS = {"rn": "m", "nn": "m", "vv": "w", "cl": "d", "++": "+"}
MARKS = re.compile(r"[^a-z0-9+/]")  # beside a name, a reader passes over them
AROUND = "|!$@+=*#%&;,^<>?"  # these too, where they do not stand for a letter
OPTIONS = re.compile(r"[\s(\[{<]")  # what may stand between a name and its options
OURS = re.compile(r"bfenv[\W_]+", re.IGNORECASE)  # in front of a name, it says whose it is


class OwnName(NamedTuple):
    """The name of one of bfenv's own competitors."""

    name: str
    kinds: tuple[str, ...]  # "policy", "agent" or "log"


@cache
def own_names() -> Mapping[str, OwnName]:
    """Return the names of bfenv's own competitors by how they read."""
    policies = {**POLICIES, **FAMILIES, **ELSEWHERE}
    policies |= dict.fromkeys(SHIPPED + name for name in shipped_names())
    agents = [*AGENTS, *(SHIPPED + name for name in shipped_names(NETWORK))]
    names = dict.fromkeys([*policies, *agents])
    kinds = {
        name: ("policy",) * (name in policies) + ("agent",) * (name in agents) for name in names
    }
    competitors = [OwnName(name, kinds[name]) for name in names] + [OwnName(LOGGED, ("log",))]
    return MappingProxyType({reading(competitor.name): competitor for competitor in competitors})


def reading(name: str) -> str:
    """Return how a name reads. Two names that a reader may confuse at a glance read the same."""
    text = name.casefold().replace("()", "o").translate(ALIKE)
    text = MARKS.sub("", SEPARATORS.sub("", text)).removesuffix("/")
    for pair, single in PAIRS.items():
        text = text.replace(pair, single)
    return text


def check_name(kind: str, name: str, code: str | None = None) -> None:
    """Check that the name of a competitor cannot be taken for another one's.

    `code` is the hash of its code, None if it has none but bfenv's.

    Raises BfenvError if it has characters beyond printable ASCII, which may look like others, reads
    like the name of one of bfenv's own, or is that of one of another kind or with other code.
    """
    if not (name.isascii() and name.isprintable()):
        raise BfenvError(
            f"{ascii(name)[1:-1]}: the name of a competitor has printable ASCII characters only, "
            "because others may look like these"
        )
    namesake = find_own(name)
    if namesake is None:
        return
    options = name.removeprefix(namesake.name).lstrip()
    if not (name.startswith(namesake.name) and (not options or options[0] in "(:")):
        raise BfenvError(
            f"{name} reads like {namesake.name}, the name of bfenv's own {namesake.kinds[0]}: "
            "choose another"
        )
    if kind not in namesake.kinds:
        raise BfenvError(
            f"{name} is given as {with_article(kind)}, but is the name of bfenv's own "
            f"{namesake.kinds[0]}"
        )
    if code is not None:
        raise BfenvError(f"{name} is bfenv's own, and has no other code")


def find_own(name: str) -> OwnName | None:
    """Return which of bfenv's own competitors a name is, or reads like; its options may follow."""
    parts = {name, OPTIONS.split(name.strip(), maxsplit=1)[0]}
    try:
        parts.add(parse_name(name).base)
    except BfenvError:  # it is no name with options
        pass
    alike = {name.strip(AROUND), OURS.sub("", name, count=1)}
    if name.casefold().startswith("agent"):
        alike.add(name.replace("/", ":"))
    by_reading = own_names()
    matches = [by_reading[key] for key in map(reading, sorted(parts | alike)) if key in by_reading]
    return next(
        (candidate for candidate in matches if candidate.name in parts),
        matches[0] if matches else None,
    )


def with_article(kind: str) -> str:
    """Return a kind of competitor with its article."""
    return f"an {kind}" if kind == "agent" else f"a {kind}"
