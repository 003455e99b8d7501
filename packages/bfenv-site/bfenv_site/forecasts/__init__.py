"""When jobs will start: forecasts from sampled futures, and how good they were in the past."""
