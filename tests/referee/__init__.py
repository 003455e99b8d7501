"""Tests of bfenv.referee."""
