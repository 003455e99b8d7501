"""Policies and agents ranked on frozen suites of traces."""
