"""Combining several answers to a question: by majority, or weighing workers by their errors (Dawid and Skene 1979).

Answers are triples (question, worker, answer) as in `rypt.analysis.agreement`; where a worker answers a question twice
the last answer counts.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from rypt.analysis.agreement import by_question
from rypt.arrays import Floats, Ints
from rypt.records import Label

Key = Hashable

SMOOTHING = 0.01
TOLERANCE = 1e-6
MAX_ROUNDS = 500
TIE = 1e-9
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Consensus:
    """What Dawid and Skene's model says of the questions and of the workers.

    ``posterior`` (questions, labels) is P(true label | all answers). ``confusion`` (workers, labels, labels) is
    P(answer | true label), the true label first. ``prior`` (labels) is how frequent each true label is.
    """

    questions: tuple[Key, ...]
    workers: tuple[Key, ...]
    labels: tuple[Label, ...]
    posterior: Floats
    confusion: Floats
    prior: Floats
    rounds: int
    converged: bool

    def decided(self) -> dict[Key, Label]:
        """The most probable label of each question, NOT_SURE where two are as probable."""
        ranked = np.sort(self.posterior, axis=1)
        tied = ranked[:, -1] - ranked[:, -2] <= TIE
        best = self.posterior.argmax(axis=1)
        return {
            question: Label.NOT_SURE if tied[i] else self.labels[best[i]]
            for i, question in enumerate(self.questions)
        }

    def accuracy(self) -> dict[Key, float]:
        """The chance that a worker's answer is the true label: the confusion's diagonal, weighted by the prior."""
        diagonal = np.einsum("wtt,t->w", self.confusion, self.prior)
        return dict(zip(self.workers, diagonal.tolist(), strict=True))


def majority(answers: Iterable[Label]) -> Label:
    """The most frequent label; a tie is NOT_SURE.

    >>> str(majority([Label.YES, Label.NO, Label.YES])), str(majority([Label.YES, Label.NO]))
    ('YES', 'NOT_SURE')
    """
    ranked = Counter(answers).most_common(2)
    if not ranked:
        raise ValueError("a majority needs at least one answer")
    return Label.NOT_SURE if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]


def majority_labels(answers: Iterable[tuple[Key, Key, Label]]) -> dict[Key, Label]:
    """The majority of each question, a worker counting once."""
    return {
        question: majority(map(_label, given.values())) for question, given in by_question(answers).items()
    }


def dawid_skene(
    answers: Iterable[tuple[Key, Key, Label]],
    *,
    smoothing: float = SMOOTHING,
    trust: float = 0.0,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
) -> Consensus:
    """Estimate true labels and workers' confusions by expectation maximisation.

    Every worker has a table P(answer | true label) and answers independently of the others, given the true label.
    From posteriors, which start as the shares of the votes, each round takes the prior (their mean) and the tables
    (expected counts plus ``smoothing`` in every cell, so that nothing is impossible after a few answers), and from
    these new posteriors, in logarithms. It ends when no posterior moves by more than ``tolerance``.

    ``trust`` adds as many right answers to each label of each worker's table, which otherwise comes from the questions
    that somebody else answered, too: on others there is nothing to compare with, and without trust such answers drift
    to whatever label is frequent.
    """
    if smoothing <= 0:
        raise ValueError("smoothing must be more than 0: a zero in a table is for ever")
    pseudo = np.full((len(Label), len(Label)), smoothing) + trust * np.eye(len(Label))
    units = by_question(answers)
    questions = tuple(units)
    workers = tuple(dict.fromkeys(worker for given in units.values() for worker in given))
    labels = tuple(Label)
    number = {worker: i for i, worker in enumerate(workers)}
    code = {label: i for i, label in enumerate(labels)}
    triples = [
        (q, number[w], code[_label(a)]) for q, given in enumerate(units.values()) for w, a in given.items()
    ]
    question, worker, answer = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    shape = (len(questions), len(workers), len(labels))
    posterior = np.zeros((shape[0], shape[2]))
    np.add.at(posterior, (question, answer), 1.0)
    posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1.0)
    confusion, prior, change, rounds = np.zeros((shape[1], shape[2], shape[2])), np.zeros(shape[2]), np.inf, 0
    compared = np.bincount(question, minlength=len(questions))[question] > (1 if trust else 0)
    known = question[compared], worker[compared], answer[compared]
    while change > tolerance and rounds < max_rounds and questions:
        confusion, prior = _tables(posterior, *known, len(workers), pseudo)
        new = _posteriors(confusion, prior, question, worker, answer, len(questions))
        change = float(np.abs(new - posterior).max())
        posterior = new
        rounds += 1
    return Consensus(
        questions, workers, labels, posterior, confusion, prior, rounds, bool(change <= tolerance)
    )


def _tables(
    posterior: Floats, question: Ints, worker: Ints, answer: Ints, workers: int, pseudo: Floats
) -> tuple[Floats, Floats]:
    """Confusions and prior that fit the posteriors."""
    size = posterior.shape[1]
    cell = worker * size + answer
    counts = [
        np.bincount(cell, weights=posterior[question, true], minlength=workers * size) for true in range(size)
    ]
    expected = np.stack([count.reshape(workers, size) for count in counts], axis=1) + pseudo
    confusion = np.asarray(expected / expected.sum(axis=2, keepdims=True), dtype=np.float64)
    prior = np.maximum(posterior.mean(axis=0), TINY)
    return confusion, np.asarray(prior / prior.sum(), dtype=np.float64)


def _posteriors(
    confusion: Floats, prior: Floats, question: Ints, worker: Ints, answer: Ints, questions: int
) -> Floats:
    """P(true label | answers) of each question."""
    log_confusion = np.log(confusion)
    columns = [
        np.bincount(question, weights=log_confusion[worker, true, answer], minlength=questions)
        for true in range(len(prior))
    ]
    logs = np.log(prior) + np.stack(columns, axis=1)
    logs -= logs.max(axis=1, keepdims=True)
    weights = np.exp(logs)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _label(answer: Hashable) -> Label:
    if isinstance(answer, Label):
        return answer
    raise TypeError(f"expected a Label, found {answer!r}")
