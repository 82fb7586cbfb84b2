"""Moses' own tuning set-up: ``extractor``, ``mert``, ``pro``, ``kbmira``, ``evaluator`` for ``mert-moses.pl``.

`files` reads and writes the files between them, `metrics` has the statistics as those files hold them, `scripts` makes
the folder of programs that ``mert-moses.pl --mertdir`` runs.
"""
