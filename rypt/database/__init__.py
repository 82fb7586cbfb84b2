"""The judgment database: one SQLite file of segments and judgments, and all the SQL that asks it.

    with JudgmentDatabase("judgments.db") as db:   # rypt.database.judgments
        db.add_segments(segments); db.add(judgments); db.label("news-12", Span(0, 2), "the patient")
        votes = read_votes(db); votes.counts()     # rypt.database.votes: what counts, as arrays

`schema` has the tables and views, `exchange` imports, exports and merges, `check` finds what is wrong. Answers to hits
are in tables that `hits.results.tables` adds to the same file.
"""
