"""User histories, priorities and expressions: the quantities that a queue order may use."""

__all__: list[str] = []
