"""N-best lists as arrays: `scan` reads a file's bytes (compiled), `columns` names the features, `arrays` holds them.

lists = read_lists(["run1.nbest.gz", "run2.nbest.gz"])     # mert.lists.arrays; equal candidates count once
lists.names, lists.features                                # (candidates, features)
lists.best(weights)                                        # the candidate of each segment that wins
"""
