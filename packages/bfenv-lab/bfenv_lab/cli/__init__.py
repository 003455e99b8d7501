"""The commands that this distribution adds to `bfenv`."""
