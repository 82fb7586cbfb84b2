"""The local market: a web server for requesters (Mechanical Turk's protocol) and for the people you invite.

    serve(folder, "127.0.0.1", 8000, ready)          # hits.server.app
    invite(folder, ["Ada", "Bob"])                   # hits.server.invitations: links to send

`store` keeps everything in one SQLite file. `endpoint` answers signed requests by its `operations`; `question` makes the
pages that requesters bring safe; `pages` shows hits to workers and the dashboard to the requester; `app` puts it
together. `settings` says how a market is served, `security` signs cookies and forms, `batches` reads the copies of
published batches.
"""
