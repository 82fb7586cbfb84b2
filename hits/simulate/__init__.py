"""Workers that nobody is: they come in over HTTP, read the pages, answer from a known truth, and send.

`crowd` runs many `worker`s against a market that is being served; `truth` is what they know.
"""
