"""What a campaign's judgments say of the metric: redundancy, percolation against held-out labels, agreement.

analyze(campaign, ...)                   # rypt.analysis.campaign
"""
