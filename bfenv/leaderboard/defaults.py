"""What a leaderboard assumes unless you say otherwise; the help of commands names it."""

TIMEOUT = 7_200.0  # seconds for a row; far beyond the longest of archive-v1
MEMORY = 4096  # MiB of address space, of each process of a player
DECISION = 10.0  # seconds for a decision of a player, after the first
