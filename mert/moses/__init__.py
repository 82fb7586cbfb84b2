"""Moses' own tuning set-up: ``extractor``, ``mert``, ``kbmira``, ``evaluator`` for ``mert-moses.pl``.

    extract(["run1.nbest.gz"], ["dev.en"], metric).write("features.dat", "scores.dat", binary=False)
    search(read_pairs(["features.dat"], ["scores.dat"]), metric, read_starts(["init.opt"])).weights

`programs` has their command lines, `extract`, `mert`, `kbmira` and `evaluate` what they do. `files` reads and writes
features and statistics, `metrics` has the statistics as those files hold them, `weights` the files of weights.
"""
