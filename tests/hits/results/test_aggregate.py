"""One label for each key: by majority as scoring counts votes, by Dawid and Skene; and databases to score with."""

import csv
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.results.aggregate import Consensus, aggregate, dawid_skene
from rypt.campaign.folder import Campaign
from rypt.database.exchange import import_file
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Judgment, Label, Segment, Span
from rypt.scoring.scorer import Scorer
from rypt.text import InputError, RyptError

SPAN = Span(0, 1)
GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "dawid_skene.json").read_text(encoding="utf-8"))
Triples = list[tuple[Any, Any, Label]]
ANSWERS = st.dictionaries(
    st.tuples(st.integers(0, 7), st.integers(0, 4)), st.sampled_from(list(Label)), min_size=1, max_size=40
).map(lambda given: [(question, worker, answer) for (question, worker), answer in given.items()])


# Dawid and Skene


@pytest.mark.parametrize("case", GOLDEN["cases"])
def test_the_numbers_of_another_implementation(case: dict[str, Any]) -> None:
    assert GOLDEN["made_by"].startswith("crowd-kit ")
    answers = [(question, worker, Label(label)) for question, worker, label in case["answers"]]
    found = dawid_skene(answers, smoothing=1e-10, tolerance=1e-12, max_rounds=5000)
    assert [str(label) for label in Label] == GOLDEN["labels"]
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
                joint = joint * found.confusion[found.workers.index(worker), :, list(Label).index(answer)]
        total += float(np.log(joint.sum()))
    return total


@given(ANSWERS)
def test_more_rounds_never_make_it_less_likely(answers: Triples) -> None:
    likelihoods = [
        log_likelihood(dawid_skene(answers, max_rounds=rounds), answers, 0.01) for rounds in (1, 2, 3, 5, 10)
    ]
    assert all(later >= before - 1e-9 for before, later in pairwise(likelihoods))


@given(ANSWERS)
def test_posteriors_and_tables_are_probabilities_and_duplicates_change_nothing(answers: Triples) -> None:
    found = dawid_skene(answers + answers)
    np.testing.assert_array_equal(found.posterior, dawid_skene(answers).posterior)
    for table in (found.posterior, found.confusion, found.prior):
        np.testing.assert_allclose(table.sum(axis=-1), 1.0)
        assert np.all(table >= 0)
    assert dawid_skene([]).questions == ()


# One label for each key


def database(*answers: tuple[str, str, str]) -> JudgmentDatabase:
    """A database with answers (phrase, worker, Y or N or ?)."""
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("7", "ja nein")])
    labels = {"Y": Label.YES, "N": Label.NO, "?": Label.NOT_SURE}
    db.add(Judgment("7", SPAN, phrase, labels[label], worker) for phrase, worker, label in answers)
    return db


def test_the_majority_is_what_scoring_takes() -> None:
    db = database(
        ("a", "x", "Y"), ("a", "y", "Y"), ("a", "z", "N"), ("b", "x", "Y"), ("b", "y", "N"), ("c", "x", "?")
    )
    found = {key.phrase: key for key in aggregate(db).labels}
    assert {p: key.label for p, key in found.items()} == {p: db.label("7", SPAN, p) for p in "abc"}
    assert (found["a"].posterior["YES"], found["a"].judgments) == (pytest.approx(2 / 3), 3)
    assert found["b"].posterior == {"YES": 0.5, "NO": 0.5, "NOT_SURE": 0.0}
    with pytest.raises(RyptError, match="expected method as one of majority, dawid-skene"):
        aggregate(db, "mean")


@pytest.mark.parametrize("method", ["majority", "dawid-skene"])
def test_excluded_workers_do_not_count(method: str) -> None:
    db = database(("a", "x", "Y"), ("a", "y", "N"), ("b", "y", "N"))
    db.exclude("y", "spam")
    (key,) = aggregate(db, method).labels
    assert (key.phrase, key.label, key.judgments) == ("a", Label.YES, 1)


