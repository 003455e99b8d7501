"""Policies found by search over parameters."""
