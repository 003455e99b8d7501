"""Referee and player: code of strangers decides in a process that never has the trace."""
