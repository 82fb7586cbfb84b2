"""The local market: a web server for requesters (Mechanical Turk's protocol) and for the people you invite.

    serve(folder, "127.0.0.1", 8000, ready)          # hits.server.app
    invite(folder, ["Ada", "Bob"])                   # hits.server.invitations: links to send

`app` puts it together; `store` keeps everything in one SQLite file, `questions` makes the pages that requesters bring
safe, and both import none of the others; `protocol` answers signed requests and imports only these two; `pages` shows
hits to workers and the dashboard to the requester. `settings` says how a market is served, `security` signs cookies and
forms, `batches` reads the copies of published batches, `lock` keeps a second server out.
"""
