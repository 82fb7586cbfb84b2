"""One label for each key from all its judgments that count, and databases that hold such labels.

    aggregated(db, "dawid-skene")   →   [Aggregated("7", Span(0, 2), "the house", Label.YES, {YES: 0.98, …}, 3), …]

A database of aggregated labels has for each key one judgment a label, whose weight is the label's probability. So its
majority is the most probable label, and whatever scores or tunes with a judgment database can use it as it is.
"""

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from hits.results.dawid_skene import dawid_skene
from rypt.database.exchange import new_database
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Judgment, Label, Span
from rypt.text import InputError, PathLike

METHODS = ("majority", "dawid-skene")
TRUST = 1.0  # right answers that everybody is credited with, see `hits.results.dawid_skene`
DIGITS = 6  # of a probability; what rounds to nothing is left out of a database


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The label of a key, the probability of each label, and how many judgments they come from.

    By majority the probabilities are the shares of the votes; a tie is NOT_SURE.
    """

    segment: str
    span: Span
    phrase: str
    label: Label
    posterior: Mapping[Label, float]
    judgments: int

    @property
    def probability(self) -> float:
        """Of the label; of a tie, that of the labels that are tied."""
        return max(self.posterior.values())


def aggregated(db: JudgmentDatabase, method: str = "majority") -> list[Aggregated]:
    """All keys in the order of the database."""
    if method not in METHODS:
        raise ValueError(f"expected one of {', '.join(METHODS)}, found {method!r}")
    answers = db.counted_answers()
    counts = Counter(key for key, _, _ in answers)
    if method == "majority":
        posteriors = {}
        for v in db.votes():
            votes = dict(zip(Label, (v.yes, v.no, v.not_sure), strict=True))
            posteriors[v.segment, v.span, v.phrase] = {name: n / sum(votes.values()) for name, n in votes.items()}
    else:
        found = dawid_skene(answers, trust=TRUST)
        rows = dict(zip(found.questions, found.posterior.tolist(), strict=True))
        posteriors = {key: dict(zip(found.labels, rows[key], strict=True)) for key in counts}
    return [
        Aggregated(*key, _decided(posteriors[key]), posteriors[key], counts[key])
        for key in sorted(posteriors, key=lambda key: (key[0], key[1], key[2]))
    ]


def _decided(posterior: Mapping[Label, float]) -> Label:
    """The most probable label, NOT_SURE where two are as probable, as far as digits are kept."""
    ranked = sorted(((round(p, DIGITS), label) for label, p in posterior.items()), reverse=True)
    return Label.NOT_SURE if ranked[0][0] == ranked[1][0] else ranked[0][1]


def record(key: Aggregated, method: str) -> dict[str, Any]:
    """A key as it is written; ``rypt db import`` takes it for a judgment of a worker named after the method."""
    return {
        "segment": key.segment,
        "start": key.span.start,
        "stop": key.span.stop,
        "phrase": key.phrase,
        "label": str(key.label),
        "posterior": round(key.probability, DIGITS),
        **{str(label).lower(): round(p, DIGITS) for label, p in key.posterior.items()},
        "judgments": key.judgments,
        "worker": method,
    }


def write_aggregated(keys: Sequence[Aggregated], stream: TextIO, form: str, method: str) -> None:
    """Write JSONL, or CSV with a header."""
    records = [record(key, method) for key in keys]
    if form == "csv":
        names = list(record(Aggregated("", Span(0, 1), "", Label.YES, dict.fromkeys(Label, 0.0), 0), method))
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return
    for each in records:
        stream.write(json.dumps(each, ensure_ascii=False) + "\n")


def write_database(keys: Sequence[Aggregated], db: JudgmentDatabase, path: PathLike, method: str) -> None:
    """A new judgment database with the segments of ``db`` and these labels; it appears whole or not at all."""
    if Path(path).exists():
        raise InputError(path, None, "expected a new file for the aggregated labels, found one that is there")
    with new_database(Path(path), db.case) as made:
        made.add_segments(db.segments())
        made.add(
            Judgment(key.segment, key.span, key.phrase, label, method, "aggregate", "import", None, round(p, DIGITS))
            for key in keys
            for label, p in key.posterior.items()
            if round(p, DIGITS) > 0
        )
