import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.markup import readable
from hits.batch.page import fill
from hits.batch.systems import make_ranking_batch
from hits.kinds import parse_ranking_control
from hits.records import Assignment, Batch, BatchSettings, Kind
from hits.results.content import read_content
from rypt.records import Segment
from rypt.text import InputError, RyptError

NOW = datetime(2026, 11, 20, tzinfo=UTC)
SEGMENTS = [Segment(f"s{n}", f"Quelle {n}") for n in range(60)]
NOUNS = [
    "garden",
    "platform",
    "telephone",
    "mountain",
    "holiday",
    "kitchen",
    "bicycle",
    "weather",
    "teacher",
    "library",
]
SYSTEMS = [f"system{n}" for n in range(8)]
OUTPUTS = {
    system: {s.id: f"{system} says {NOUNS[n % 10]}{n} is there and stays ." for n, s in enumerate(SEGMENTS)}
    for system in SYSTEMS
}


def settings(seed: int = 1) -> BatchSettings:
    return new_settings(Kind.RANKING, seed=seed, now=NOW, source_language="de", target_language="en", id="b")


@pytest.fixture(scope="module")
def batch() -> Batch:
    return make_ranking_batch(SEGMENTS, OUTPUTS, settings(), control_share=0.2)


def slots(columns: dict[str, str]) -> list[tuple[str, str]]:
    return [(columns[f"system_{n}"], columns[f"candidate_{n}"]) for n in range(1, int(columns["size"]) + 1)]


def test_each_segment_shows_five_systems_in_an_order_drawn(batch: Batch) -> None:
    asked = [dict(item.columns) for item in batch.items if not item.columns["control"]]
    assert sorted(c["segment"] for c in asked) == sorted(s.id for s in SEGMENTS)
    for c in asked:
        found = slots(c)
        assert len({system for system, _ in found}) == 5
        for n, (system, text) in enumerate(found, start=1):
            assert text == OUTPUTS[system][c["segment"]]
            assert c[f"text_{n}"] == readable(text, "en")
    used = Counter(system for c in asked for system, _ in slots(c))
    assert max(used.values()) - min(used.values()) <= 1
    first = Counter(slots(c)[0][0] for c in asked)
    assert len(first) == 8
    assert len({item.id for item in batch.items}) == len(batch.items)


def test_pairs_of_systems_meet_about_equally_often() -> None:
    many = [Segment(f"s{n}", f"Quelle {n}") for n in range(600)]
    outputs = {system: {s.id: f"{system} says {s.id}" for s in many} for system in SYSTEMS}
    batch = make_ranking_batch(many, outputs, settings(), control_share=0)
    assert len(batch.items) == 600
    met = Counter(
        frozenset((a, b))
        for i in batch.items
        for a, _ in slots(dict(i.columns))
        for b, _ in slots(dict(i.columns))
        if a < b
    )
    assert len(met) == 28
    assert min(met.values()) > 0.7 * max(met.values())


def test_controls_hold_a_copy_that_belongs_to_no_system(batch: Batch) -> None:
    controls = [dict(item.columns) for item in batch.items if item.columns["control"]]
    assert Counter(c["control_kind"] for c in controls) == {"damaged": 10, "identical": 5}
    for c in controls:
        relation, first, second = parse_ranking_control(c["control"])
        found = slots(c)
        assert [n for n, (system, _) in enumerate(found, start=1) if not system] == [second]
        assert found[first - 1][1] == OUTPUTS[found[first - 1][0]][c["segment"]]
        assert (relation == "equal") == (found[first - 1][1] == found[second - 1][1])
        assert (relation == "equal") == (c["control_kind"] == "identical")
        careless = Assignment(
            batch="b",
            item=c["item"],
            hit="H1",
            id="X1",
            worker="A1",
            fields={f"rank_{n}": "3" for n in range(1, 6)},
        )
        (outcome,) = read_content(replace(careless, columns=c)).controls
        assert outcome.passed == (relation == "equal")


def test_the_damaged_copy_stands_first_in_half_of_its_controls() -> None:
    for seed in range(8):
        made = make_ranking_batch(SEGMENTS, OUTPUTS, settings(seed), control_share=0.2, limit=20)
        controls = [
            parse_ranking_control(item.columns["control"]) for item in made.items if item.columns["control"]
        ]
        before = Counter(first < second for relation, first, second in controls if relation == "better")
        assert before == {True: 2, False: 2}


def test_the_page_does_not_tell_the_systems(batch: Batch) -> None:
    columns = dict.fromkeys(batch.items[0].columns, "")
    columns |= {
        name: "SECRET" for name in columns if name.startswith(("system", "candidate", "control", "item"))
    }
    assert "SECRET" not in fill(batch.template, columns)


