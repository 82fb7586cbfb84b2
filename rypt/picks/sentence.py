"""Scores of single candidates against their references by sacrebleu, from 0 to 1, higher is better."""

from collections.abc import Sequence

import numpy as np

from rypt.arrays import Floats
from rypt.signature import signature
from rypt.text import RyptError

SENTENCE_METRICS = ("bleu", "chrf", "chrf++", "ter")


def sentence_scores(
    name: str, candidates: Sequence[str], references: Sequence[Sequence[str]], tokenize: str = "13a"
) -> tuple[Floats, str]:
    """The score of each candidate against its own references, and sacrebleu's signature.

    BLEU is sacrebleu's sentence BLEU (exponential smoothing, effective order); TER is 1 - edit rate, at least 0.

    >>> scores, signature = sentence_scores("chrf", ["the house", "a"], [["the house"], ["the house"]])
    >>> scores.tolist(), signature.split("|")[:2]
    ([1.0, 0.0], ['chrf', 'nrefs:1'])
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    if name not in SENTENCE_METRICS:
        raise RyptError(f"expected a metric {', '.join(SENTENCE_METRICS)}, found {name!r}")
    if tokenize not in BLEU.TOKENIZERS:
        raise RyptError(f"expected a tokenizer {', '.join(sorted(BLEU.TOKENIZERS))}, found {tokenize!r}")
    metric: BLEU | CHRF | TER
    if name == "bleu":
        try:
            metric = BLEU(effective_order=True, tokenize=tokenize)
        except (ImportError, RuntimeError, OSError) as error:
            raise RyptError(f"sacrebleu's tokenizer {tokenize} cannot be used: {error}") from None
    else:
        metric = TER() if name == "ter" else CHRF(word_order=2 if name == "chrf++" else 0)
    metric.num_refs = len(references[0]) if references else 1
    known: dict[tuple[str, ...], float] = {}
    scores = []
    for candidate, own in zip(candidates, references, strict=True):
        key = (candidate, *own)
        if key not in known:
            known[key] = float(metric.sentence_score(candidate, list(own)).score) / 100
        scores.append(known[key])
    values = np.array(scores, np.float64)
    return np.maximum(0.0, 1 - values) if name == "ter" else values, signature(name, str(metric.get_signature()))
