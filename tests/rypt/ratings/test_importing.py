"""Ratings find their segments and candidates, and everything that does not is counted."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from rypt.campaign.folder import Campaign, create
from rypt.database.judgments import JudgmentDatabase
from rypt.ratings.error_spans import ErrorSpan, Policy, Raters, Rating
from rypt.ratings.importing import (
    AGAIN,
    LEFT_OUT,
    NO_CANDIDATE,
    NO_PARSE,
    NO_SEGMENT,
    NOT_SPELLED,
    TWO_SEGMENTS,
    import_ratings,
    import_ratings_file,
    write_scores,
)
from rypt.ratings.repairs import Repairs
from rypt.records import CandidateJudgments
from rypt.text import InputError, RyptError

SEGMENTS = [
    ("s1", "Ein Haus &apos; .", "(S (NP (D Ein) (N Haus)) (Q ') (P .))"),
    ("s2", "Ja .", "(S (A Ja) (P .))"),
    ("s3", "Ja .", "(S (A Ja) (P .))"),
    ("s4", "Nein .", "()"),
]
LISTS = {
    "A": [("s1", "A house ' .", "0-0 1-1 2-2 3-3"), ("s2", "Yes .", "0-0 1-1"), ("s3", "Yes .", "0-0 1-1")],
    "run.B": [("s1", "A house ' .", "0-0 1-1 3-3"), ("s1", "a House ' .", "0-0"), ("s4", "No .", "0-0 1-1")],
}
RATING = Rating(
    "s1", "Ein Haus'.", "A house'.", "A", "r1", (ErrorSpan("target", 2, 7, "Major"),), 5.0, line=3
)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    (tmp_path / "source.jsonl").write_text(
        "".join(json.dumps({"id": s, "text": t}) + "\n" for s, t, _ in SEGMENTS)
    )
    (tmp_path / "trees").write_text("".join(f"{tree}\n" for _, _, tree in SEGMENTS))
    for name, lines in LISTS.items():
        records = (json.dumps({"id": s, "candidate": t, "alignment": a}) + "\n" for s, t, a in lines)
        (tmp_path / f"{name}.jsonl").write_text("".join(records))
    nbest = [tmp_path / f"{name}.jsonl" for name in LISTS]
    return create(tmp_path / "c", source=tmp_path / "source.jsonl", trees=tmp_path / "trees", nbest=nbest)


def labels(campaign: Campaign) -> dict[tuple[str, str, str, str], str]:
    with campaign.database() as db:
        return {(j.segment, j.phrase, j.worker, j.origin): str(j.label) for j in db.judgments()}


def test_a_rating_becomes_judgments_of_all_aligned_constituents(campaign: Campaign) -> None:
    result, _ = import_ratings(campaign, "x.tsv", [RATING], Policy())
    assert (result.ratings, result.matched, result.judgments, result.added, result.already) == (1, 1, 6, 6, 0)
    assert labels(campaign) == {
        ("s1", phrase, "r1", "A"): label
        for phrase, label in [
            ("a house ' .", "NO"),
            ("a house", "NO"),
            ("a", "YES"),
            ("house", "NO"),
            ("'", "YES"),
            (".", "YES"),
        ]
    }
    again, _ = import_ratings(campaign, "x.tsv", [RATING], Policy())
    assert (again.added, again.already) == (0, 6)


def test_the_list_named_after_the_system_is_taken(campaign: Campaign) -> None:
    """B has the same text, with another alignment."""
    result, _ = import_ratings(campaign, "x.tsv", [replace(RATING, system="B")], Policy())
    assert result.judgments == 5
    assert ("s1", "'", "r1", "B") not in labels(campaign)
    assert labels(campaign)["s1", "a house [GAP] .", "r1", "B"] == "NO"


def test_of_two_systems_with_names_alike_each_has_its_own_list(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("Ein Haus\n")
    (tmp_path / "trees").write_text("(S (D Ein) (N Haus))\n")
    for name, links in (("A.2", "0-0"), ("A", "0-0 1-1")):
        (tmp_path / f"{name}.txt").write_text("A house\n")
        (tmp_path / f"{name}.links").write_text(f"{links}\n")
    lists = [tmp_path / "A.2.txt", tmp_path / "A.txt"]
    made = create(
        tmp_path / "c",
        source=tmp_path / "source",
        trees=tmp_path / "trees",
        nbest=lists,
        alignments=[path.with_suffix(".links") for path in lists],
    )
    ratings = [Rating("0", "Ein Haus", "A house", system, "r", (), 0.0) for system in ("A", "A.2")]
    _, matched = import_ratings(made, "x.tsv", ratings, Policy())
    assert {m.rating.system: m.candidate.alignment for m in matched} == {"A": "0-0 1-1", "A.2": "0-0"}


def test_of_segments_with_one_source_the_one_with_the_target_is_taken(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("Ja .\nJa .\n")
    (tmp_path / "trees").write_text("(S (A Ja) (P .))\n" * 2)
    (tmp_path / "A.txt").write_text("Yes .\nYeah .\n")
    (tmp_path / "links").write_text("0-0 1-1\n" * 2)
    made = create(
        tmp_path / "c",
        source=tmp_path / "source",
        trees=tmp_path / "trees",
        nbest=[tmp_path / "A.txt"],
        alignments=[tmp_path / "links"],
    )
    _, matched = import_ratings(
        made, "x.tsv", [Rating("news-17", "Ja.", "Yeah.", "A", "r", (), 0.0)], Policy()
    )
    assert [m.segment.id for m in matched] == ["1"]


def test_marks_that_no_token_ends_at_are_counted_and_the_rest_is_imported(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("x\ny\n")
    (tmp_path / "trees").write_text("(X x)\n(Y y)\n")
    (tmp_path / "A.txt").write_text("s s\nfine\n")
    (tmp_path / "links").write_text("0-0\n0-0\n")
    made = create(
        tmp_path / "c",
        source=tmp_path / "source",
        trees=tmp_path / "trees",
        nbest=[tmp_path / "A.txt"],
        alignments=[tmp_path / "links"],
    )
    marked = Rating("0", "x", "ß", "A", "r", (ErrorSpan("target", 0, 1, "Major"),), 5.0)
    result, matched = import_ratings(
        made, "x.tsv", [marked, Rating("1", "y", "fine", "A", "r", (), 0.0)], Policy()
    )
    assert (result.matched, result.unmatched, result.added) == (1, {NOT_SPELLED: 1}, 1)
    assert [m.segment.id for m in matched] == ["1"]


def test_case_decides_between_candidates_that_differ_in_it_alone(campaign: Campaign) -> None:
    result, (matched,) = import_ratings(campaign, "x.tsv", [replace(RATING, target="a House'.")], Policy())
    assert matched.candidate.text == "a House ' ."
    assert result.judgments == 3


def test_what_is_not_used_is_counted_with_the_reason(campaign: Campaign) -> None:
    yes = replace(RATING, source="Ja.", target="Yes.", errors=())
    ratings = [
        RATING,
        replace(RATING, source="Ein Hund."),
        replace(RATING, target="A dog."),
        replace(yes, segment="17"),
        replace(yes, segment="s3"),
        replace(RATING, source="Nein.", target="No."),
        replace(RATING, rater="r2"),
        replace(RATING, errors=(), score=0.0, time=9),
    ]
    result, matched = import_ratings(campaign, "x.tsv", ratings, Policy(), Raters(excluded=frozenset({"r2"})))
    assert result.unmatched == dict.fromkeys(
        (NO_SEGMENT, NO_CANDIDATE, TWO_SEGMENTS, NO_PARSE, LEFT_OUT, AGAIN), 1
    )
    assert (result.ratings, result.matched, result.raters, result.systems) == (8, 2, 1, 1)
    assert {m.segment.id for m in matched} == {"s1", "s3"}
    assert set(labels(campaign).values()) == {"YES"}  # the later rating of s1 has no error


def test_nothing_matches(campaign: Campaign) -> None:
    with pytest.raises(InputError) as error:
        import_ratings(campaign, "x.tsv", [replace(RATING, source="Ein Hund.")] * 2, Policy())
    assert str(error.value) == (
        f"x.tsv: expected ratings of this campaign's candidates: of 2, 2 {NO_SEGMENT}"
    )
    assert not labels(campaign)


def test_another_policy_in_the_same_database_is_refused(campaign: Campaign) -> None:
    minor = replace(RATING, errors=(ErrorSpan("target", 2, 7, "Minor"),))
    import_ratings(campaign, "x.tsv", [minor], Policy())
    before = labels(campaign)
    with pytest.raises(RyptError, match="3 of these constituents were labelled otherwise by the same raters"):
        import_ratings(campaign, "x.tsv", [minor], Policy("major"))
    assert labels(campaign) == before
    result, _ = import_ratings(campaign, "x.tsv", [replace(minor, rater="r2")], Policy("major"))
    assert result.added == 6


def test_another_policy_is_refused_even_if_it_comes_at_the_same_time(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other import is done after ours has read its ratings, before ours writes."""
    minor = replace(RATING, errors=(ErrorSpan("target", 2, 7, "Minor"),))
    add = JudgmentDatabase.add_candidates

    def add_after_another(self: JudgmentDatabase, judgments: Iterable[CandidateJudgments]) -> int:
        monkeypatch.undo()
        import_ratings(campaign, "x.tsv", [minor], Policy("major"))
        return add(self, judgments)

    monkeypatch.setattr(JudgmentDatabase, "add_candidates", add_after_another)
    with pytest.raises(RyptError, match="imported with other options"):
        import_ratings(campaign, "x.tsv", [minor], Policy())
    assert set(labels(campaign).values()) == {"YES"}


