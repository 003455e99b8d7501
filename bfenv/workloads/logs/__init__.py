"""Readers and writers of logs."""
