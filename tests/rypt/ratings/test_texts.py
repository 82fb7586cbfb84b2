"""The texts of ratings become files that init reads, and in which the same ratings are found again."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rypt.campaign.create import create_campaign
from rypt.ratings.importing import import_ratings
from rypt.ratings.rating import ErrorSpan, Rating, is_human
from rypt.ratings.texts import collect_texts, read_references
from rypt.text import InputError, RyptError
from rypt.texts.fallback_trees import fallback_tree
from rypt.texts.tokenizer import Segmenter

ONE = Rating("7", "Ein Haus.", "A house.", "A", "r1", (), 0.0, line=2)
TWO = replace(ONE, segment="8", source="Ja!\n“Gut”.", target='Yes!\u00a0"Good".', line=3)


def jsonl(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_files(tmp_path: Path) -> None:
    ref = replace(TWO, system="ref", target="Yes, good.", document="news")
    texts = collect_texts("x.tsv", [ONE, TWO, replace(ONE, rater="r2"), ref], references=["ref"])
    assert (texts.without_reference, texts.other_outputs, texts.renumbered) == (1, 0, False)
    texts.write(tmp_path / "t")
    assert jsonl(tmp_path / "t/source.jsonl") == [{"id": "8", "text": "Ja ! “ Gut ” ."}]
    assert jsonl(tmp_path / "t/systems/A.jsonl") == [{"id": "8", "candidate": 'Yes ! " Good " .'}]
    assert jsonl(tmp_path / "t/documents.jsonl") == [{"id": "8", "document": "news"}]
    assert (tmp_path / "t/references/ref.txt").read_text() == "Yes , good .\n"
    assert sorted(os.listdir(tmp_path / "t/systems")) == ["A.jsonl", "ref.jsonl"]
    with pytest.raises(InputError, match="expected a new or empty folder"):
        texts.write(tmp_path / "t")


@pytest.mark.parametrize(
    "ratings",
    [
        [ONE, replace(TWO, segment="7"), replace(ONE, system="B", segment="9")],
        [ONE, replace(TWO, segment=""), replace(ONE, system="B")],
    ],
)
def test_segments_without_ids_of_their_own_are_numbered_by_source(ratings: list[Rating]) -> None:
    texts = collect_texts("x.tsv", ratings)
    assert texts.renumbered
    assert texts.sources == {"0": ONE.source, "1": TWO.source}
    assert texts.systems == {"A": {"0": ONE.target, "1": TWO.target}, "B": {"0": ONE.target}}


@pytest.mark.parametrize(
    ("ratings", "references", "message"),
    [
        ([], [], "x.tsv: expected ratings, found none"),
        ([ONE, replace(TWO, system="../b")], [], "x.tsv:3: expected a system that a file can be named after"),
        ([ONE, replace(TWO, system="B")], ["A", "B"], "no segment has all of the references A, B"),
        ([replace(ONE, languages="en-cs"), TWO], [], "x.tsv: expected one language pair"),
    ],
)
def test_refused(ratings: list[Rating], references: list[str], message: str) -> None:
    with pytest.raises(RyptError) as error:
        collect_texts("x.tsv", ratings, references=references)
    assert message in str(error.value)


TEXTS = st.text(st.sampled_from("abc .,'\"é\u0301-&;“()3我 "), min_size=1, max_size=20).filter(str.strip)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from("AB"), st.booleans()), min_size=1, max_size=6))
def test_every_rating_finds_its_texts_again(tmp_path_factory, rated):
    """For any text and mark: the tokens spell the texts."""
    folder = tmp_path_factory.mktemp("t")
    ratings = [
        Rating(str(i), source, target, system, "r", (ErrorSpan("target", 0, 1, "major"),) * marked, 0.0)
        for i, (source, target, system, marked) in enumerate(rated)
    ]
    texts = collect_texts("x.tsv", ratings)
    texts.write(folder / "t")
    trees = [f"{fallback_tree(record['text'].split(' '))}\n" for record in jsonl(folder / "t/source.jsonl")]
    (folder / "trees").write_text("".join(trees), encoding="utf-8")
    lists = [folder / f"t/systems/{name}.jsonl" for name in texts.systems]
    for path in lists:
        path.with_suffix(".links").write_text("0-0\n" * len(jsonl(path)))
    campaign = create_campaign(
        folder / "c",
        source=folder / "t/source.jsonl",
        trees=folder / "trees",
        nbest=lists,
        alignments=[path.with_suffix(".links") for path in lists],
    )
    result = import_ratings(campaign, "x.tsv", ratings)
    assert (result.matched, result.unmatched) == (len(ratings), {})


def test_people() -> None:
    people = ["ref", "Ref.A", "refA", "ref-C", "reference", "Human-A.0", "Human-P.0", "wmt23.refA"]
    systems = ["Refine", "humanoid-1", "prefA", "Online-A", "reframe.2", "HumanMT", "A"]
    assert [name for name in (*people, *systems) if is_human(name)] == people
    ratings = [replace(ONE, system=name) for name in ("Human-A.0", "Human-P.0", "pro", "refine")]
    texts = collect_texts("x.tsv", ratings, references=["pro"])
    assert texts.human == ("Human-A.0", "Human-P.0", "pro")


def test_words_of_scripts_without_spaces(tmp_path: Path) -> None:
    chinese = replace(ONE, source="宇宙很大。", target="ปี2020")
    texts = collect_texts("x.tsv", [chinese], segmenter=Segmenter("runs-1.0", lambda run: [run]))
    texts.write(tmp_path / "t")
    assert jsonl(tmp_path / "t/source.jsonl") == [{"id": "7", "text": "宇宙很大 。"}]
    assert jsonl(tmp_path / "t/systems/A.jsonl") == [{"id": "7", "candidate": "ปี 2020"}]
    assert "found by runs-1.0" in texts.summary("t")


@pytest.mark.parametrize(
    ("text", "segments", "found"),
    [
        ("eins\nzwei\n", ["a", "b"], {"a": "eins", "b": "zwei"}),
        ("eins\nzwei\ndrei\n", ["3", "1"], {"3": "drei", "1": "eins"}),
        ("b\tzwei\na\teins\nx\tdrei\n", ["a", "b"], {"a": "eins", "b": "zwei"}),
        ('{"id": 7, "text": "sieben"}\n', ["7", "8"], {"7": "sieben"}),
        ("eins\nzwei\n", ["a", "b", "c"], "ref: expected 3 lines, one for each segment"),
        ('{"id": 7}\n', ["7"], "ref:1: expected a JSON object with id and text"),
    ],
)
def test_references_in_a_file(tmp_path, text, segments, found):
    (tmp_path / "ref").write_text(text, encoding="utf-8")
    if isinstance(found, dict):
        assert read_references(tmp_path / "ref", segments) == found
        return
    with pytest.raises(InputError) as error:
        read_references(tmp_path / "ref", segments)
    assert found in str(error.value)
