"""Measuring and comparing schedules (imports everything in bfenv but the command line)."""
