"""The market of one's own: a web server for requesters (Mechanical Turk's protocol) and for the people you invite.

`app` puts it together and serves it; `store` keeps everything in one SQLite file; `protocol` answers signed requests;
`pages` shows hits to workers and the dashboard to the requester; `settings` is what a folder keeps beside its store.

    serve(folder, "127.0.0.1", 8000, ready)  # hits.server.app
"""
