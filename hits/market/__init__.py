"""The requester's side of a market: one client, publishing a batch, collecting its answers. It never loads the server.

    market = ...                             # hits.market.client: the protocol, and the client that speaks it
    publish(market, batch, ledger)           # hits.market.publish: each hit once, whatever happens in between
    collect(market, batch, results)          # hits.market.collect: each answer once

`ledger` remembers what was published, `progress` asks how far a batch is.
"""
