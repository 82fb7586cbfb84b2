"""The line search, and the parts of a list that it goes over: in memory, in files, or on the workers of a cluster.

share.corners(…)                      # mert.search.share: where winners change along a line, of some segments
best_steps(corners, limits, score)    # mert.search.lines: those of all segments merged, and the best step
shares.ask(question, …)               # mert.search.shares: a question put to all shares of a list
"""
