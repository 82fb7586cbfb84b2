"""Batches of work for people: what to ask, the controls among it, the pages, and what all of it costs.

`labels`, `comparisons` and `rankings` make the items of the three kinds of batch; `folder` writes a batch folder
(``batch.toml``, ``batch.csv``, ``template.html``) and `reader` reads one; `price` says what it costs.

    items = make_comparisons(...)            # or make_labels, make_rankings
    write_batch(folder, Batch(...))          # hits.batches.folder
    batch = read_batch(folder)               # hits.batches.reader
    print(price(batch))                      # hits.batches.price
"""
