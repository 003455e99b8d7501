"""Players: code that is not bfenv's own decides in a process that never has the trace.

The referee holds the trace, the clock and the metrics, and drives the one engine. A player is sent
what a scheduler may know, as it becomes known, and answers with starts or actions. docs/players.md
describes the messages, the limits, and what is promised with and without a sandbox.
"""
