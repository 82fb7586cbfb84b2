"""Minimum error rate training: weights that make the best candidates win, by any metric whose statistics add up.

The main path::

    read_lists → metric.stats → optimize → write_weights

`mert.search` is Och's exact line search (2003), `mert.optimize` the search over directions and starting points.
"""
