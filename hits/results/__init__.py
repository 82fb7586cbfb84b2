"""What came back: answers become judgments and comparisons in the campaign's database, and workers get a verdict.

    results = Results(database)              # hits.results.answers
    results.add(batch, assignments)          # each assignment once
    worker_reports(results)                  # hits.results.quality

`csv_file` reads and writes the requester's results CSV, `aggregate` makes one label of several judgments.
"""
