"""Pictures of schedules and workloads."""
