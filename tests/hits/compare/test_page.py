"""The page of picks: both side by side, rejected words marked, and nothing that a text says becomes markup."""

import re

import pytest

from hits.compare.picks import Disagreement, Disagreements, check_page
from rypt.records import Candidate, Span, Votes
from rypt.scoring.scorer import Pick, Scorer
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

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
    assert '<p class="notice">SIMULATED</p>' in text


def test_texts_are_escaped_and_missing_ones_left_out(tmp_path):
    text = page(tmp_path, disagreement("<script>x</script>", "", "", "a & b"), second="<bleu>")
    assert "<script" not in text
    assert "<bleu>" not in text
    assert "&lt;script&gt;x&lt;/script&gt;" in text
    assert "a &amp; b" in text
    assert "<i>nothing</i>" in text
    assert "reference</dt>" not in text


def test_a_page_of_some(tmp_path):
    text = page(tmp_path, disagreement(), disagreement(), limit=1)
    assert "the first 1 are shown" in text
    assert "grid-template-columns" in text  # the style is in the page


def test_pages_that_cannot_be_written(tmp_path):
    with pytest.raises(RyptError, match=r"expected a name ending in \.html"):
        check_page(tmp_path / "p.svg")
    with pytest.raises(RyptError, match="its folder does not exist"):
        check_page(tmp_path / "none" / "p.html")
    check_page(tmp_path / "p.html")
