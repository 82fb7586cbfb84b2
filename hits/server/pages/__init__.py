"""The pages of the market: where people work (`worker`) and where the requester looks on (`dashboard`).

Both ask the store and render the Jinja templates beside them. Pages that requesters bring go through `hits.server.questions`.
"""
