"""Limits of numbers in workloads: beyond them, a value is a mistake."""

LARGEST_EXACT = 2**53  # integers below are exact in float64; seconds, processors, SWF fields
MOST_PROCESSORS = 2**31  # of a generated workload
MOST_LOAD = 5.0  # that is asked for; more is a percentage
MOST_JOBS = 10**8  # of a generated workload
