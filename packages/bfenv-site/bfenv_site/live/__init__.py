"""A live Slurm: its queue as it is now, and an order that is applied to it."""
