"""What a site's commands assume unless you say otherwise; their help names it."""

TODAY = "easy"  # a site's policy of today
CANDIDATES = (
    "conservative-replan",
    "easy(reservations=10)",
    "easy-sqf",
    "easy-lqf",
    "easy-sjf",
    "easy-saf",
    "easy-wfp3",
    "easy-lxf",
)  # what Slurm can be configured, or extended, to do
PLANNER = "conservative-replan"  # reserves a start for each job, by limits: Slurm's way
# What prints a live queue and its nodes.
QUEUE_FORMAT = "%i|%u|%T|%C|%l|%V|%S|%M|%Q|%r|%P|%N|%y"
NODE_FORMAT = "%N|%c|%T|%P"  # %P marks the default partition with a star
SQUEUE = f"SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0 squeue -ahrt all -o '{QUEUE_FORMAT}'"
SINFO = f"sinfo --noconvert -ahNo '{NODE_FORMAT}'"
