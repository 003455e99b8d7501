"""The papers by name, and the items of a paper by name."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from bfenv.core.errors import UnknownNameError
from bfenv.reproduce.item import Item, Paper
from bfenv.reproduce.klusacek_rudova import KLUSACEK_RUDOVA
from bfenv.reproduce.lawson_smirni2002 import LAWSON_SMIRNI2002
from bfenv.reproduce.shmueli_los2003 import SHMUELI_LOS2003
from bfenv.reproduce.tsafrir2010 import TSAFRIR2010
from bfenv.reproduce.twenty_years import TWENTY_YEARS
from bfenv.reproduce.zotkin2000 import ZOTKIN2000

PAPERS_IN_ORDER = (
    ZOTKIN2000,
    KLUSACEK_RUDOVA,
    TSAFRIR2010,
    LAWSON_SMIRNI2002,
    SHMUELI_LOS2003,
    TWENTY_YEARS,
)
PAPERS: Mapping[str, Paper] = MappingProxyType({paper.name: paper for paper in PAPERS_IN_ORDER})


def find_paper(name: str) -> Paper:
    """Return the paper of a name.

    Parameters
    ----------
    name
        One of `PAPERS`.

    Returns
    -------
    Paper
        With its items.

    Raises
    ------
    UnknownNameError
        If there is none.

    Examples
    --------
    >>> from bfenv.reproduce import find_items, find_paper
    >>> paper = find_paper("zotkin2000")
    >>> [item.name for item in find_items(paper, ["figure-1"])]
    ['figure-1']
    """
    if name not in PAPERS:
        raise UnknownNameError("paper", name, PAPERS)
    return PAPERS[name]


def find_items(paper: Paper, names: Sequence[str]) -> list[Item]:
    """Find items of a paper by their names.

    Parameters
    ----------
    paper
        One of `PAPERS`.
    names
        Such as "table-2"; all items if it is empty.

    Returns
    -------
    list[Item]
        In the order of the paper.

    Raises
    ------
    UnknownNameError
        If the paper has no such item.
    """
    known = {item.name: item for item in paper.items}
    for name in names:
        if name not in known:
            raise UnknownNameError(f"item of {paper.name}", name, known)
    return [item for item in paper.items if item.name in names or not names]
