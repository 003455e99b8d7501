"""Readers of accounting logs of other kinds than the Standard Workload Format."""
