"""One label for each key: by majority as scoring counts votes, by Dawid and Skene; and databases to score with."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from hits.results.aggregate import TRUST, aggregate, aggregated, write_aggregated
from hits.results.dawid_skene import dawid_skene
from rypt.campaign.folder import Campaign
from rypt.database.exchange import import_file
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Judgment, Label, Segment, Span
from rypt.scoring.observations import vote_labels
from rypt.scoring.percolation import NO
from rypt.scoring.scorer import Scorer
from rypt.text import InputError, RyptError

SPAN = Span(0, 1)


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
    found = {key.phrase: key for key in aggregated(db)}
    assert {phrase: key.label for phrase, key in found.items()} == {
        phrase: db.label("7", SPAN, phrase) for phrase in "abc"
    }
    assert (found["a"].probability, found["a"].judgments) == (pytest.approx(2 / 3), 3)
    assert (found["b"].label, found["b"].posterior) == (
        Label.NOT_SURE,
        {"YES": 0.5, "NO": 0.5, "NOT_SURE": 0.0},
    )


def test_excluded_workers_do_not_count() -> None:
    db = database(("a", "x", "Y"), ("a", "y", "N"), ("a", "z", "N"), ("b", "y", "N"))
    db.exclude("y", "spam")
    db.exclude("z", "spam")
    for method in ("majority", "dawid-skene"):
        (key,) = aggregated(db, method)
        assert (key.phrase, key.label, key.judgments) == ("a", Label.YES, 1)


def test_dawid_and_skene_are_asked(demo_campaign: Path) -> None:
    with Campaign.open(demo_campaign).database() as db:
        found = aggregated(db, "dawid-skene")
        model = dawid_skene(db.counted_answers(), trust=TRUST)
    assert len(found) == len(model.questions) > 100
    for key in found[:50]:
        row = model.posterior[model.questions.index((key.segment, key.span, key.phrase))]
        assert list(key.posterior.values()) == row.tolist()
    with pytest.raises(RyptError, match="expected method as one of majority, dawid-skene"):
        aggregated(database(), "mean")


def test_files_can_be_imported_again(tmp_path: Path) -> None:
    db = database(("a", "x", "Y"), ("a", "y", "Y"), ("b", "x", "Y"), ("b", "y", "N"))
    stream = io.StringIO()
    write_aggregated(aggregated(db), stream, "jsonl", "majority")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["phrase"], first["label"], first["posterior"], first["judgments"]) == ("a", "YES", 1.0, 2)
    assert (second["label"], second["yes"], second["no"]) == ("NOT_SURE", 0.5, 0.5)
    (tmp_path / "labels.jsonl").write_text(stream.getvalue(), encoding="utf-8")
    fresh = database()
    assert import_file(fresh, tmp_path / "labels.jsonl").added == 2
    assert fresh.label("7", SPAN, "a") == Label.YES
    stream = io.StringIO()
    write_aggregated(aggregated(db), stream, "csv", "majority")
    assert [row["label"] for row in csv.DictReader(io.StringIO(stream.getvalue()))] == ["YES", "NOT_SURE"]


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


def test_posteriors_are_the_weights(tmp_path: Path) -> None:
    answers = [(f"p{i}", w, "Y" if i % 2 else "N") for i in range(30) for w in ("x", "y")]
    db = database(*answers, *[(f"p{i}", "spam", "Y") for i in range(30)], ("q", "x", "N"), ("q", "spam", "Y"))
    assert {k.phrase: k.label for k in aggregated(db)}["q"] == Label.NOT_SURE
    found = {k.phrase: k for k in aggregated(db, "dawid-skene")}
    assert found["q"].label == Label.NO  # the spammer says nothing
    aggregate(db, "dawid-skene").write(tmp_path / "ds.db")
    with JudgmentDatabase(tmp_path / "ds.db", readonly=True) as made:
        (votes,) = [v for v in made.votes() if v.phrase == "q"]
        assert votes.no == pytest.approx(found["q"].posterior[Label.NO], abs=1e-5)
        assert made.label("7", SPAN, "q") == Label.NO
        assert vote_labels(np.array([[votes.yes, votes.no, votes.not_sure]])).tolist() == [NO]


def test_a_worker_who_shares_no_question_is_believed() -> None:
    """Others say NO to most; whoever was alone on a page and said YES is not overruled by that."""
    together = [(f"p{i}", w, "Y" if i % 5 == 0 else "N") for i in range(60) for w in ("x", "y")]
    alone = [(f"q{i}", "z", "Y" if i % 4 else "N") for i in range(16)]
    found = {k.phrase: k.label for k in aggregated(database(*together, *alone), "dawid-skene")}
    assert [found[f"q{i}"] for i in range(16)] == [Label.YES if i % 4 else Label.NO for i in range(16)]


def test_the_severity_is_the_mean_of_those_who_said_no(tmp_path: Path) -> None:
    db = database(("a", "u", "N"), ("b", "u", "N"), ("c", "u", "Y"), ("c", "v", "Y"))
    graded = [("a", "x", 1), ("a", "y", 5), ("a", "z", 5), ("c", "x", 5)]
    db.add(
        Judgment("7", SPAN, phrase, Label.NO, worker, severity=severity)
        for phrase, worker, severity in graded
    )
    for method in ("majority", "dawid-skene"):
        found = aggregate(db, method)
        assert {key.phrase: (str(key.label), key.severity) for key in found.labels} == {
            "a": ("NO", pytest.approx(11 / 3)),
            "b": ("NO", None),
            "c": ("YES", 5.0),
        }
        found.write(tmp_path / f"{method}.csv")
        with open(tmp_path / f"{method}.csv", encoding="utf-8") as stream:
            assert [row["severity"] for row in csv.DictReader(stream)] == ["3.666667", "", ""]
        found.write(tmp_path / f"{method}.db")
        with JudgmentDatabase(tmp_path / f"{method}.db") as made:
            again = {key.phrase: (key.label, key.severity) for key in aggregated(made)}
        assert again == {key.phrase: (key.label, pytest.approx(key.severity)) for key in found.labels}
    db.add([Judgment("7", SPAN, "d", Label.NO, "x")])
    plain = io.StringIO()
    write_aggregated([key for key in aggregated(db) if key.phrase == "d"], plain, "csv", "majority")
    assert "severity" not in plain.getvalue()
