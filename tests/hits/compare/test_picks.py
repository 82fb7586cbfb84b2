"""Two metrics' picks: where they differ, which words people rejected, and the page that shows both."""

import re

import pytest

from hits.compare.picks import Disagreement, Disagreements, MetricComparison, read_metrics, rejected_words
from rypt.campaign.folder import Campaign
from rypt.picks.metrics import Chooser, parse_pick_metric
from rypt.records import Candidate, Span, Votes
from rypt.scoring.scorer import Pick, Scorer
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

TREES = {"1": SourceTree.from_brackets("(S (NP (A a) (B b)) (C c))"), "2": None}


@pytest.fixture(scope="module")
def campaign(demo_campaign):
    return Campaign.open(demo_campaign)


@pytest.fixture(scope="module")
def picks(campaign):
    chooser = Chooser(campaign)
    return {name: chooser.picks(parse_pick_metric(name)) for name in ("rypt", "bleu", "model")}


def texts_of(picks):
    return {segment: pick.candidate.text for segment, pick in picks.items()}


def disagreements(campaign, first, second):
    metrics = [parse_pick_metric("rypt"), parse_pick_metric("bleu")]
    compared = MetricComparison(campaign, metrics, {"rypt": first, "bleu": second}, Chooser(campaign))
    return compared.disagreements().segments


def marked(candidate, scorer):
    wrong = rejected_words(candidate, scorer)
    return " ".join(f"[{word}]" if i in wrong else word for i, word in enumerate(candidate.tokens))


AROUND = [("x y z", (0, 3), 0, 1), ("x y", (0, 2), 0, 1)]
THREE = [("x y", (0, 2), 0, 2), ("z", (2, 3), 1, 1), ("q", (1, 2), 0, 1)]


@pytest.mark.parametrize(
    ("votes", "text", "links", "expected"),
    [
        (THREE, "X y z", "0-0 1-1 2-2", "[X] [y] z"),
        (THREE, "q the x z", "1-0 0-2 2-3", "[q] the x z"),
        (THREE, "y o x z", "0-2 1-0 2-3", "y o x z"),  # another phrase: "y [GAP] x"
        (THREE, "", "", ""),
        ([("x [GAP] y", (0, 2), 0, 1)], "x o y z", "0-0 1-2 2-3", "[x] o [y] z"),
        ([*AROUND, ("y", (1, 2), 0, 1)], "x y z", "0-0 1-1 2-2", "x [y] z"),  # not all that it is in
        ([*AROUND, ("y", (1, 2), 1, 0)], "x y z", "0-0 1-1 2-2", "[x] [y] z"),
        (AROUND[:1], "x y z", "0-0 1-1 2-2", "[x] [y] [z]"),
    ],
)
def test_words_that_people_rejected_are_marked(votes, text, links, expected):
    scorer = Scorer(TREES, [Votes("1", Span(*span), phrase, *counts) for phrase, span, *counts in votes])
    assert marked(Candidate("1", text, links), scorer) == expected
    assert marked(Candidate("2", "no parse", ""), scorer) == "no parse"


def test_disagreements_are_the_segments_with_two_texts(campaign, picks):
    found = disagreements(campaign, picks["rypt"], picks["bleu"])
    ours, theirs = texts_of(picks["rypt"]), texts_of(picks["bleu"])
    assert [d.segment for d in found] == [s.id for s in campaign.segments if ours[s.id] != theirs[s.id]]
    assert 0 < len(found) < len(campaign.segments)
    references = dict(zip([s.id for s in campaign.segments], campaign.references[0], strict=True))
    for d in found:
        assert (d.first.candidate.text, d.second.candidate.text) == (ours[d.segment], theirs[d.segment])
        assert d.reference == references[d.segment]


def test_one_text_with_two_alignments_or_a_missing_pick_is_no_disagreement(campaign, picks):
    d = disagreements(campaign, picks["rypt"], picks["bleu"])[0]
    copy = Pick(Candidate(d.segment, d.first.candidate.text.replace(" ", "  "), ""), 0.5, 1)
    rest = {segment: pick for segment, pick in picks["bleu"].items() if segment != d.segment}
    for other in ({**rest, d.segment: copy}, rest):
        found = disagreements(campaign, picks["rypt"], other)
        assert d.segment not in {each.segment for each in found}


SCORER = Scorer({"1": SourceTree.from_brackets("(S (A a) (B b))")}, [Votes("1", Span(1, 2), "y", 0, 1)])


def pick(text, tied=1):
    links = " ".join(f"{i}-{i}" for i in range(min(2, len(text.split()))))
    return Pick(Candidate("1", text, links), 0.5, tied)


def disagreement(first="x y", second="x z", reference="x w", source="a b"):
    return Disagreement("1", source, reference, pick(first), pick(second, 3))


def page(path, *segments, second="bleu", limit=None):
    found = Disagreements("rypt", second, list(segments), 4, SCORER, ("de", "ar"), "SIMULATED")
    found.write(path / "p.html", limit)
    return (path / "p.html").read_text()


def test_both_picks_stand_side_by_side(tmp_path):
    text = page(tmp_path, disagreement())
    pattern = r'<section><h3>(\w+)</h3><p class="pick" ([^>]*)>(.*?)</p><p class="score">(.*?)</p>'
    sections = re.findall(pattern, text)
    assert sections == [
        ("rypt", 'lang="ar" dir="rtl"', "x <mark>y</mark>", "0.500"),
        ("bleu", 'lang="ar" dir="rtl"', "x z", "0.500, shared by 3 candidates"),
    ]
    assert '<dd lang="de" dir="ltr">a b</dd>' in text
    assert "1 segments with different picks, 4 with the same." in text
    assert "the first 1 are shown" in page(tmp_path, disagreement(), disagreement(), limit=1)
    assert '<p class="notice">SIMULATED</p>' in text


def test_texts_are_escaped_and_missing_ones_left_out(tmp_path):
    text = page(tmp_path, disagreement("<script>x</script>", "", "", "a & b"), second="<bleu>")
    assert "<script" not in text
    assert "<bleu>" not in text
    assert "&lt;script&gt;x&lt;/script&gt;" in text
    assert "a &amp; b" in text
    assert "<i>nothing</i>" in text
    assert "reference</dt>" not in text


def test_metrics_may_be_given_one_by_one():
    assert [m.name for m in read_metrics(["rypt", parse_pick_metric("bleu(tokenize=none)")])] == [
        "rypt",
        "bleu(tokenize=none)",
    ]
    for wrong in ("rypt", "bleu,rypt,bleu", [], ["rypt", "rypt"]):
        with pytest.raises(RyptError, match="expected at least two different metrics"):
            read_metrics(wrong)
