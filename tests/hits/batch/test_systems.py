"""Batches about systems: who is shown with whom, on which side, with which controls, and nothing about the systems."""

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import pytest

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.make import verdict_notes
from hits.batch.markup import readable
from hits.batch.page import fill
from hits.batch.systems import (
    Outputs,
    candidate_html,
    make_system_batch,
    page_columns,
    read_output,
    short_name,
)
from hits.kinds import parse_ranking_control
from hits.records import Assignment, Batch, BatchSettings, Kind
from hits.results.content import read_content
from rypt.records import Segment
from rypt.text import InputError, RyptError, tokenize

NOUNS = "garden platform telephone mountain holiday kitchen bicycle weather teacher library".split(" ")  # noqa: SIM905
SEGMENTS = [Segment(f"s{n}", f"Quelle {n}") for n in range(60)]
SYSTEMS = [f"system{n}" for n in range(8)]
OUTPUTS = {
    system: {s.id: f"{system} says {NOUNS[n % 10]}{n} is there and stays ." for n, s in enumerate(SEGMENTS)}
    for system in SYSTEMS
}
XYZ = dict(zip("xyz", OUTPUTS.values(), strict=False))
XY = {name: XYZ[name] for name in "xy"}
REFERENCES = {segment.id: f"reference {segment.id}" for segment in SEGMENTS}
TWO = [Segment("0", "das Haus"), Segment("1", "der Hund", None, "he")]
BOTH = pytest.mark.parametrize("kind", [Kind.COMPARISON, Kind.RANKING])


def settings(kind: Kind = Kind.COMPARISON, seed: int = 1) -> BatchSettings:
    now = datetime(2026, 11, 20, tzinfo=UTC)
    return new_settings(kind, seed=seed, now=now, source_language="de", target_language="en", id="b")


@pytest.fixture(scope="module")
def pairs() -> Batch:
    return make_system_batch(SEGMENTS, XYZ, settings(), references=REFERENCES)


@pytest.fixture(scope="module")
def fives() -> Batch:
    return make_system_batch(SEGMENTS, OUTPUTS, settings(Kind.RANKING), control_share=0.2)


def slots(columns: dict[str, str]) -> list[tuple[str, str]]:
    return [(columns[f"system_{n}"], columns[f"candidate_{n}"]) for n in range(1, int(columns["size"]) + 1)]


def test_every_pair_of_systems_is_asked_on_every_segment(pairs: Batch) -> None:
    asked = Counter(
        (item.columns["segment"], *sorted([item.columns["system_a"], item.columns["system_b"]]))
        for item in pairs.items
        if not item.columns["control"]
    )
    assert asked == Counter((s.id, a, b) for s in SEGMENTS for a, b in combinations("xyz", 2))
    assert len({item.id for item in pairs.items}) == len(pairs.items) == 200
    assert pairs.settings.assignments == 3
    for item in pairs.items:
        for side in "ab":
            system, text = item.columns[f"system_{side}"], item.columns[f"candidate_{side}"]
            assert not system or text == XYZ[system][item.columns["segment"]]
            assert item.columns[f"text_{side}"] == readable(text, "en")


def test_controls_have_the_side_that_is_expected(pairs: Batch) -> None:
    controls = [item.columns for item in pairs.items if item.columns["control"]]
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
        assert c[f"candidate_{good}"] == XYZ[c[f"system_{good}"]][c["segment"]]
        changed = set(tokenize(c[f"candidate_{bad}"])) - set(tokenize(c[f"candidate_{good}"]))
        assert changed
    assert len({c["control"] for c in controls}) == 3


