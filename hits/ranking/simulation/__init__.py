"""Judgments that nobody made, to see how good rankings are and how many judgments they need.

`simulate` is Koehn's Monte Carlo with a known truth, `plan` asks it how many judgments tell systems apart and what they
cost, `distinguish` draws the same curve from real judgments, `likeness` is Cumings' resampling of data like given ones.
"""
