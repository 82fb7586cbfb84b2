"""Files of comparisons: `files` recognises a format and chooses among comparisons, the others read one format each.

    read_comparisons(["wmt13.csv.gz"], filters=Filters(judges="researcher_*"))   →   Comparisons

To add a format: a function ``(path, lines) -> Comparisons`` (`hits.ranking.data.comparisons_of` makes them of records),
a line in ``READERS`` of `files`, a condition in its ``_recognize``, and the name in ``FORMATS`` of
`hits.ranking.names`.
"""
