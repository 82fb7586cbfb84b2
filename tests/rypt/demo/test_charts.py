"""Charts: well-formed, as long as their numbers say, nothing outside."""

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from rypt.demo.charts import (
    WIDTH,
    Line,
    bar_chart,
    line_chart,
    rank_chart,
    share_bars,
    stacked_bar,
    vote_chart,
)

SHARE = st.floats(0, 1)


def numbers(svg: str, name: str, kind: str) -> list[float]:
    """An attribute of all shapes of a kind."""
    return [
        float(e.get(name))
        for e in ElementTree.fromstring(svg).iter()
        if e.get("class") == kind and e.get(name)
    ]


@given(st.lists(st.one_of(st.none(), SHARE), min_size=1, max_size=6))
def test_points_of_a_line_are_where_their_values_are(values: list[float | None]) -> None:
    svg = line_chart("a & b", [str(i) for i in range(len(values))], [Line("x", "c2", values)])
    found, known = numbers(svg, "cy", "c2"), [value for value in values if value is not None]
    bottom, top = 210 - 30, 14
    assert len(found) == len(known)
    for y, value in zip(found, known, strict=True):
        assert abs(y - (bottom - (bottom - top) * value)) < 0.06
    assert all(0 <= x <= WIDTH for x in numbers(svg, "cx", "c2"))


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=5))
def test_bars_are_as_tall_as_their_values(values: list[int]) -> None:
    svg = bar_chart("x", [str(v) for v in values], [Line("x", "c1", values)], ["" for _ in values])
    found = numbers(svg, "height", "c1")
    most = max(values) or 1
    for tall, value in zip(found, values, strict=True):
        assert abs(tall - max(found) * value / most) < 0.11


def test_shares_and_counts_fill_the_width() -> None:
    kinds = {"a": "c0", "b": "c1", "neither": "c3"}
    shares = share_bars("x", {"a": 1.0, "b": 0.25}, kinds)
    assert (numbers(shares, "width", "c0"), numbers(shares, "width", "c1")) == ([WIDTH], [WIDTH / 4])
    assert "25.0%" in shares
    stacked = stacked_bar("x", {"a": 1, "neither": 0, "b": 3}, kinds)
    wide = [numbers(stacked, "width", kind)[0] for kind in ("c0", "c3", "c1")]
    assert wide == [WIDTH / 4 - 1, 0, 3 * WIDTH / 4 - 1]
    assert "3 (75.0%)" in stacked


def test_votes_and_ranks() -> None:
    votes = vote_chart("x", {"+3": 2, "0": 4, "−1": 1}, ["c2", "c3", "c1"])
    assert numbers(votes, "height", "c3") == [2 * h for h in numbers(votes, "height", "c2")]
    systems = [
        {"system": "a", "score": 0.75, "rank": 1, "low": 1, "high": 2},
        {"system": "b", "score": 0.25, "rank": 2, "low": 2, "high": 2},
    ]
    ranks = rank_chart("x", systems, {"a": "c0", "b": "c1"})
    assert numbers(ranks, "cx", "c0") == [0.75 * WIDTH]
    assert re.search(r"0\.750, rank 1–2", ranks)
    assert re.search(r"0\.250, rank 2<", ranks)


def test_last_values_stand_right_of_all_lines() -> None:
    lines = [Line("long", "c2", [0.5, 0.5, 0.5, 0.54]), Line("short", "c4", [0.5, 0.53, 0.53, None])]
    svg = line_chart("x", list("1234"), lines)
    places = [
        (float(x), float(y)) for x, y in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>5[34]%<', svg)
    ]
    assert all(x > max(numbers(svg, "cx", "c2")) for x, _ in places)
    assert abs(places[0][1] - places[1][1]) >= 13