def test_either_system_of_a_pair_stands_first_in_half_of_its_items() -> None:
    for seed in range(8):
        for limit in (15, 20):
            pair = make_system_batch(SEGMENTS, XY, settings(seed=seed), limit=limit, control_share=0)
            first = Counter(item.columns["system_a"] for item in pair.items)
            assert sorted(first.values()) == [limit // 2, limit - limit // 2]
    whole = make_system_batch(SEGMENTS, XYZ, settings(), control_share=0)
    order = Counter((item.columns["system_a"], item.columns["system_b"]) for item in whole.items)
    assert set(order.values()) == {30}
    assert len(order) == 6


def test_one_who_always_clicks_the_same_side_fails_half_of_the_damaged_controls() -> None:
    more = set()
    for seed in range(8):
        for limit, damaged in ((15, 4), (20, 5)):
            made = make_system_batch(SEGMENTS, XYZ, settings(seed=seed), limit=limit, control_share=0.25)
            kinds = [i.columns for i in made.items if i.columns["control_kind"] == "damaged"]
            sides = Counter(columns["control"] for columns in kinds)
            assert sides.total() == damaged
            assert abs(sides["A"] - sides["B"]) == damaged % 2
            more.add(sides.most_common(1)[0][0] if damaged % 2 else "")
    assert more == {"", "A", "B"}  # which side has one more is random


def test_matches_are_what_is_asked() -> None:
    matches = [("s0", "z", "x"), ("s3", "x", "y")]
    batch = make_system_batch(SEGMENTS, XYZ, settings(), matches=matches, control_share=0)
    asked = {
        (i.columns["segment"], frozenset((i.columns["system_a"], i.columns["system_b"]))) for i in batch.items
    }
    assert asked == {("s0", frozenset("xz")), ("s3", frozenset("xy"))}
    assert "reference" not in batch.items[0].columns


def test_hostile_candidates_stay_text() -> None:
    bad = "<script>x</script> ${reference} ]]> \ud800 \x00 = \n next"
    batch = make_system_batch(SEGMENTS, {"x": {"s0": bad}, "y": {"s0": "a"}}, settings(), control_share=0)
    page = fill(batch.template, batch.items[0].columns)
    assert "&lt;script&gt;x&lt;/script&gt; ${reference} ]]&gt; \ufffd \ufffd =   next" in page
    assert "\n" not in "".join(batch.items[0].columns.values())


def test_each_segment_shows_five_systems_in_an_order_drawn(fives: Batch) -> None:
    asked = [dict(item.columns) for item in fives.items if not item.columns["control"]]
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
    assert len({item.id for item in fives.items}) == len(fives.items)


def test_pairs_of_systems_meet_about_equally_often() -> None:
    many = [Segment(f"s{n}", f"Quelle {n}") for n in range(600)]
    outputs = {system: {s.id: f"{system} says {s.id}" for s in many} for system in SYSTEMS}
    batch = make_system_batch(many, outputs, settings(Kind.RANKING), control_share=0)
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


def test_controls_hold_a_copy_that_belongs_to_no_system(fives: Batch) -> None:
    controls = [dict(item.columns) for item in fives.items if item.columns["control"]]
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
        made = make_system_batch(SEGMENTS, OUTPUTS, settings(Kind.RANKING, seed), control_share=0.2, limit=20)
        controls = [
            parse_ranking_control(item.columns["control"]) for item in made.items if item.columns["control"]
        ]
        before = Counter(first < second for relation, first, second in controls if relation == "better")
        assert before == {True: 2, False: 2}


def test_items_of_fewer_candidates_hide_the_other_slots() -> None:
    outputs = {"x": {"s0": "a", "s1": "a"}, "y": {"s0": "b", "s1": "b"}, "z": {"s1": "c"}}
    batch = make_system_batch(SEGMENTS, outputs, settings(Kind.RANKING), control_share=0)
    small = next(item for item in batch.items if item.columns["segment"] == "s0")
    assert [small.columns[f"hidden_{n}"] for n in (1, 2, 3)] == ["", "", "hidden disabled"]
    assert (small.size, small.columns["text_3"], small.columns["system_3"]) == (2, "", "")
    assert "system_4" not in small.columns


def test_a_system_with_the_text_of_another_has_its_rank() -> None:
    outputs = {
        "v": {"s0": "a"},
        "w": {"s0": "a "},
        "x": {"s0": "b"},
        "y": {"s0": "c", "s1": "d"},
        "z": {"s1": "d"},
    }
    (item,) = make_system_batch(SEGMENTS, outputs, settings(Kind.RANKING), control_share=0).items
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
    write_batch(
        tmp_path / "batch", make_system_batch(SEGMENTS, outputs, settings(Kind.RANKING), control_share=0)
    )
    table = tmp_path / "batch" / "batch.csv"
    text = table.read_text(encoding="utf-8")
    assert '"[""w""]"' in text or '"[""v""]"' in text
    table.write_text(text.replace('"[""w""]"', "w").replace('"[""v""]"', "v"), encoding="utf-8")
    with pytest.raises(InputError, match=r"batch\.csv:2: expected a list of systems like .* in column same_"):
        read_batch(tmp_path / "batch")


def test_output_is_a_line_a_segment(tmp_path: Path) -> None:
    path = tmp_path / "system.en"
    path.write_text("the house\n\n", encoding="utf-8")
    assert read_output(path, TWO) == {"0": "the house", "1": ""}
    path.write_text("the house\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"system.en:1: expected 2 lines, one per segment, found 1"):
        read_output(path, TWO)


def test_of_a_list_the_first_candidate_of_each_segment_counts(tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text(
        '{"id": 1, "candidate": "the dog"}\n{"id": 0, "candidate": "house"}\n{"id": 1, "candidate": "dog"}\n'
    )
    assert read_output(path, TWO) == {"0": "house", "1": "the dog"}
    path.write_text('{"id": 1, "candidate": "the dog"}\n')
    with pytest.raises(
        InputError, match=r"list.jsonl: expected a candidate of every segment, found none of segment 0"
    ):
        read_output(path, TWO)
    path.write_text("0 ||| house ||| lm= 1\n2 ||| dog ||| lm= 1\n")
    with pytest.raises(InputError, match=r"list.jsonl:2: segment '2' is not in the source"):
        read_output(path, TWO)


def test_item_ids_stay_short_and_plain() -> None:
    names = ["news-12", "a b", "a:b", "ü", "x" * 65, "../x", "\ud800", ""]
    short = [short_name(name) for name in names]
    assert short[0] == "news-12"
    assert all(len(name) <= 64 and name.isascii() and name.replace("-", "").isalnum() for name in short)
    assert len(set(short)) == len(names)


@BOTH
def test_the_page_does_not_name_the_systems_and_the_seed_decides_everything(kind: Kind) -> None:
    batch = make_system_batch(
        SEGMENTS, OUTPUTS, settings(kind), references={"s0": "the <reference>"}, limit=50
    )
    secret = {
        name: "SECRET" for name in batch.items[0].columns if name.startswith(("system", "control", "item"))
    }
    shown = {
        item.columns["segment"]: fill(batch.template, {**item.columns, **secret}) for item in batch.items
    }
    assert not any("SECRET" in page for page in shown.values())
    assert "s0" not in shown or "the &lt;reference&gt;" in shown["s0"]
    assert sum(not item.columns["control"] for item in batch.items) == 50
    same = make_system_batch(
        SEGMENTS, OUTPUTS, settings(kind), references={"s0": "the <reference>"}, limit=50
    )
    assert same == batch
    assert make_system_batch(SEGMENTS, OUTPUTS, settings(kind, 2), limit=50).items != batch.items


@BOTH
@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"x": {}}, "at least 2 systems, found 1"),
        ({"x": {}, " ": {}}, "a name for each system"),
        ({"x": {}, "y": {"7": "?"}}, "system y: segment '7'"),
        ({"x": {"0": "a"}, "y": {"0": "a "}}, "no segment has two candidates that differ"),
    ],
)
def test_outputs_that_cannot_be_right_are_refused(kind: Kind, outputs: Outputs, message: str) -> None:
    with pytest.raises(RyptError, match=message):
        make_system_batch(TWO, outputs, settings(kind))


