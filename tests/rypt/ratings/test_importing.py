"""Ratings find their segments and candidates, and everything that does not is counted."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.ratings.importing import (
    AGAIN,
    LEFT_OUT,
    NO_CANDIDATE,
    NO_PARSE,
    NO_SEGMENT,
    NOT_SPELLED,
    TWO_SEGMENTS,
    import_ratings,
)
from rypt.ratings.rating import ErrorSpan, Policy, Rating, Repairs
from rypt.records import Judgment
from rypt.text import RyptError

SEGMENTS = [
    ("s1", "Ein Haus &apos; .", "(S (NP (D Ein) (N Haus)) (Q ') (P .))"),
    ("s2", "Ja .", "(S (A Ja) (P .))"),
    ("s3", "Ja .", "(S (A Ja) (P .))"),
    ("s4", "Nein .", "()"),
    ("s5", "x", "(X x)"),
]
LISTS = {
    "A": [
        ("s1", "A house ' .", "0-0 1-1 2-2 3-3"),
        ("s2", "Yes .", "0-0 1-1"),
        ("s3", "Yes .", "0-0 1-1"),
        ("s5", "s s", "0-0"),
    ],
    "run.A.2": [
        ("s1", "A house ' .", "0-0 1-1 3-3"),
        ("s1", "a House ' .", "0-0"),
        ("s4", "No .", "0-0 1-1"),
    ],
}
MARK = ErrorSpan("target", 2, 7, "Major")
RATING = Rating("s1", "Ein Haus'.", "A house'.", "A", "r1", (MARK,), 5.0, line=3)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    segments = "".join(json.dumps({"id": s, "text": t}) + "\n" for s, t, _ in SEGMENTS)
    (tmp_path / "source.jsonl").write_text(segments)
    (tmp_path / "trees").write_text("".join(f"{tree}\n" for _, _, tree in SEGMENTS))
    for name, lines in LISTS.items():
        records = (json.dumps({"id": s, "candidate": t, "alignment": a}) + "\n" for s, t, a in lines)
        (tmp_path / f"{name}.jsonl").write_text("".join(records))
    nbest = [tmp_path / f"{name}.jsonl" for name in LISTS]
    return create_campaign(
        tmp_path / "c", source=tmp_path / "source.jsonl", trees=tmp_path / "trees", nbest=nbest
    )


def labels(campaign: Campaign) -> dict[tuple[str, str, str, str], str]:
    with campaign.database() as db:
        return {(j.segment, j.phrase, j.worker, j.origin): str(j.label) for j in db.judgments()}


@pytest.mark.slow
def test_a_rating_becomes_judgments_of_all_aligned_constituents(campaign: Campaign) -> None:
    result = import_ratings(campaign, "x.tsv", [RATING])
    assert (result.ratings, result.matched, result.judgments, result.added, result.already) == (1, 1, 6, 6, 0)
    wanted = {"a house ' .": "NO", "a house": "NO", "a": "YES", "house": "NO", "'": "YES", ".": "YES"}
    assert labels(campaign) == {("s1", phrase, "r1", "A"): label for phrase, label in wanted.items()}
    again = import_ratings(campaign, "x.tsv", [RATING])
    assert (again.added, again.already) == (0, 6)


def test_the_list_named_after_the_system_is_taken(campaign: Campaign) -> None:
    """Two systems have the same text, with other alignments; one name begins with the other."""
    import_ratings(campaign, "x.tsv", [RATING, replace(RATING, system="A.2")])
    assert ("s1", "'", "r1", "A") in labels(campaign)
    assert ("s1", "'", "r1", "A.2") not in labels(campaign)
    assert labels(campaign)["s1", "a house [GAP] .", "r1", "A.2"] == "NO"
    result = import_ratings(campaign, "x.tsv", [replace(RATING, target="a House'.", rater="r2")])
    assert result.judgments == 3  # case decides between candidates that differ in it alone


def test_what_is_not_used_is_counted_with_the_reason(campaign: Campaign, tmp_path: Path) -> None:
    yes = replace(RATING, source="Ja.", target="Yes.", errors=())
    ratings = [
        RATING,
        replace(RATING, source="Ein Hund."),
        replace(RATING, target="A dog."),
        replace(yes, segment="17"),
        replace(yes, segment="s3"),
        replace(RATING, source="Nein.", target="No."),
        replace(RATING, rater="r2"),
        replace(RATING, time=7, errors=(), score=None),
        replace(RATING, segment="s5", source="x", target="ß", errors=(MARK._replace(start=0, stop=1),)),
    ]
    scores = tmp_path / "scores"
    result = import_ratings(campaign, "x.tsv", ratings, excluded_raters=["r2"], scores=scores)
    assert (result.ratings, result.matched, result.scores) == (9, 2, 1)
    reasons = (NO_SEGMENT, NO_CANDIDATE, TWO_SEGMENTS, NO_PARSE, LEFT_OUT, AGAIN, NOT_SPELLED)
    assert result.unmatched == dict.fromkeys(reasons, 1)
    assert {segment for segment, *_ in labels(campaign)} == {"s1", "s3"}
    assert set(labels(campaign).values()) == {"YES"}  # the last rating of r1 has no error
    record = {"segment": "s3", "system": "A", "rater": "r1", "score": 5.0, "better": "lower"}
    assert json.loads(scores.read_text()) == record


def test_another_policy_is_refused_and_nothing_is_changed(campaign: Campaign) -> None:
    import_ratings(campaign, "x.tsv", [RATING])
    before = labels(campaign)
    other = replace(RATING, segment="s2", source="Ja.", target="Yes.", errors=())
    with pytest.raises(RyptError, match="3 of these constituents were labelled otherwise by the same raters"):
        import_ratings(campaign, "x.tsv", [other, RATING], Policy("critical"))
    assert labels(campaign) == before


def test_an_interrupted_import_leaves_nothing(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: JudgmentDatabase, judgments: Iterable[Judgment]) -> None:
        put(self, list(judgments)[:3])
        raise KeyboardInterrupt

    put = JudgmentDatabase.put
    with monkeypatch.context() as patched:
        patched.setattr(JudgmentDatabase, "put", interrupted)
        with pytest.raises(KeyboardInterrupt):
            import_ratings(campaign, "x.tsv", [RATING])
    assert labels(campaign) == {}
    assert import_ratings(campaign, "x.tsv", [RATING]).added == 6


def test_unknown_severities_other_texts_and_repairs(campaign: Campaign, tmp_path: Path) -> None:
    """An unknown severity is counted, of another text the score alone is taken, repairs are listed."""
    unplaced = (ErrorSpan("nowhere", 0, 0, "Minor"),)
    other = replace(RATING, rater="r2", errors=unplaced, score=1.0, other_text=True)
    odd = replace(RATING, rater="r3", errors=(MARK._replace(severity="Huge"),))
    repairs = Repairs("x.tsv")
    repairs.add(3, "mark-nested", "found <v>")
    result = import_ratings(
        campaign,
        "x.tsv",
        [RATING, other, odd],
        scores=tmp_path / "scores",
        repairs=repairs,
        repairs_file=tmp_path / "repairs.jsonl",
    )
    assert (result.matched, result.judgments, result.scores) == (3, 12, 3)
    assert result.as_dict()["repairs"] == {"mark-nested": 1}
    assert result.unknown_severities == {"Huge": 1}
    with campaign.database() as db:
        severe = {j.phrase: j.severity for j in db.judgments() if j.worker == "r1" and j.severity}
    assert severe == {"a house ' .": 5, "a house": 5, "house": 5}
    repair = {"line": 3, "kind": "mark-nested", "problem": "found <v>"}
    assert json.loads((tmp_path / "repairs.jsonl").read_text()) == repair
