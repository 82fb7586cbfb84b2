"""Aggregation: another implementation's numbers, the likelihood's own promise, and invariants."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.results.dawid_skene import Consensus, dawid_skene, majority, majority_labels
from rypt.records import Label

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "dawid_skene.json").read_text(encoding="utf-8"))
Triples = list[tuple[Any, Any, Label]]

ANSWERS = st.dictionaries(
    st.tuples(st.integers(0, 7), st.integers(0, 4)), st.sampled_from(list(Label)), min_size=1, max_size=40
).map(lambda given: [(question, worker, answer) for (question, worker), answer in given.items()])


@pytest.mark.parametrize("case", GOLDEN["cases"])
def test_the_numbers_of_another_implementation(case: dict[str, Any]) -> None:
    assert GOLDEN["made_by"].startswith("crowd-kit ")
    answers = [(question, worker, Label(label)) for question, worker, label in case["answers"]]
    found = dawid_skene(answers, smoothing=1e-10, tolerance=1e-12, max_rounds=5000)
    assert found.converged
    assert [str(label) for label in found.labels] == GOLDEN["labels"]
    posterior = np.array([case["posterior"][question] for question in found.questions])
    confusion = np.array([case["confusion"][worker] for worker in found.workers])
    np.testing.assert_allclose(found.posterior, posterior, atol=1e-7)
    np.testing.assert_allclose(found.confusion, confusion, atol=1e-7)
    np.testing.assert_allclose(found.prior, case["prior"], atol=1e-7)


def log_likelihood(found: Consensus, answers: Triples, smoothing: float) -> float:
    """Of the answers, with the prior that smoothing stands for; EM never lowers it."""
    total = smoothing * float(np.log(found.confusion).sum())
    for question in found.questions:
        joint = found.prior.copy()
        for q, worker, answer in answers:
            if q == question:
                joint = joint * found.confusion[found.workers.index(worker), :, found.labels.index(answer)]
        total += float(np.log(joint.sum()))
    return total


@given(ANSWERS)
def test_more_rounds_never_make_it_less_likely(answers: Triples) -> None:
    likelihoods = [
        log_likelihood(dawid_skene(answers, max_rounds=rounds), answers, 0.01) for rounds in (1, 2, 3, 5, 10)
    ]
    assert all(later >= before - 1e-9 for before, later in pairwise(likelihoods))


@given(ANSWERS, st.permutations(list(Label)), st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(answers: Triples, order: list[Label], random: Any) -> None:
    other = dict(zip(Label, order, strict=True))
    shuffled = list(answers)
    random.shuffle(shuffled)
    renamed = [(f"q{question}", -worker, other[answer]) for question, worker, answer in shuffled]
    first, second = dawid_skene(answers, max_rounds=20), dawid_skene(renamed, max_rounds=20)
    columns = [first.labels.index(other[label]) for label in first.labels]
    for i, question in enumerate(first.questions):
        row = second.posterior[second.questions.index(f"q{question}")]
        np.testing.assert_allclose(row[columns], first.posterior[i], atol=1e-6)


@given(ANSWERS)
def test_posteriors_and_tables_are_probabilities_and_duplicates_change_nothing(answers: Triples) -> None:
    found = dawid_skene(answers + answers)
    again = dawid_skene(answers)
    np.testing.assert_array_equal(found.posterior, again.posterior)
    for table in (found.posterior, found.confusion, found.prior):
        np.testing.assert_allclose(table.sum(axis=-1), 1.0)
        assert np.all(table >= 0)


def test_a_worker_who_says_yes_to_everything_is_seen_through() -> None:
    rng = np.random.default_rng(5)
    truth = [Label.YES if rng.random() < 0.4 else Label.NO for _ in range(200)]
    answers: Triples = []
    for question, label in enumerate(truth):
        for worker in ("a", "b", "c"):
            right = rng.random() < 0.9
            answers.append((question, worker, label if right else rng.choice([Label.YES, Label.NO])))
        answers += [(question, spammer, Label.YES) for spammer in ("s1", "s2", "s3", "s4")]
    answers = [(q, w, Label(a)) for q, w, a in answers]
    found = dawid_skene(answers)
    decided, voted = found.decided(), majority_labels(answers)
    assert np.mean([decided[q] == label for q, label in enumerate(truth)]) > 0.95
    assert np.mean([voted[q] == label for q, label in enumerate(truth)]) < 0.6
    accuracy = found.accuracy()
    assert min(accuracy[w] for w in "abc") > 0.85
    assert max(accuracy[w] for w in ("s1", "s2", "s3", "s4")) < 0.6


def test_two_workers_who_contradict_each_other_leave_it_open() -> None:
    answers = [(1, "x", Label.YES), (1, "y", Label.NO), (2, "x", Label.NO), (2, "y", Label.YES)]
    assert dawid_skene(answers).decided() == {1: Label.NOT_SURE, 2: Label.NOT_SURE}
    assert majority_labels(answers) == {1: Label.NOT_SURE, 2: Label.NOT_SURE}


def test_one_answer_is_believed() -> None:
    assert dawid_skene([("q", "w", Label.NO)]).decided() == {"q": Label.NO}


def test_nothing_is_nothing() -> None:
    found = dawid_skene([])
    assert (found.questions, found.decided(), found.accuracy()) == ((), {}, {})
    assert majority_labels([]) == {}
    with pytest.raises(ValueError, match="at least one"):
        majority([])


def test_a_mistake_of_the_caller_is_named() -> None:
    with pytest.raises(TypeError, match="'YES'"):
        dawid_skene([("q", "w", "YES")])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="smoothing"):
        dawid_skene([("q", "w", Label.NO)], smoothing=0)


@given(st.lists(st.sampled_from(list(Label)), min_size=1, max_size=9))
def test_the_majority_is_the_only_most_frequent_label_or_not_sure(labels: list[Label]) -> None:
    counts = Counter(labels)
    most = [label for label in counts if counts[label] == max(counts.values())]
    assert majority(labels) == (most[0] if len(most) == 1 else Label.NOT_SURE)
    assert majority_labels([("q", i, label) for i, label in enumerate(labels)]) == {"q": majority(labels)}
    assert majority_labels([("q", 0, label) for label in labels]) == {"q": labels[-1]}
