"""Asking people: from a campaign to a batch folder with its price.

    import hits
    batch = hits.make_batch("campaign", budget="25.00")           # hits.asking.make; labels that the campaign lacks
    batch.folder, batch.price.total, len(batch.items)
    hits.price(batch, market="mturk").total                       # of any batch, or of its folder

Other questions than labels are asked about systems' outputs (`hits.asking.questions`):

    outputs = {"baseline": "baseline.txt", "tuned": "tuned.txt"}
    make_batch(campaign, "pairs", ComparisonQuestions(outputs), options=BatchOptions(limit=300, assignments=1))
    make_batch(campaign, "fives", RankingQuestions(outputs))

**A new kind of batch** needs, in this order:

1. a name in `hits.records.Kind`, and the columns that programs read in that module's docstring;
2. its rules in `hits.batches.kinds.KINDS`: columns, checks, assignments, seconds an answer takes;
3. its page: ``hits/batches/templates/KIND.html``, and a section ``[KIND]`` in each ``instructions.*.toml`` beside it;
4. a class like those of `hits.asking.questions`, with ``kind``, ``record`` and ``make``; `hits.cli.batches` makes one
   for ``rypt hits make --kind``;
5. a function that reads an answer, in the table of `hits.results.content.understand`.

Prices, folders, publishing, collecting and the market take it from there.
"""
