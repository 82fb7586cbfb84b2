"""Simulated workers: they come in over HTTP, read the pages, answer from a known truth, and send.

    simulate("market", "dev.truth.jsonl", Crew(workers=5, accuracy=0.9)).total     # hits.simulate.crowd

`crowd` runs many workers against a market that is being served; `worker` is one of them, `page` reads what is shown,
`truth` is what they know.
"""
