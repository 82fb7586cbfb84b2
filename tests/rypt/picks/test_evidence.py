"""A campaign's lists as systems, and the file of human scores."""

import json
import shutil
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from systems_world import make

from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.picks.evidence import (
    campaign_documents,
    half_of,
    place_scores,
    read_documents,
    read_evidence,
    read_score_lines,
)
from rypt.picks.metrics import parse_pick_metric
from rypt.text import InputError, RyptError

METRICS = [parse_pick_metric(name) for name in ("rypt", "bleu")]
GOOD = {"segment": "0", "system": "sys0", "rater": "r1", "score": 2, "better": "lower"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make(tmp_path_factory.mktemp("world") / "campaign").folder


@pytest.fixture
def folder(world, tmp_path):
    return shutil.copytree(world, tmp_path / "campaign")


def read(folder, **options):
    return read_evidence(Campaign.open(folder), folder / "scores.jsonl", METRICS, **options)


def read_scores(path, systems, segments, better=None):
    return place_scores(path, read_score_lines(path, better), systems, segments)


def write(path, *records):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


# scores


def test_higher_is_better_and_missing_is_nan(tmp_path):
    records = [
        GOOD,
        {**GOOD, "segment": 1, "better": "higher"},
        {**GOOD, "rater": "r2", "score": 4},
        {**GOOD, "system": "other"},
        {**GOOD, "segment": "99"},
    ]
    raters, elsewhere = read_scores(write(tmp_path / "s", *records), ["sys0", "sys1"], ["0", "1"])
    nan = np.nan
    np.testing.assert_array_equal(raters["r1"], [[-2, 2], [nan, nan]])
    np.testing.assert_array_equal(raters["r2"], [[-4, nan], [nan, nan]])
    assert elsewhere == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"segment": "0", "system": "sys0", "score": NaN, "better": "lower"}', "expected a finite number"),
        (GOOD, "a second score of sys0, segment 0, by rater 'r1'"),
        ("[]", "expected an object with segment, system, rater and score"),
        ({**GOOD, "better": "?"}, "expected better as higher or lower"),
    ],
)
def test_lines_that_cannot_be_taken(tmp_path, line, message):
    with pytest.raises(InputError, match=f"s:2: .*{message}"):
        read_scores(write(tmp_path / "s", GOOD, line), ["sys0"], ["0"])


# campaigns


def test_lists_are_systems(folder):
    evidence = read(folder)
    assert evidence.data.systems == ("sys0", "sys1", "sys2", "sys3", "sys4")
    assert evidence.data.candidates.tolist() == np.arange(60).reshape(5, 12).tolist()
    assert evidence.segments == [str(i) for i in range(12)]
    assert set(evidence.data.groups) == set(evidence.data.systems)
    assert len(evidence.data.fixed["bleu"]) == 60
    assert [signature.split("|")[0] for signature in evidence.signatures] == ["bleu"]


def test_raters_are_workers(folder):
    evidence = read(folder, way="rater")
    assert set(evidence.data.groups) == {"r1", "r2"}
    splits, notes = evidence.splits(4, 1, judged_only=["sys4"])
    assert notes == ["12 of 12 segments take part"]
    assert len(splits) == 2
    for split in splits:
        assert split.scored == (0, 1, 2, 3)
        assert (split.judges.sum(axis=0) == 1).all()
    assert sum(split.judges.astype(int) for split in splits).tolist() == [[1] * 12] * 2


def test_excluded_workers_do_not_judge(folder):
    with JudgmentDatabase(folder / "judgments.db") as db:
        db.exclude("r1", "does not read")
    evidence = read(folder, way="rater")
    assert evidence.data.groups == ["r2"]
    ((split,), _) = evidence.splits(9, 1)
    assert split.judges.all()
    np.testing.assert_array_equal(split.quality, evidence.raters["r1"])


def test_a_system_to_be_judged_only_must_be_there(folder):
    evidence = read(folder)
    with pytest.raises(RyptError, match="no list and no judgment is of the system 'sys9'"):
        evidence.splits(1, 1, judged_only=["sys9"])
    assert all(split.judges[4].all() for split in evidence.splits(5, 1, judged_only=["sys4"])[0])


def test_lists_are_named_after_systems_that_were_only_scored(folder):
    """Where raters are held out, judgments may have any origin: the file of scores says what the systems are called."""
    (folder / "sys1.jsonl").rename(folder / "test.sys1.de.jsonl")
    text = (folder / "rypt.toml").read_text()
    (folder / "rypt.toml").write_text(text.replace('"sys1.jsonl"', '"test.sys1.de.jsonl"'))
    with JudgmentDatabase(folder / "judgments.db") as db, db.writing():
        db.db.execute("UPDATE names SET name = 'hit-' || name WHERE id IN (SELECT origin FROM judgment_rows)")
    evidence = read(folder, way="rater")
    assert evidence.data.systems[1] == "sys1"
    assert not any(np.isnan(table[1]).any() for table in evidence.raters.values())
    assert evidence.notes == []


# documents


def test_documents_are_beside_the_source(tmp_path):
    campaign = make(tmp_path / "c", segments=3)
    with pytest.raises(RyptError, match="--half needs to know the documents"):
        campaign_documents(campaign, None, "--half")
    records = [{"id": str(i), "document": "x" if i else "y"} for i in range(4)]
    write(tmp_path / "c" / "documents.jsonl", *records)
    assert campaign_documents(campaign, None, "--half") == ["y", "x", "x"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"id": "0", "document": "b"}, ":2: segment 0 is in two documents"),
        ({"id": "2", "document": "b"}, ": expected the document of each segment, found none of 1"),
        ("[]", ":2: expected an object with id and document"),
    ],
)
def test_documents_that_cannot_be_taken(tmp_path, line, message):
    with pytest.raises(InputError, match=f"d{message}"):
        read_documents(write(tmp_path / "d", {"id": "0", "document": "a"}, line), ["0", "1"])


@given(st.lists(st.sampled_from("abcdefg"), min_size=2).filter(lambda names: len(set(names)) > 1))
def test_halves_are_whole_documents_of_nearly_the_same_size(documents):
    first, second = (half_of(documents, half) for half in ("first", "second"))
    assert [not a for a in first] == second
    halves = [{d for d, a in zip(documents, half, strict=True) if a} for half in (first, second)]
    assert not halves[0] & halves[1]
    assert abs(sum(first) - sum(second)) <= max(Counter(documents).values())
    with pytest.raises(RyptError, match="expected at least two documents"):
        half_of(["a", "a"], "first")
