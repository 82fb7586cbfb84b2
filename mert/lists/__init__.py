"""N-best lists as arrays: `scan` reads a file's bytes (compiled), `columns` names the features, `arrays` holds them.

lists = read_lists(["run1.nbest.gz", "run2.nbest.gz"])     # mert.lists.arrays
lists.features                                             # one row a candidate
"""
