"""Which candidate of a segment a metric picks, and whether people like one metric's picks better than another's.

    parse_pick_metric("rypt:table+0.2*chrf")   →   read_evidence(campaign, "scores.jsonl", metrics)   →   compare_picks

Preferences that people give to two picks beside each other are in `hits.compare.picks`.
"""
