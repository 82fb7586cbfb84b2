from pathlib import Path

import pytest

from hits.batch.alternatives import by_place, pages_of, read_reference_links
from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.records import Query, Span
from rypt.text import InputError


def query(segment: str, start: int, phrase: str, candidates: int, value: float | None = None) -> Query:
    return Query(segment, Span(start, start + 1), phrase, "", "", candidates, phrase, (0,), value)


def test_phrases_that_serve_most_come_first_and_pages_are_even() -> None:
    asked = by_place([query("1", 0, f"p{n:02}", n % 7) for n in range(23)])
    pages = pages_of(asked, 10)
    assert [len(page) for _, page in pages] == [8, 8, 7]
    order = [alternative.phrase for _, page in pages for alternative in page]
    assert order == sorted(order, key=lambda phrase: (-(int(phrase[1:]) % 7), phrase))


def test_a_limit_keeps_the_pages_that_serve_most() -> None:
    asked = by_place([query(str(n), 0, "p", n) for n in range(10)])
    assert [place[0] for place, _ in pages_of(asked, 10, limit=3)] == ["9", "8", "7"]


def test_where_values_are_known_they_decide() -> None:
    asked = by_place([query(str(n), 0, "p", n, value=(n * 7 % 10) / 10) for n in range(10)])
    assert [place[0] for place, _ in pages_of(asked, 10, limit=3)] == ["7", "4", "1"]
    one = by_place([query("1", 0, f"p{n}", 9 - n, value=n / 10) for n in range(4)])
    assert [a.phrase for _, page in pages_of(one, 10) for a in page] == ["p3", "p2", "p1", "p0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-0\n0-0\n0-99\n" + "\n" * 37, "align:3: link 0-99 is out of range: the reference has"),
        ("x\n", "align:1: expected 40 lines"),
        ("0-0\n" * 39 + "bad\n", "align:40: expected alignment links"),
    ],
)
def test_reference_links_that_do_not_fit_are_named(
    demo_campaign: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "align").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_reference_links(tmp_path / "align", Campaign.open(demo_campaign))


def test_links_need_a_reference(demo_campaign: Path, tmp_path: Path) -> None:
    where = {name: demo_campaign / f"{name}.de" for name in ("source", "trees")}
    bare = create_campaign(tmp_path / "bare", **where, nbest=[demo_campaign / "nbest.en"])
    with pytest.raises(InputError, match="a campaign with a reference"):
        read_reference_links(demo_campaign / "reference.align", bare)
