"""What leaderboards and reports assume unless you say otherwise; the help of commands names it."""

TIMEOUT = 7_200.0  # seconds for a row of the leaderboard; far beyond the longest of archive-v1
TODAY = "easy"  # a site's policy of today
CANDIDATES = (
    "conservative-replan", "easy(reservations=10)", "easy-sqf", "easy-lqf", "easy-sjf",
    "easy-saf", "easy-wfp3", "easy-lxf",
)  # fmt: skip  # what Slurm can be configured, or extended, to do
