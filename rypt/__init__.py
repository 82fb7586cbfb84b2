"""RYPT: the ratio of acceptably translated constituents, from a database of human judgments.

The main path, from texts to a score::

    Campaign.open(folder) → campaign.database().votes() → Scorer(campaign.trees, votes) → stats → score

Reading: `rypt.campaign`, `rypt.treebank`, `rypt.nbest`. Judging: `rypt.queries`, `rypt.database`, `rypt.exchange`.
Scoring: `rypt.scorer`, with the models `rypt.model.Percolation`, `rypt.model.CalibratedTable`,
`rypt.tree_model.TreeModel`. Looking: `rypt.explain`, `rypt.drawing`, `rypt.analysis`.
"""
