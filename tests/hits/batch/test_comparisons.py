from collections import Counter
from datetime import UTC, datetime
from itertools import combinations

import pytest

from hits.batch.folder import new_settings
from hits.batch.markup import readable
from hits.batch.page import fill
from hits.batch.systems import make_comparison_batch
from hits.records import Batch, BatchSettings, Kind
from rypt.records import Segment
from rypt.text import RyptError, tokenize

NOW = datetime(2026, 11, 20, tzinfo=UTC)
SEGMENTS = [Segment(f"s{n}", f"Quelle {n}") for n in range(60)]
NOUNS = "garden platform telephone mountain holiday kitchen bicycle weather teacher library".split(" ")  # noqa: SIM905
OUTPUTS = {
    system: {
        s.id: f"{system} says {NOUNS[n % 10]}{n} is {'good' if n % 5 else 'bad'} ."
        for n, s in enumerate(SEGMENTS)
    }
    for system in ("x", "y", "z")
}
REFERENCES = {segment.id: f"reference {segment.id}" for segment in SEGMENTS}
XY = {system: OUTPUTS[system] for system in "xy"}


def settings(seed: int = 1) -> BatchSettings:
    return new_settings(
        Kind.COMPARISON, seed=seed, now=NOW, source_language="de", target_language="en", id="b"
    )


@pytest.fixture(scope="module")
def batch() -> Batch:
    return make_comparison_batch(SEGMENTS, OUTPUTS, settings(), references=REFERENCES)


def test_every_pair_of_systems_is_asked_on_every_segment(batch: Batch) -> None:
    asked = Counter(
        (item.columns["segment"], *sorted([item.columns["system_a"], item.columns["system_b"]]))
        for item in batch.items
        if not item.columns["control"]
    )
    assert asked == Counter((s.id, a, b) for s in SEGMENTS for a, b in combinations("xyz", 2))
    assert len({item.id for item in batch.items}) == len(batch.items) == 200
    assert batch.settings.assignments == 3


def test_sides_are_drawn_and_recorded(batch: Batch) -> None:
    first = 0
    for item in batch.items:
        c = item.columns
        for side in "ab":
            if c[f"system_{side}"]:
                assert c[f"candidate_{side}"] == OUTPUTS[c[f"system_{side}"]][c["segment"]]
            assert c[f"text_{side}"] == readable(c[f"candidate_{side}"], "en")
        first += not c["control"] and c["system_a"] < c["system_b"]
    assert 60 < first < 120  # of 180


def test_the_page_does_not_tell_the_systems(batch: Batch) -> None:
    page = fill(
        batch.template,
        {**batch.items[0].columns, "system_a": "SECRET", "system_b": "SECRET", "control": "SECRET"},
    )
    assert "SECRET" not in page
    assert REFERENCES[batch.items[0].columns["segment"]] in page


def test_controls_have_the_side_that_is_expected(batch: Batch) -> None:
    controls = [item.columns for item in batch.items if item.columns["control"]]
    assert len(controls) == 20
    kinds = Counter(c["control_kind"] for c in controls)
    assert kinds == {"damaged": 14, "identical": 6}
    for c in controls:
        if c["control_kind"] == "identical":
            assert c["control"] == "EQUAL"
            assert c["candidate_a"] == c["candidate_b"]
            assert "" in (c["system_a"], c["system_b"])
            continue
        good, bad = ("a", "b") if c["control"] == "A" else ("b", "a")
        assert c[f"system_{good}"]
        assert c[f"system_{bad}"] == ""
        assert c[f"candidate_{good}"] == OUTPUTS[c[f"system_{good}"]][c["segment"]]
        changed = set(tokenize(c[f"candidate_{bad}"])) - set(tokenize(c[f"candidate_{good}"]))
        assert changed
    assert len({c["control"] for c in controls}) == 3


