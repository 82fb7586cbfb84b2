"""Tuning of weights over n-best lists. Nothing is here yet: the metric came first, in `rypt`."""
