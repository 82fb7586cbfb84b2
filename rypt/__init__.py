"""RYPT: the ratio of acceptably translated constituents, from a database of human judgments.

    campaign = Campaign.open("campaign")     # rypt.campaign.folder
    Scorer(campaign.trees, votes)            # rypt.metric.scorer

The rooms: `rypt.texts` (files), `rypt.database` (judgments), `rypt.metric` (from labels to scores), `rypt.campaign`,
`rypt.ratings`, `rypt.analysis`, `rypt.picks`, `rypt.tools`; on top of everything, also of `mert` and `hits`:
`rypt.loop`, `rypt.demo`, `rypt.cli`.
"""