def test_either_system_of_a_pair_stands_first_in_half_of_its_items() -> None:
    for seed in range(8):
        for limit in (15, 20):
            pair = make_comparison_batch(SEGMENTS, XY, settings(seed), limit=limit, control_share=0)
            first = Counter(item.columns["system_a"] for item in pair.items)
            assert sorted(first.values()) == [limit // 2, limit - limit // 2]
    whole = make_comparison_batch(SEGMENTS, OUTPUTS, settings(), control_share=0)
    order = Counter((item.columns["system_a"], item.columns["system_b"]) for item in whole.items)
    assert set(order.values()) == {30}
    assert len(order) == 6


def test_one_who_always_clicks_the_same_side_fails_half_of_the_damaged_controls() -> None:
    more = set()
    for seed in range(8):
        for limit, damaged in ((15, 4), (20, 5)):
            made = make_comparison_batch(SEGMENTS, OUTPUTS, settings(seed), limit=limit, control_share=0.25)
            kinds = [i.columns for i in made.items if i.columns["control_kind"] == "damaged"]
            sides = Counter(columns["control"] for columns in kinds)
            assert sides.total() == damaged
            assert abs(sides["A"] - sides["B"]) == damaged % 2
            more.add(sides.most_common(1)[0][0] if damaged % 2 else "")
    assert more == {"", "A", "B"}  # which side has one more is random


def test_the_seed_decides_everything(batch: Batch) -> None:
    assert make_comparison_batch(SEGMENTS, OUTPUTS, settings(), references=REFERENCES) == batch
    assert make_comparison_batch(SEGMENTS, OUTPUTS, settings(2), references=REFERENCES).items != batch.items


def test_identical_pairs_are_set_aside() -> None:
    outputs = {"x": {"s0": "the  same", "s1": "a"}, "y": {"s0": "the same", "s1": "b"}, "z": {"s1": "a"}}
    batch = make_comparison_batch(SEGMENTS, outputs, settings(), control_share=0)
    assert batch.notes[0].startswith("2 pairs of candidates, of 4 that were drawn, have the same text")
    assert sorted(item.columns["segment"] for item in batch.items) == ["s1", "s1"]


def test_matches_are_what_is_asked() -> None:
    matches = [("s0", "z", "x"), ("s3", "x", "y")]
    batch = make_comparison_batch(SEGMENTS, OUTPUTS, settings(), matches=matches, control_share=0)
    asked = {
        (i.columns["segment"], frozenset((i.columns["system_a"], i.columns["system_b"]))) for i in batch.items
    }
    assert asked == {("s0", frozenset("xz")), ("s3", frozenset("xy"))}
    assert "reference" not in batch.items[0].columns


def test_mistakes_are_named() -> None:
    same = {"x": {"s0": "a"}, "y": {"s0": "a"}}
    with pytest.raises(RyptError, match="nothing to compare"):
        make_comparison_batch(SEGMENTS, same, settings())
    with pytest.raises(RyptError, match="limit of at least 1"):
        make_comparison_batch(SEGMENTS, OUTPUTS, settings(), limit=0)


def test_too_few_candidates_for_controls_are_noted() -> None:
    outputs = {"x": {"s0": ""}, "y": {"s0": "a"}}
    batch = make_comparison_batch(SEGMENTS, outputs, settings(), control_share=0.5)
    assert [item.columns["control"] for item in batch.items if item.columns["control"]] == ["EQUAL"]
    nothing = {"x": {"s0": ""}, "y": {"s0": "a"}, "z": {"s0": "b", "s1": "c"}}
    noted = make_comparison_batch(SEGMENTS, nothing, settings(), control_share=0.5)
    assert not noted.notes
    assert '<i class="empty">(no text)</i>' in [i.columns[f"text_{s}"] for i in batch.items for s in "ab"]


def test_hostile_candidates_stay_text() -> None:
    bad = "<script>x</script> ${reference} ]]> \ud800 \x00 = \n next"
    batch = make_comparison_batch(SEGMENTS, {"x": {"s0": bad}, "y": {"s0": "a"}}, settings(), control_share=0)
    page = fill(batch.template, batch.items[0].columns)
    assert "&lt;script&gt;x&lt;/script&gt; ${reference} ]]&gt; \ufffd \ufffd =   next" in page
    assert "\n" not in "".join(batch.items[0].columns.values())


def test_ties_have_their_share_among_what_was_drawn() -> None:
    """Half of all pairs are the same text: a batch of some questions has about as many ties, not all there are."""
    segments = [Segment(f"t{i}", f"Satz {i}") for i in range(200)]
    outputs = {
        "x": {s.id: f"text {s.id}" for s in segments},
        "y": {s.id: f"text {s.id}{' indeed' if i % 2 else ''}" for i, s in enumerate(segments)},
    }
    batch = make_comparison_batch(segments, outputs, settings(), control_share=0, limit=30)
    assert len(batch.items) == 30
    assert 15 < int(batch.notes[0].split()[0]) < 60
    whole = make_comparison_batch(segments, outputs, settings(), control_share=0)
    assert whole.notes[0].startswith("100 pairs of candidates, of 200 that were drawn")
