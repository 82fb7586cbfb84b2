"""One label for each key from all its judgments that count, and databases that hold such labels.

    aggregate("campaign", "dawid-skene").write("labels.db")
    aggregated(db, "dawid-skene")   →   [Aggregated("7", Span(0, 2), "the house", Label.YES, {YES: 0.98, …}, 3), …]

A database of aggregated labels has for each key one judgment per label, whose weight is the label's probability. So its
majority is the most probable label, and whatever scores or tunes with a judgment database can use it as it is.
"""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from rypt.analysis.agreement import by_question
from rypt.arrays import Floats, Ints
from rypt.campaign.folder import Campaign
from rypt.csv_rows import write_records
from rypt.database.exchange import new_database
from rypt.database.judgments import JudgmentDatabase
from rypt.options import check_option
from rypt.records import Judgment, Label, Segment, Span
from rypt.text import InputError, PathLike, open_output, plural

METHODS = ("majority", "dawid-skene")
FORMS = ("jsonl", "csv", "db")
TRUST = 1.0  # right answers that everybody is credited with, see `dawid_skene`
TINY = 1e-300
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


class Consensus(NamedTuple):
    """What Dawid and Skene's model says of the questions and of the workers.

    ``posterior`` (questions, labels) is P(true label | all answers). ``confusion`` (workers, labels, labels) is
    P(answer | true label), the true label first. ``prior`` (labels) is how frequent each true label is.
    """

    questions: tuple[Hashable, ...]
    workers: tuple[Hashable, ...]
    posterior: Floats
    confusion: Floats
    prior: Floats


def dawid_skene(
    answers: Iterable[tuple[Hashable, Hashable, Label]],
    *,
    smoothing: float = 0.01,
    trust: float = 0.0,
    tolerance: float = 1e-6,
    max_rounds: int = 500,
) -> Consensus:
    """Estimate true labels and workers' confusions by expectation maximisation (Dawid and Skene 1979).

    Answers are triples (question, worker, answer); where a worker answers a question twice the last answer counts.
    Every worker has a table P(answer | true label) and answers independently of the others, given the true label.
    From posteriors, which start as the shares of the votes, each round takes the prior (their mean) and the tables
    (expected counts plus ``smoothing`` in every cell, so that nothing is impossible after a few answers), and from
    these new posteriors, in logarithms. It ends when no posterior moves by more than ``tolerance``.

    ``trust`` adds as many right answers to each label of each worker's table, which otherwise comes from the questions
    that somebody else answered, too: on others there is nothing to compare with, and without trust such answers drift
    to whatever label is frequent.
    """
    size = len(Label)
    pseudo = np.full((size, size), smoothing) + trust * np.eye(size)
    units = by_question(answers)
    workers = {
        worker: i for i, worker in enumerate(dict.fromkeys(w for given in units.values() for w in given))
    }
    code: dict[Hashable, int] = {label: i for i, label in enumerate(Label)}
    rows = [(q, workers[w], code[a]) for q, given in enumerate(units.values()) for w, a in given.items()]
    question, worker, answer = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    posterior = np.zeros((len(units), size))
    np.add.at(posterior, (question, answer), 1.0)
    posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1.0)
    confusion, prior = np.zeros((len(workers), size, size)), np.zeros(size)
    compared = np.bincount(question, minlength=len(units))[question] > (1 if trust else 0)
    known = question[compared], worker[compared] * size + answer[compared]
    for _ in range(max_rounds if units else 0):
        confusion, prior = _tables(posterior, *known, len(workers), pseudo)
        new = _posteriors(confusion, prior, question, worker, answer)
        change = float(np.abs(new - posterior).max())
        posterior = new
        if change <= tolerance:
            break
    return Consensus(tuple(units), tuple(workers), posterior, confusion, prior)


def _tables(
    posterior: Floats, question: Ints, cell: Ints, workers: int, pseudo: Floats
) -> tuple[Floats, Floats]:
    """Confusions and prior that fit the posteriors."""
    size = posterior.shape[1]
    counts = [
        np.bincount(cell, weights=posterior[question, true], minlength=workers * size) for true in range(size)
    ]
    expected = np.stack([count.reshape(workers, size) for count in counts], axis=1) + pseudo
    prior = np.maximum(posterior.mean(axis=0), TINY)
    return expected / expected.sum(axis=2, keepdims=True), prior / prior.sum()


def _posteriors(confusion: Floats, prior: Floats, question: Ints, worker: Ints, answer: Ints) -> Floats:
    """P(true label | answers) of each question."""
    log_confusion = np.log(confusion)
    columns = [
        np.bincount(question, weights=log_confusion[worker, true, answer]) for true in range(len(prior))
    ]
    logs = np.log(prior) + np.stack(columns, axis=1)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def aggregated(db: JudgmentDatabase, method: str = "majority") -> list[Aggregated]:
    """All keys in the order of the database."""
    check_option("method", method, METHODS)
    answers, sums = db.counted_answers(), db.votes()
    counts = Counter(key for key, _, _ in answers)
    severities = {(v.segment, v.span, v.phrase): v.penalty / v.graded for v in sums if v.graded}
    if method == "majority":
        shares = {(v.segment, v.span, v.phrase): (v.yes, v.no, v.not_sure) for v in sums}
        rows = {key: [vote / sum(votes) for vote in votes] for key, votes in shares.items()}
    else:
        consensus = dawid_skene(answers, trust=TRUST)
        rows = dict(zip(counts, consensus.posterior.tolist(), strict=True))
    made = []
    for key in sorted(rows):
        posterior = dict(zip(Label, rows[key], strict=True))
        made.append(Aggregated(*key, _decided(posterior), posterior, counts[key], severities.get(key)))
    return made


def _decided(posterior: Mapping[Label, float]) -> Label:
    """The most probable label, NOT_SURE where two are as probable, as far as digits are kept."""
    ranked = sorted(((round(p, DIGITS), label) for label, p in posterior.items()), reverse=True)
    return Label.NOT_SURE if ranked[0][0] == ranked[1][0] else ranked[0][1]


def record(key: Aggregated, method: str) -> dict[str, Any]:
    """A key as it is written; ``rypt import`` takes it for a judgment of a worker named after the method.

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
