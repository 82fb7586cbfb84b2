"""The judgment database: one SQLite file of segments and judgments, and all the SQL that asks it.

    with JudgmentDatabase("judgments.db") as db:   # rypt.database.judgments
        db.add_segments(segments); db.add(judgments); db.votes()
        AnswerTables(db).comparisons()             # rypt.database.answers: what hits brought back

`schema` has all tables and their migrations (`rypt.migrations`; a change of the tables is one more migration at its
end), those of judgments in `compact`, which `writing` fills; `answer_rows` has the rows that `answers` keeps.
`exchange` imports, exports and merges, `fields` reads and writes the records of files, `audit` says what is in a
database and what is wrong. No other room contains SQL about judgments.
"""
