"""What another policy would do to a cluster's users: comparisons, variants, and their pages."""
