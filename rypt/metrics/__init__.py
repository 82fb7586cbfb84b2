"""Metrics: BLEU, chrF, TER, RYPT, scores of other programs, and how an expression names one or a weighted sum.

metric = read_metric("0.7*bleu + 0.3*rypt:table", Resources(references, campaign))   # rypt.metrics.metric
metric.score(metric.stats(candidates).sum(axis=0, keepdims=True))                    # of a whole test set

(term,) = parse_spec("chrf++(beta=1)")                                               # rypt.metrics.expression
single_scores(make_metric(term, Resources(references)), candidates)                  # of each candidate alone
"""
