"""Which candidate of a segment a metric picks, and whether its picks are better by held-out human scores.

    metrics = parse_pick_metrics("rypt:table+0.2*chrf,bleu")                     # rypt.picks.metrics
    Chooser(campaign).picks(metrics[0])["12"].candidate.text                     # rypt.picks.choose

    evidence = read_evidence(campaign, "scores.jsonl", metrics)                  # rypt.picks.evidence
    compare_picks(evidence.data, metrics, evidence.splits("system", 200, seed=1)).outcomes   # rypt.picks.outcome

`splits` says who judges and who decides, `documents` which segments belong together. Preferences that people give to
two picks beside each other are in `hits.compare`.
"""
