"""Which candidate of a segment a metric picks, and whether its picks are better by held-out human scores.

    metrics = parse_pick_metrics("rypt:table+0.2*chrf,bleu")                     # rypt.picks.metrics
    Chooser(campaign).picks(metrics[0])["12"].candidate.text

    evidence = read_evidence(campaign, "scores.jsonl", metrics)                  # rypt.picks.evidence
    splits, notes = evidence.splits(200, seed=1)                                 # rypt.picks.splits
    compare_picks(evidence.data, metrics, splits).outcomes                       # rypt.picks.outcome

Preferences that people give to
two picks beside each other are in `hits.compare`.
"""
