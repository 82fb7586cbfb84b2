"""Collecting judgments from people. Nothing is here yet: the metric and its database came first, in `rypt`."""
