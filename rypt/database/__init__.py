"""The judgment database: one SQLite file of segments and judgments, and all the SQL that asks it.

    with JudgmentDatabase("judgments.db") as db:   # rypt.database.judgments
        db.add_judgments(judgments); db.votes()

`schema` has its tables, `exchange` imports, exports and merges, `audit` says what is in it and what is wrong.
"""
