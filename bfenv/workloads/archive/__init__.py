"""The Parallel Workloads Archive: its catalogue, downloads, and the logs on this machine."""
