"""A leaderboard as a table, as Markdown and as a page of HTML."""
