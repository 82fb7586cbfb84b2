"""The metric RYPT, from a tree and its candidates to a score (Zaidan and Callison-Burch 2009).

frontier(tree, max_len)                                      # rypt.scoring.frontier: the constituents to ask about
queries(trees, candidates, judged=keys)                      # rypt.scoring.queries: their phrases without a judgment
scorer = Scorer(trees, votes)                                # rypt.scoring.scorer: percolation, or another model
scorer.score(scorer.stats(candidates))
score_report(scorer, candidates)                             # rypt.scoring.report: with coverage, ties and segments

Below them: `forest` has the trees as arrays, `phrase_keys` a number for each phrase, `observations` the votes on them;
`models` are percolation, table and severity, `learning` fits them to judgments. `value` says which labels are worth
most, `explain` and `drawing` show why a candidate has its score.
"""
