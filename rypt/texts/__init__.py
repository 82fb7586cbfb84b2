"""Files of a campaign as the world has them: source trees, candidates, alignments.

segments = read_segments(...)            # rypt.texts.treebank: trees one a line, in blocks, or CoNLL-U
candidates = read_candidates(path)       # rypt.texts.nbest: n-best lists, JSONL, plain output
tree = SourceTree(...)                   # rypt.texts.trees
"""
