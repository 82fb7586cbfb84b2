"""Whose picks are better: metrics' picks beside each other, the batch that asks people, and what people preferred.

    comparison = compare_metrics(campaign, "rypt,bleu")                # hits.compare.metrics
    comparison.disagreements().write("picks.html")                     # both picks side by side
    batch = comparison.ask("picks")                                    # a batch to publish
    comparison.preferences().text()                                    # its answers: the paper's Tables 1 and 2

    scores = HeldOutScores("scores.jsonl", splits=200)                 # hits.compare.scores
    compare_by_scores(campaign, scores, "rypt,bleu,rypt:table+0.2*chrf").write("ted.json")
    pool_outcomes(["ted.json", "news.json"]).text()                    # hits.compare.pool

`systems` counts preferences between systems instead of metrics; `tables`, `plot` and `page` show all of it.
"""