def test_the_seed_decides_everything(batch: Batch) -> None:
    assert make_ranking_batch(SEGMENTS, OUTPUTS, settings(), control_share=0.2) == batch
    assert make_ranking_batch(SEGMENTS, OUTPUTS, settings(3), control_share=0.2).items != batch.items


def test_the_same_text_is_shown_once() -> None:
    outputs = {
        "v": {"s0": "a"},
        "w": {"s0": "a "},
        "x": {"s0": "b"},
        "y": {"s0": "c", "s1": "d"},
        "z": {"s1": "d"},
    }
    batch = make_ranking_batch(SEGMENTS, outputs, settings(), control_share=0)
    (item,) = batch.items
    assert item.size == 3
    assert sorted(text.strip() for _, text in slots(dict(item.columns))) == ["a", "b", "c"]


def test_items_of_fewer_candidates_hide_the_other_slots() -> None:
    outputs = {"x": {"s0": "a", "s1": "a"}, "y": {"s0": "b", "s1": "b"}, "z": {"s1": "c"}}
    batch = make_ranking_batch(SEGMENTS, outputs, settings(), control_share=0)
    small = next(item for item in batch.items if item.columns["segment"] == "s0")
    assert [small.columns[f"hidden_{n}"] for n in (1, 2, 3)] == ["", "", "hidden disabled"]
    assert (small.size, small.columns["text_3"], small.columns["system_3"]) == (2, "", "")
    assert "system_4" not in small.columns


def test_limit_and_mistakes() -> None:
    assert len(make_ranking_batch(SEGMENTS, OUTPUTS, settings(), control_share=0, limit=4).items) == 4
    with pytest.raises(RyptError, match="nothing to rank"):
        make_ranking_batch(SEGMENTS, {"x": {"s0": "a"}, "y": {"s0": "a"}}, settings())
    with pytest.raises(RyptError, match="limit"):
        make_ranking_batch(SEGMENTS, OUTPUTS, settings(), limit=0)


def test_references_are_shown_when_given() -> None:
    batch = make_ranking_batch(SEGMENTS, OUTPUTS, settings(), references={"s0": "the <reference>"}, limit=60)
    shown = {item.columns["segment"]: item for item in batch.items}
    assert "the &lt;reference&gt;" in fill(batch.template, shown["s0"].columns)
    assert shown["s1"].columns["hidden_reference"] == "hidden"


def test_a_system_with_the_text_of_another_has_its_rank() -> None:
    outputs = {
        "v": {"s0": "a"},
        "w": {"s0": "a "},
        "x": {"s0": "b"},
        "y": {"s0": "c", "s1": "d"},
        "z": {"s1": "d"},
    }
    (item,) = make_ranking_batch(SEGMENTS, outputs, settings(), control_share=0).items
    same = {item.columns[f"system_{n}"]: item.columns[f"same_{n}"] for n in (1, 2, 3)}
    assert {frozenset((system, *json.loads(text or "[]"))) for system, text in same.items()} == {
        frozenset("vw"),
        frozenset("x"),
        frozenset("y"),
    }
    fields = {
        f"rank_{n}": {"a": "1", "b": "2", "c": "2"}[item.columns[f"candidate_{n}"].strip()] for n in (1, 2, 3)
    }
    content = read_content(
        Assignment(batch="b", item=item.id, hit="H", id="X", worker="A1", fields=fields, columns=item.columns)
    )
    found = {
        (*sorted((c.system_a, c.system_b)), {"A": c.system_a, "B": c.system_b}.get(c.choice, "="))
        for c in (*content.comparisons, *content.implied)
    }
    assert found == {("v", "x", "v"), ("v", "y", "v"), ("w", "x", "w"), ("w", "y", "w"), ("x", "y", "=")}
    assert len(content.comparisons) == 3


def test_a_list_of_equal_systems_is_checked(tmp_path: Path) -> None:
    outputs = {"v": {"s0": "a"}, "w": {"s0": "a"}, "x": {"s0": "b"}}
    write_batch(tmp_path / "batch", make_ranking_batch(SEGMENTS, outputs, settings(), control_share=0))
    table = tmp_path / "batch" / "batch.csv"
    text = table.read_text(encoding="utf-8")
    assert '"[""w""]"' in text or '"[""v""]"' in text
    table.write_text(text.replace('"[""w""]"', "w").replace('"[""v""]"', "v"), encoding="utf-8")
    with pytest.raises(InputError, match=r"batch\.csv:2: expected a list of systems like .* in column same_"):
        read_batch(tmp_path / "batch")