def test_pairs_with_the_same_text_are_noted_and_not_asked() -> None:
    outputs = {"x": {"s0": "the  same", "s1": "a"}, "y": {"s0": "the same", "s1": "b"}, "z": {"s1": "a"}}
    batch = make_system_batch(SEGMENTS, outputs, settings(), control_share=0)
    assert batch.notes == ("2 of 4 pairs of candidates have the same text and are not asked about",)
    assert [item.columns["segment"] for item in batch.items] == ["s1", "s1"]


def test_an_empty_candidate_is_said_to_be_empty_and_never_damaged() -> None:
    outputs = {"x": {"s0": ""}, "y": {"s0": "a"}}
    batch = make_system_batch(SEGMENTS, outputs, settings(), control_share=0.5)
    assert {item.columns["control"] for item in batch.items} <= {"", "EQUAL"}
    assert candidate_html(" ", "(no text)") == '<i class="empty">(no text)</i>'
    assert candidate_html("<b>", "(no text)") == "&lt;b&gt;"


def test_a_segments_own_language_counts_before_the_batchs() -> None:
    first, second = (page_columns(s, "<ref>", replace(settings(), target_language="ar")) for s in TWO)
    assert (first["source_lang"], first["source_dir"], first["target_dir"]) == ("de", "ltr", "rtl")
    assert (second["source_lang"], second["source_dir"], first["reference"]) == ("he", "rtl", "&lt;ref&gt;")
    assert page_columns(TWO[0], " ", settings())["hidden_reference"] == "hidden"


@pytest.mark.parametrize(
    ("limit", "share", "notes"),
    [
        (20, 0.2, []),
        (40, 0, []),  # who wants no controls needs no advice
        (20, 0.1, ["2 controls .*--controls 0.2"]),
        (15, 0.2, ["4 controls .*--controls 0.25", "15 comparisons"]),
        (1, 0.1, ["1 control .*larger --limit", "1 comparison"]),
    ],
)
def test_too_few_questions_for_a_verdict_are_noted(limit: int, share: float, notes: list[str]) -> None:
    found = verdict_notes(make_system_batch(SEGMENTS, XY, settings(), control_share=share, limit=limit))
    assert len(found) == len(notes)
    assert all(re.match(wanted, note) for wanted, note in zip(notes, found, strict=True))
    of_kind = settings(Kind.RANKING)
    for size, count in ((7, 0), (6, 1)):  # five systems make ten comparisons, three make three
        made = make_system_batch(SEGMENTS, XYZ, of_kind, control_share=0, limit=size)
        assert len(verdict_notes(made)) == count
