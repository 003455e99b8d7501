"""The tables and figures of the papers, computed again beside the printed numbers.

A paper is a list of items. An item declares which runs it needs and what was printed.
`python -m reproductions PAPER` makes the rows of the runs, judges each item by its rules and writes
a page with tables and figures.
"""
