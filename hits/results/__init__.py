"""Results: answers become judgments and comparisons in the campaign's database, and workers get a verdict.

    results = Results(db)                        # hits.results.answers
    results.add(assignments)                     # each assignment once
    worker_reports("campaign")                   # hits.results.quality
    aggregate("campaign").write("labels.db")     # hits.results.aggregate

`content` reads what a form says, `csv_file` reads and writes the requester's results CSV, `jsonl_file` what campaigns
are merged by, `numbers` has the figures of a collection, `verdicts` the limits behind a verdict, `workers` acts on it.
All SQL is in `answers` and `tables`.
"""
