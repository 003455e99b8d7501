"""What a leaderboard assumes unless you say otherwise; the help of commands names it."""

TIMEOUT = 7_200.0  # seconds for a row; far beyond the longest of archive-v1
