"""sacrebleu's scores of single candidates against their references, from 0 to 1."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rypt.arrays import Floats
from rypt.metrics.references import References
from rypt.records import Candidate

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacrebleuMetric


def sacrebleu_shares(
    metric: "SacrebleuMetric", candidates: Sequence[Candidate], references: References
) -> Floats:
    """sacrebleu's sentence score of each candidate, divided by 100; each text of a segment is scored once."""
    known: dict[tuple[str, str], float] = {}
    for raw in candidates:
        if (raw.segment, raw.text) not in known:
            score = metric.sentence_score(raw.text, references[raw.segment]).score
            known[raw.segment, raw.text] = float(score) / 100
    return np.array([known[raw.segment, raw.text] for raw in candidates], np.float64)
