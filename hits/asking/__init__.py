"""Asking people: from a campaign to a batch folder with its price.

    import hits
    batch = hits.make_batch("campaign", budget="25.00")           # hits.asking.make; labels that the campaign lacks
    batch.folder, batch.price.total, len(batch.items)
    hits.price(batch, market="mturk").total                       # of any batch, or of its folder

Other questions than labels are asked about systems' outputs (`hits.asking.questions`):

    outputs = {"baseline": "baseline.txt", "tuned": "tuned.txt"}
    make_batch(campaign, "pairs", ComparisonQuestions(outputs), options=BatchOptions(limit=300, assignments=1))
    make_batch(campaign, "fives", RankingQuestions(outputs))

`labels`, `comparisons` and `rankings` make the items of each kind, with controls among them (`label_controls`,
`verified`). CONTRIBUTING.md says how a new kind of batch is added.
"""
