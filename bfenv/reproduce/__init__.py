"""The tables and figures of the papers, computed again beside the printed numbers.

A paper is a list of items. An item declares which runs it needs and what was printed; `reproduce`
makes the rows of the runs, judges each item by its rules and writes a page with tables and figures.
"""

from bfenv.reproduce.item import (
    Cell,
    Claim,
    Comparison,
    Content,
    Item,
    Line,
    Panel,
    Paper,
    Run,
    Value,
)
from bfenv.reproduce.page import render, write_page
from bfenv.reproduce.papers import PAPERS, find_items, find_paper
from bfenv.reproduce.results import Results
from bfenv.reproduce.run import plan, run
from bfenv.reproduce.verdict import Verdict, judge

__all__ = [
    "PAPERS",
    "Cell",
    "Claim",
    "Comparison",
    "Content",
    "Item",
    "Line",
    "Panel",
    "Paper",
    "Results",
    "Run",
    "Value",
    "Verdict",
    "find_items",
    "find_paper",
    "judge",
    "plan",
    "render",
    "run",
    "write_page",
]
