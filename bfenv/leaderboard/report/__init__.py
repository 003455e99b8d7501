"""A leaderboard as Markdown and as a single self-contained page of HTML.

`read_leaderboard` reads the folder; `render_markdown` and `render_page` write it out. The page's
Gantt chart shows what `select_gantt` selects.
"""
