"""The papers by name, and the items of a paper by name."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from bfenv.core.errors import UnknownNameError
from reproductions.hpcopt import HPCOPT
from reproductions.item import Item, Paper
from reproductions.klusacek_rudova import KLUSACEK_RUDOVA
from reproductions.lawson_smirni2002 import LAWSON_SMIRNI2002
from reproductions.rlscheduler import RLSCHEDULER
from reproductions.shmueli_los2003 import SHMUELI_LOS2003
from reproductions.tsafrir2010 import TSAFRIR2010
from reproductions.twenty_years import TWENTY_YEARS
from reproductions.zotkin2000 import ZOTKIN2000

_ALL = (
    ZOTKIN2000,
    KLUSACEK_RUDOVA,
    TSAFRIR2010,
    LAWSON_SMIRNI2002,
    SHMUELI_LOS2003,
    TWENTY_YEARS,
    RLSCHEDULER,
    HPCOPT,
)
PAPERS: Mapping[str, Paper] = MappingProxyType({paper.name: paper for paper in _ALL})


def find_paper(name: str) -> Paper:
    """Return the paper of a name.

    Raises:
        UnknownNameError: If there is none.
    """
    if name not in PAPERS:
        raise UnknownNameError("paper", name, PAPERS)
    return PAPERS[name]


def find_items(paper: Paper, names: Sequence[str]) -> list[Item]:
    """Return the items of these names in the order of the paper; all if no name is given.

    Raises:
        UnknownNameError: If the paper has no such item.
    """
    by_name = {item.name: item for item in paper.items}
    for name in names:
        if name not in by_name:
            raise UnknownNameError(f"item of {paper.name}", name, by_name)
    return [item for item in paper.items if item.name in names or not names]
