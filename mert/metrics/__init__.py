"""The bundled metrics, one per file: BLEU, chrF, TER (sacrebleu's numbers) and RYPT.

    bleu = Bleu(References([["the house"]]), tokenize="13a")             # mert.metrics.bleu
    bleu.score(bleu.stats(candidates).sum(axis=0, keepdims=True))        # corpus BLEU, from 0 to 100
    bleu.sentence_scores(candidates)                                     # of each candidate alone, from 0 to 1

`rypt.metrics.metric` finds them by name (``bleu``, ``chrf``, ``chrf++``, ``ter``, ``rypt``): entry points in
pyproject.toml name a factory for each, ``make_bleu`` and the like. A metric of another package is added the same way.
"""
