"""How far a policy is from the best: a certified lower bound, the best schedules found.

Both know every true runtime and every job to come. No schedule that runs jobs to completion is
below the bound; the off-line schedule shows what can be reached.
"""
