"""Rankings of systems: scores, confidence, and which comparison to ask for next.

    table = rank("wmt13.csv.gz", "trueskill")       # hits.ranking.rank; also a campaign's folder or several files
    print(table); table.systems; table.write("ranks.csv")

In steps: `readers.files.ComparisonFiles` → `model.read_model` → `RankingModel.fit` → `result.rank_systems` (with
ranges of `confidence`) → `table`; `side_by_side` has several models. Segment scores (direct assessment, ESA, MQM) are
ranked in `scores`. `head2head`, `select` (what to ask next) and `evaluate` are studies of the same
comparisons, `simulation` of simulated ones; `plot` draws them, `output` writes them.

To add a model, write one file in `hits.ranking.models` and one line in `hits.ranking.names`; the docstring of `models`
shows both. Another package names its models in the entry-point group ``rypt.ranking_models``. To add a file format, see
`hits.ranking.readers`.
"""
