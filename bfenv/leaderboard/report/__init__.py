"""A leaderboard as Markdown and as a single self-contained page of HTML.

`read_leaderboard` reads the folder; `render_markdown` and `render_page` write it out. The page's
Gantt chart shows what `select_gantt` selects.
"""

from bfenv.leaderboard.report.gantt_selection import GanttSelection, select_gantt
from bfenv.leaderboard.report.markdown import render_markdown, write_readme
from bfenv.leaderboard.report.page import render_page

__all__ = ["GanttSelection", "render_markdown", "render_page", "select_gantt", "write_readme"]
