"""Files of a campaign: source trees, candidates, alignments.

segments = segments_with_trees(segments, "dev.trees")        # rypt.texts.treebank: Penn brackets or CoNLL-U
tree = SourceTree.from_brackets("(NP (D das) (N Haus))")     # rypt.texts.trees
candidates = read_candidates("run7.nbest", {"0": segment})   # rypt.texts.nbest: a list of any format, plain output
lexicon = read_lexicon("phrase-table.gz")                    # rypt.texts.alignment: word links of phrase pairs
links = align([(("das", "Haus"), ("the", "house"))])         # rypt.texts.align: our own aligner
"""
