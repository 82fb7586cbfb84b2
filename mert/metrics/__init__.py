"""Metrics to tune to, one a file; `rypt.metrics.metric` finds them by name."""
