"""Futures of the machine: a policy run forward from now, with sampled runtimes and arrivals."""
