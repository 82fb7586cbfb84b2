"""Metrics: what one is, how a text names one or a weighted sum of several, and the references they compare with.

    metric = read_metric("0.7*bleu + 0.3*rypt", Resources(references, campaign))   # rypt.metrics.metric
    metric.score(metric.stats(candidates).sum(axis=0, keepdims=True))

Metrics are found by entry point (`rypt.metrics`), the bundled ones are in `mert.metrics`.
"""
