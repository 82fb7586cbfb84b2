"""One label for each key from all its judgments that count, and databases that hold such labels.

    aggregate("campaign", "dawid-skene").write("labels.db")

A database of aggregated labels has for each key one judgment per label, whose weight is the label's probability. So its
majority is the most probable label, and whatever scores or tunes with a judgment database can use it as it is.
"""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rypt.analysis.agreement import by_question
from rypt.arrays import Floats
from rypt.campaign.folder import Campaign
from rypt.csv_rows import write_records
from rypt.database.exchange import new_database
from rypt.database.judgments import JudgmentDatabase
from rypt.options import check_option
from rypt.records import Judgment, Label, Segment, Span
from rypt.text import InputError, PathLike, open_output, plural

METHODS = ("majority", "dawid-skene")
FORMS = ("jsonl", "csv", "db")
COLUMNS = (
    *("segment", "start", "stop", "phrase", "label", "posterior"),
    *("yes", "no", "not_sure", "judgments", "worker"),
)
TRUST = 1.0  # right answers that everybody is credited with, see `dawid_skene`
TINY = 1e-300
DIGITS = 6  # of a probability; what rounds to nothing is left out of a database


class Consensus(NamedTuple):
    """The result of Dawid and Skene's model.

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
    units = by_question(answers)
    names = tuple(dict.fromkeys(worker for votes in units.values() for worker in votes))
    workers = {worker: i for i, worker in enumerate(names)}
    codes: dict[Hashable, int] = {label: i for i, label in enumerate(Label)}
    rows = [(q, workers[w], codes[a]) for q, votes in enumerate(units.values()) for w, a in votes.items()]
    question, worker, answer = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    posterior = np.zeros((len(units), size))
    np.add.at(posterior, (question, answer), 1.0)
    posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1.0)
    confusion, prior = np.zeros((len(workers), size, size)), np.zeros(size)
    compared = np.bincount(question, minlength=len(units))[question] > (1 if trust else 0)
    asked, cell = question[compared], worker[compared] * size + answer[compared]
    for _ in range(max_rounds if units else 0):
        counts = [np.bincount(cell, posterior[asked, true], len(workers) * size) for true in range(size)]
        expected = np.stack([count.reshape(-1, size) for count in counts], axis=1)
        confusion = expected + smoothing + trust * np.eye(size)
        confusion /= confusion.sum(axis=2, keepdims=True)
        prior = np.maximum(posterior.mean(axis=0), TINY)
        prior /= prior.sum()
        logs = np.log(confusion)
        evidence = [np.bincount(question, logs[worker, true, answer]) for true in range(size)]
        new = np.log(prior) + np.stack(evidence, axis=1)
        new = np.exp(new - new.max(axis=1, keepdims=True))
        new /= new.sum(axis=1, keepdims=True)
        change, posterior = float(np.abs(new - posterior).max()), new
        if change <= tolerance:
            break
    return Consensus(tuple(units), names, posterior, confusion, prior)


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The label of a key, the probability of each label, and how many judgments they come from.

    By majority the probabilities are the shares of the votes; a tie is NOT_SURE. ``severity`` is the mean of those that
    judgments with NO carry, None where none does or the label is another.
    """

    segment: str
    span: Span
    phrase: str
    label: Label
    posterior: Mapping[Label, float]
    judgments: int
    severity: float | None = None

    def record(self, method: str) -> dict[str, Any]:
        """The key as it is written; ``rypt import`` takes it for a judgment of a worker named after the method."""
        severity = self.severity if self.label is Label.NO else None
        return {
            "segment": self.segment,
            "start": self.span.start,
            "stop": self.span.stop,
            "phrase": self.phrase,
            "label": str(self.label),
            "posterior": round(max(self.posterior.values()), DIGITS),
            **{str(label).lower(): round(p, DIGITS) for label, p in self.posterior.items()},
            "judgments": self.judgments,
            "worker": method,
            **({} if severity is None else {"severity": round(severity, DIGITS)}),
        }


@dataclass(frozen=True, slots=True)
class AggregatedLabels:
    """One label for each key of a database, by one method, in the order of the keys."""

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
        """Write JSONL, CSV, or a new judgment database, which appears whole or not at all.

        ``form`` (jsonl, csv, db) is used instead of the file's ending.
        """
        form = form or file_form(path)
        if form == "db":
            self._write_database(Path(path))
            return
        records = [key.record(self.method) for key in self.labels]
        with open_output(path) as stream:
            if form == "csv":
                graded = any("severity" in record for record in records)
                write_records(stream, [*COLUMNS, "severity"] if graded else COLUMNS, records)
            else:
                stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)

    def _write_database(self, path: Path) -> None:
        if path.exists():
            raise InputError(
                path, None, "expected a new file for the aggregated labels, found an existing one"
            )
        with new_database(path, self.case) as db:
            db.add_segments(self.segments)
            db.add(
                Judgment(
                    *(key.segment, key.span, key.phrase, label, self.method, "aggregate", "import", None),
                    round(probability, DIGITS),
                    key.severity if label is Label.NO else None,
                )
                for key in self.labels
                for label, probability in key.posterior.items()
                if round(probability, DIGITS) > 0
            )


def file_form(path: PathLike) -> str:
    """The form of a file, by its ending; stdout and files without an ending get JSONL.

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
    check_option("method", method, METHODS)
    if not isinstance(campaign, JudgmentDatabase):
        opened = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
        with opened.database() as db:
            return aggregate(db, method)
    answers, sums = campaign.counted_answers(), campaign.votes()
    counts = Counter(key for key, _, _ in answers)
    severities = {(v.segment, v.span, v.phrase): v.penalty / v.graded for v in sums if v.graded}
    if method == "majority":
        votes = {(v.segment, v.span, v.phrase): (v.yes, v.no, v.not_sure) for v in sums}
        rows = {key: [vote / sum(each) for vote in each] for key, each in votes.items()}
    else:
        rows = dict(zip(counts, dawid_skene(answers, trust=TRUST).posterior.tolist(), strict=True))
    labels = []
    for key in sorted(rows):
        posterior = dict(zip(Label, rows[key], strict=True))
        best, second = sorted((round(p, DIGITS) for p in posterior.values()), reverse=True)[:2]
        label = Label.NOT_SURE if best == second else max(posterior, key=posterior.__getitem__)
        labels.append(Aggregated(*key, label, posterior, counts[key], severities.get(key)))
    return AggregatedLabels(method, tuple(labels), tuple(campaign.segments()), campaign.case)
