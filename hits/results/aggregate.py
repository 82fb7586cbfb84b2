"""One label for each key from all its judgments that count, and databases that hold such labels.

    aggregate("campaign", "dawid-skene").write("labels.db")
    aggregated(db, "dawid-skene")   →   [Aggregated("7", Span(0, 2), "the house", Label.YES, {YES: 0.98, …}, 3), …]

A database of aggregated labels has for each key one judgment per label, whose weight is the label's probability. So its
majority is the most probable label, and whatever scores or tunes with a judgment database can use it as it is.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from hits.results.dawid_skene import dawid_skene
from rypt.campaign.folder import Campaign
from rypt.csv_rows import write_records
from rypt.database.exchange import new_database
from rypt.database.judgments import JudgmentDatabase
from rypt.options import check_option
from rypt.records import Judgment, Label, Segment, Span
from rypt.text import InputError, PathLike, open_output, plural

METHODS = ("majority", "dawid-skene")
FORMS = ("jsonl", "csv", "db")
TRUST = 1.0  # right answers that everybody is credited with, see `hits.results.dawid_skene`
DIGITS = 6  # of a probability; what rounds to nothing is left out of a database


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The label of a key, the probability of each label, and how many judgments they come from.

    By majority the probabilities are the shares of the votes; a tie is NOT_SURE. ``severity`` is the mean of those that
    judgments with NO carry, None where none does.
    """

    segment: str
    span: Span
    phrase: str
    label: Label
    posterior: Mapping[Label, float]
    judgments: int
    severity: float | None = None

    @property
    def probability(self) -> float:
        """The probability of the label; for a tie, that of the tied labels."""
        return max(self.posterior.values())


def aggregated(db: JudgmentDatabase, method: str = "majority") -> list[Aggregated]:
    """All keys in the order of the database."""
    check_option("method", method, METHODS)
    answers = db.counted_answers()
    counts = Counter(key for key, _, _ in answers)
    sums = db.votes()
    severities = {(v.segment, v.span, v.phrase): v.penalty / v.graded for v in sums if v.graded}
    if method == "majority":
        posteriors = {}
        for v in sums:
            votes = dict(zip(Label, (v.yes, v.no, v.not_sure), strict=True))
            posteriors[v.segment, v.span, v.phrase] = {
                name: n / sum(votes.values()) for name, n in votes.items()
            }
    else:
        consensus = dawid_skene(answers, trust=TRUST)
        rows = dict(zip(consensus.questions, consensus.posterior.tolist(), strict=True))
        posteriors = {key: dict(zip(consensus.labels, rows[key], strict=True)) for key in counts}
    return [
        Aggregated(*key, _decided(posteriors[key]), posteriors[key], counts[key], severities.get(key))
        for key in sorted(posteriors, key=lambda key: (key[0], key[1], key[2]))
    ]


def _decided(posterior: Mapping[Label, float]) -> Label:
    """The most probable label, NOT_SURE where two are as probable, as far as digits are kept."""
    ranked = sorted(((round(p, DIGITS), label) for label, p in posterior.items()), reverse=True)
    return Label.NOT_SURE if ranked[0][0] == ranked[1][0] else ranked[0][1]


def record(key: Aggregated, method: str) -> dict[str, Any]:
    """A key as it is written; ``rypt db import`` takes it for a judgment of a worker named after the method.

    The severity is written where the label is NO and has one.
    """
    severity = key.severity if key.label is Label.NO else None
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
        **({} if severity is None else {"severity": round(severity, DIGITS)}),
    }


def write_aggregated(keys: Sequence[Aggregated], stream: TextIO, form: str, method: str) -> None:
    """Write JSONL, or CSV with a header, with a column ``severity`` if some label has one."""
    records = [record(key, method) for key in keys]
    if form == "csv":
        names = list(record(Aggregated("", Span(0, 1), "", Label.YES, dict.fromkeys(Label, 0.0), 0), method))
        names += ["severity"] if any("severity" in each for each in records) else []
        write_records(stream, names, records)
        return
    for each in records:
        stream.write(json.dumps(each, ensure_ascii=False) + "\n")


@dataclass(frozen=True, slots=True)
class AggregatedLabels:
    """One label for each key of a database, by one method."""

    method: str
    labels: tuple[Aggregated, ...]
    segments: tuple[Segment, ...]
    case: str

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        counts = Counter(str(key.label) for key in self.labels)
        shown = ", ".join(f"{count} {label}" for label, count in sorted(counts.items()))
        return f"{plural(len(self), 'label')} by {self.method}: {shown or 'none'}"

    def write(self, path: PathLike, form: str | None = None) -> None:
        """Write JSONL, CSV, or a new judgment database; ``form`` (jsonl, csv, db) instead of the file's ending."""
        if (form or file_form(path)) == "db":
            self._write_database(Path(path))
            return
        with open_output(path) as stream:
            write_aggregated(self.labels, stream, form or file_form(path), self.method)

    def _write_database(self, path: Path) -> None:
        """A new judgment database with the same segments and these labels; it appears whole or not at all."""
        if path.exists():
            raise InputError(
                path, None, "expected a new file for the aggregated labels, found one that is there"
            )
        with new_database(path, self.case) as made:
            made.add_segments(self.segments)
            made.add(judgment for key in self.labels for judgment in _weighted(key, self.method))


def _weighted(key: Aggregated, method: str) -> Iterator[Judgment]:
    """A judgment for each label that a key may have, whose weight is its probability."""
    for label, probability in key.posterior.items():
        if (weight := round(probability, DIGITS)) > 0:
            severity = key.severity if label is Label.NO else None
            place = key.segment, key.span, key.phrase
            yield Judgment(*place, label, method, "aggregate", "import", None, weight, severity)


def file_form(path: PathLike) -> str:
    """What a file is to hold, by its ending; stdout and files without an ending get JSONL.

    >>> file_form("labels.csv.gz"), file_form("labels.db"), file_form("-")
    ('csv', 'db', 'jsonl')
    """
    ending = Path(str(path).removesuffix(".gz")).suffix.removeprefix(".")
    form = ending if str(path) != "-" and ending else "jsonl"
    if form not in FORMS:
        raise InputError(path, None, "expected a .jsonl, .csv or .db file")
    return form


def aggregate(campaign: Campaign | PathLike | JudgmentDatabase, method: str = "majority") -> AggregatedLabels:
    """One label for each key of a campaign, of the campaign in a folder, or of a database that is open."""
    if isinstance(campaign, JudgmentDatabase):
        db = campaign
        return AggregatedLabels(method, tuple(aggregated(db, method)), tuple(db.segments()), db.case)
    opened = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
    with opened.database() as db:
        return aggregate(db, method)
