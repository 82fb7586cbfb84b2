"""Metrics to tune to, one a file; `mert.metric` finds them by name."""
