"""The simulated machine: jobs, cluster, policies and the one event loop."""
