"""Metrics: what one is, how a text names one or a weighted sum of several, and the references they compare with.

    metric = read_metric("0.7*bleu + 0.3*rypt:table", Resources(references, campaign))   # rypt.metrics.metric
    metric.score(metric.stats(candidates).sum(axis=0, keepdims=True))                    # of a whole test set

    (term,) = parse_spec("chrf++(beta=1)")                                               # rypt.metrics.expression
    single_scores(make_metric(term, Resources(references)), candidates)                  # of each candidate alone

Tuning and comparing read the same language. Metrics are found by entry point (`rypt.metrics`) or named as
``package.module:Class``; the bundled ones are in `mert.metrics`. docs/metrics.md shows how to write one.
"""
