"""The requester's side of a market: publish a batch, collect its answers, review work, show progress.

    publish(batch, market)                           # hits.market.publish: each hit once, whatever happens in between
    collect(batch, market, campaign)                 # hits.market.collect: each answer once
    review(decisions, market); expire(batch, market)
    collection_status(campaign, batch, market)       # hits.market.status

A batch is given by its folder or as a `Batch`; a market by the folder of a local one, a URL, a `MarketAddress` or a
client (`client`: the protocol and the one client that speaks it). `folder` knows the folder of a local market, `served`
whether somebody serves it, `ledger` what was published. Nothing here loads the server.
"""
