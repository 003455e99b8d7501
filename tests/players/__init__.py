"""Tests of bfenv.players."""
