"""Generators of workloads."""
