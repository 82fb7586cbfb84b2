"""Trees and alignments for texts that have none.

parse_source("dev.de", "dev.trees", language="de")           # rypt.tools.parsers: stanza, or without a parser
align_lists("dev.de", ["run7.nbest"], ["run7.links"])        # rypt.tools.aligners: eflomal

Any other parser's brackets or CoNLL-U and any other aligner's links are files that a campaign reads (docs/texts.md).
"""
