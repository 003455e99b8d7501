"""RLScheduler of Zhang et al. 2020: its simulator as a policy, and its published networks."""
