"""Whose picks are better: metrics' picks side by side, the batch that asks people, and what people preferred.

    comparison = compare_metrics(campaign, "rypt,bleu")                # hits.compare.picks
    comparison.disagreements().write("picks.html")                     # both picks side by side
    batch = comparison.ask("picks")                                    # a batch to publish
    comparison.preferences().text()                                    # its answers: the paper's Tables 1 and 2

    scores = HeldOutScores("scores.jsonl", splits=200)                 # hits.compare.scores
    compare_by_scores(campaign, scores, "rypt,bleu,rypt:table+0.2*chrf").text()

    compare_systems(["A.txt", "B.txt"], references=["dev.en"]).text()  # hits.compare.lists, without a campaign

`hits.compare.preferences` also counts people's preferences between two systems.
"""