def test_files_can_be_imported_again(tmp_path: Path) -> None:
    db = database(("a", "x", "Y"), ("a", "y", "Y"), ("b", "x", "Y"), ("b", "y", "N"))
    aggregate(db).write(tmp_path / "labels.jsonl")
    first, second = map(json.loads, (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    assert (first["phrase"], first["label"], first["posterior"], first["judgments"]) == ("a", "YES", 1.0, 2)
    assert (second["label"], second["yes"], second["no"]) == ("NOT_SURE", 0.5, 0.5)
    fresh = database()
    assert import_file(fresh, tmp_path / "labels.jsonl").added == 2
    assert fresh.label("7", SPAN, "a") == Label.YES
    aggregate(db).write(tmp_path / "labels.csv")
    text = (tmp_path / "labels.csv").read_text(encoding="utf-8")
    assert [row["label"] for row in csv.DictReader(io.StringIO(text))] == ["YES", "NOT_SURE"]
    assert "severity" not in text
    with pytest.raises(InputError, match=r"expected a \.jsonl, \.csv or \.db file"):
        aggregate(db).write(tmp_path / "labels.txt")


@pytest.mark.slow
def test_a_majority_database_scores_the_same(demo_campaign: Path, tmp_path: Path) -> None:
    campaign = Campaign.open(demo_campaign)
    with campaign.database() as db:
        aggregate(db).write(tmp_path / "majority.db")
        votes, case = db.votes(), db.case
        with pytest.raises(InputError, match="expected a new file"):
            aggregate(db).write(tmp_path / "majority.db")
    with JudgmentDatabase(tmp_path / "majority.db", readonly=True) as made:
        assert made.case == case
        one = Scorer(campaign.trees, votes, case=case).stats(campaign.candidates)
        two = Scorer(campaign.trees, made.votes(), case=case).stats(campaign.candidates)
    assert (one == two).all()


def test_a_spammer_says_nothing_and_posteriors_are_the_weights(tmp_path: Path) -> None:
    answers = [(f"p{i}", w, "Y" if i % 2 else "N") for i in range(30) for w in ("x", "y")]
    db = database(*answers, *[(f"p{i}", "spam", "Y") for i in range(30)], ("q", "x", "N"), ("q", "spam", "Y"))
    assert {k.phrase: k.label for k in aggregate(db).labels}["q"] == Label.NOT_SURE
    found = {k.phrase: k for k in aggregate(db, "dawid-skene").labels}
    assert found["q"].label == Label.NO
    aggregate(db, "dawid-skene").write(tmp_path / "ds.db")
    with JudgmentDatabase(tmp_path / "ds.db", readonly=True) as made:
        (votes,) = [v for v in made.votes() if v.phrase == "q"]
        assert votes.no == pytest.approx(found["q"].posterior[Label.NO], abs=1e-5)
        assert made.label("7", SPAN, "q") == Label.NO


def test_a_worker_who_shares_no_question_is_believed() -> None:
    """Others say NO to most; whoever was alone on a page and said YES is not overruled by that."""
    together = [(f"p{i}", w, "Y" if i % 5 == 0 else "N") for i in range(60) for w in ("x", "y")]
    alone = [(f"q{i}", "z", "Y" if i % 4 else "N") for i in range(16)]
    found = {k.phrase: k.label for k in aggregate(database(*together, *alone), "dawid-skene").labels}
    assert [found[f"q{i}"] for i in range(16)] == [Label.YES if i % 4 else Label.NO for i in range(16)]


@pytest.mark.parametrize("method", ["majority", "dawid-skene"])
def test_the_severity_is_the_mean_of_those_who_said_no(tmp_path: Path, method: str) -> None:
    db = database(("a", "u", "N"), ("b", "u", "N"), ("c", "u", "Y"), ("c", "v", "Y"))
    graded = [("a", "x", 1), ("a", "y", 5), ("a", "z", 5), ("c", "x", 5)]
    db.add(Judgment("7", SPAN, p, Label.NO, worker, severity=severity) for p, worker, severity in graded)
    found = aggregate(db, method)
    assert {key.phrase: (str(key.label), key.severity) for key in found.labels} == {
        "a": ("NO", pytest.approx(11 / 3)),
        "b": ("NO", None),
        "c": ("YES", 5.0),
    }
    found.write(tmp_path / "labels.csv")
    with open(tmp_path / "labels.csv", encoding="utf-8") as stream:
        assert [row["severity"] for row in csv.DictReader(stream)] == ["3.666667", "", ""]
    found.write(tmp_path / "labels.db")
    with JudgmentDatabase(tmp_path / "labels.db") as made:
        again = {key.phrase: (key.label, key.severity) for key in aggregate(made).labels}
    assert again == {key.phrase: (key.label, pytest.approx(key.severity)) for key in found.labels}