def test_unknown_severities_are_counted(campaign: Campaign) -> None:
    odd = replace(RATING, errors=(ErrorSpan("target", 2, 7, "Huge"),))
    result, _ = import_ratings(campaign, "x.tsv", [odd], Policy())
    assert result.unknown_severities == {"Huge": 1}
    assert set(labels(campaign).values()) == {"YES"}


def test_scores(campaign: Campaign, tmp_path: Path) -> None:
    ratings = [RATING, replace(RATING, rater="r2", score=None)]
    _, matched = import_ratings(campaign, "x.tsv", ratings, Policy())
    with open(tmp_path / "scores", "w") as stream:
        assert write_scores(matched, stream, better="lower") == 1
    record = {"segment": "s1", "system": "A", "rater": "r1", "score": 5.0, "better": "lower"}
    assert json.loads((tmp_path / "scores").read_text()) == record


def test_a_no_is_stored_with_its_severity_and_other_texts_give_a_score_only(
    campaign: Campaign, tmp_path: Path
) -> None:
    other = replace(
        RATING, rater="r2", errors=(ErrorSpan("nowhere", 0, 0, "Minor"),), score=1.0, other_text=True
    )
    repairs = Repairs("x.tsv")
    repairs.add(3, "mark-nested", "found <v>", "joined")
    result = import_ratings_file(
        campaign,
        "x.tsv",
        [RATING, other],
        Policy(),
        scores=tmp_path / "scores",
        repairs=repairs,
        repairs_file=tmp_path / "repairs.jsonl",
    )
    assert (result.matched, result.judgments, result.scores, result.repairs) == (2, 6, 2, {"mark-nested": 1})
    with campaign.database() as db:
        assert {j.phrase: j.severity for j in db.judgments()} == {
            "a house ' .": 5,
            "a house": 5,
            "a": None,
            "house": 5,
            "'": None,
            ".": None,
        }
    assert json.loads((tmp_path / "repairs.jsonl").read_text()) == {
        "line": 3,
        "kind": "mark-nested",
        "problem": "found <v>",
        "done": "joined",
    }
