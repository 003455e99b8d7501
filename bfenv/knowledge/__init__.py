"""What may be known of a job, and orders made of it: user histories, priorities, expressions."""

__all__: list[str] = []
