"""Moses' own tuning set-up: ``extractor``, ``mert``, ``kbmira``, ``evaluator`` for ``mert-moses.pl``.

    extract(Extraction(["run1.nbest.gz"], ["dev.en"], "features.dat", "scores.dat"), read_file_metric("BLEU"))
    tune_files(PairFiles(["features.dat"], ["scores.dat"]), read_file_metric("BLEU"), ["init.opt"], MosesSearch(),
               features=8)

`extract` makes the files of features and statistics, `files` and `pairs` read them, `mert`, `kbmira` and `evaluate` are
what the programs do with them, `metrics` has the statistics as those files hold them, `weights` the files of weights,
`scripts` makes the folder of programs that ``mert-moses.pl --mertdir`` runs.
"""
