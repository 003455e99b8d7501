"""The Gymnasium environments over the engine (imports bfenv.core and bfenv.workloads)."""
