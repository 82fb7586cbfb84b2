"""Algorithms that learn weights from pairs of candidates, as alternatives to the line search: PRO and batch MIRA.

    weights = pro(offsets, features, stats, score, start, free, rng, scale=100.0)    # mert.learners.pro
    weights = mira(offsets, features, stats, score, start, free, rng, scale=100.0)   # mert.learners.mira

`mert.solve` calls them for ``rypt tune --algorithm pro`` and ``mira``, `mert.moses.kbmira` for Moses' programs of these
names.
"""
