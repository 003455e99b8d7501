"""What a site's report assumes unless you say otherwise; the help of the command names it."""

TODAY = "easy"  # a site's policy of today
CANDIDATES = (
    "conservative-replan", "easy(reservations=10)", "easy-sqf", "easy-lqf", "easy-sjf",
    "easy-saf", "easy-wfp3", "easy-lxf",
)  # fmt: skip  # what Slurm can be configured, or extended, to do
