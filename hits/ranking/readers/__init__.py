"""Files of comparisons and segment scores: `files` recognises a format and filters, the others read the formats.

    ComparisonFiles(("wmt13.csv.gz",), judges="researcher_*").read()   →   Comparisons

To add a format, write a function that recognises a `text_file.TextFile`, one that reads it, and a line in
`files.FORMATS`.
"""
