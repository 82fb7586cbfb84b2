"""The pages of the market: where people work (`worker`) and where the requester looks on (`dashboard`).

Both ask the store and render the Jinja templates beside them; pages that requesters bring go through
`hits.server.questions`.
"""
