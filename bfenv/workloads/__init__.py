"""Where jobs come from: logs, models and transformations of them (imports bfenv.core only)."""
