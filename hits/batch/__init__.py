"""Batches of work for people: made from a campaign, written to a folder, shown as pages.

    batch = hits.make_batch("campaign", options=BatchOptions(budget="25.00"))    # labels that the campaign lacks
    batch.folder, batch.price.total, len(batch.items)
    pairs = BatchOptions(kind=Kind.COMPARISON, outputs={"baseline": "baseline.txt", "tuned": "tuned.txt"}, limit=300)
    hits.make_batch("campaign", "pairs", pairs)
    batch = read_batch("pairs")                                  # hits.batch.folder: checked line by line
    fill(batch.template, batch.items[0].columns)                 # hits.batch.page: what a worker sees

A batch is a folder: ``batch.toml`` (settings), ``batch.csv`` (a row for each hit) and ``template.html`` (the page, with
``${column}`` for what changes). `labels` and `systems` make the items of each kind, with controls among them;
CONTRIBUTING.md says how a new kind of batch is added.
"""
