"""Multiple-queue backfilling."""
