"""The metric RYPT, from a tree and its candidates to a score (Zaidan and Callison-Burch 2009).

    frontier(tree, max_len)                  # which constituents to ask about
    queries(...)                             # which phrases of them have no judgment yet
    Scorer(trees, votes).scores(candidates)  # percolation, or another model of `model` and `tree_model`

`explain` and `drawing` show why a candidate has its score, `value` says which labels are worth most.
"""
