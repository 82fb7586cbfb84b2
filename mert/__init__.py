"""Minimum error rate training: weights that make the best candidates win, by any metric whose statistics add up.

The main path::

    read_lists → make_problem (metric.stats) → solve → WeightsFile.write

`mert.search` is Och's exact line search (2003), `mert.optimize` the search over directions and starting points,
`mert.run` the loop around a decoder; `mert.moses` and `mert.zmert` stand in for Moses' programs and for Z-MERT.
"""
