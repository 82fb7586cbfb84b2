"""Collecting judgments from people: batches of hits, a market of one's own, results, quality control.

The main path::

    make_label_batch → write_batch → publish → (workers answer) → collect → worker_reports

`hits.server` is the local market, `hits.market` the client for it and for anything that speaks the same protocol.
"""
