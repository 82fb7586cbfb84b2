"""Batches of work for people: their folder, the rules of each kind, the page that workers see, and what it costs.

A batch is a folder: ``batch.toml`` (settings), ``batch.csv`` (a row for each hit), ``template.html`` (the page, with
``${column}`` for what changes) and, for comparisons, ``identical.csv``.

    settings = new_settings(Kind.COMPARISON, seed=1, now=now)          # hits.batch.folder
    batch = make_comparison_batch(segments, outputs, settings)         # hits.batch has the items of each kind
    write_batch(folder, batch)                                         # hits.batch.folder
    batch = read_batch(folder)                                         # hits.batch.folder: checked line by line
    price(batch, fees=MTURK_FEES).total                                # hits.payment
    fill(batch.template, batch.items[0].columns)                       # hits.batch.page: what a worker sees

`kinds` has the rules of each kind; `layout` makes the template of a kind from Jinja templates and the texts of one
language. `hits.batch` makes a batch from a campaign in one call, and says how a kind is added.
"""
