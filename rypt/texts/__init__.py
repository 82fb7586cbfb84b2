"""Files of a campaign: source trees, candidates, alignments.

segments = attach_trees(segments, "dev.trees")               # rypt.texts.treebank: one per line, in blocks, or CoNLL-U
tree = SourceTree.from_brackets("(NP (D das) (N Haus))")     # rypt.texts.trees
candidates = read_candidates("run7.nbest", {"0": segment})   # rypt.texts.nbest: a list of any dialect, plain output
lexicon = Lexicon.read("phrase-table.gz")                    # rypt.texts.alignment: word links of phrase pairs

How to add a dialect of lists is in `rypt.texts.dialects`.
"""
