"""Whose picks are better: two metrics' picks beside each other, the batch that asks people, and what people preferred.

differences(campaign, ...)               # hits.compare.picks
preferences(results, ...)                # hits.compare.preferences: the paper's Tables 1 and 2
"""
