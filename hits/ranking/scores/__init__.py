"""Segment scores (direct assessment, ESA, MQM): rankings by mean, with the tests of WMT's findings.

    scores = scores_of([ScoreRecord("uedin", "1", 92)])  # data: ratings as arrays
    rank_by_mean(scores, Confidence("wilcoxon"), rng)    # mean: means, rank ranges, clusters
    scores.comparisons(tie=0)                            # for every model that ranks by comparisons

`paired` has the tests of two systems on the segments that both have. `agree` compares rankings with each other.
"""
