"""The texts of ratings become files that init reads, and in which the same ratings are found again."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rypt.campaign.folder import create
from rypt.ratings import texts as texts_module
from rypt.ratings.error_spans import ErrorSpan, Policy, Rating
from rypt.ratings.importing import import_ratings
from rypt.ratings.repairs import Repairs
from rypt.ratings.texts import Translators, collect_texts
from rypt.text import InputError, RyptError
from rypt.texts.segmenters import Segmenter
from rypt.tools.fallback_trees import fallback_tree

ONE = Rating("7", "Ein Haus.", "A house.", "A", "r1", (), 0.0, line=2)
TWO = replace(ONE, segment="8", source="Ja!\n“Gut”.", target='Yes!\u00a0"Good".', line=3)


def jsonl(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_files(tmp_path: Path) -> None:
    ref = replace(TWO, system="ref", target="Yes, good.")
    texts = collect_texts("x.tsv", [ONE, TWO, replace(ONE, rater="r2"), ref], Translators(("ref",)))
    assert (texts.without_reference, texts.other_outputs, texts.renumbered) == (1, 0, False)
    texts.write(tmp_path / "t")
    assert jsonl(tmp_path / "t/source.jsonl") == [{"id": "8", "text": "Ja ! “ Gut ” ."}]
    assert jsonl(tmp_path / "t/systems/A.jsonl") == [{"id": "8", "candidate": 'Yes ! " Good " .'}]
    assert (tmp_path / "t/references/ref.txt").read_text() == "Yes , good .\n"
    assert sorted(os.listdir(tmp_path / "t/systems")) == ["A.jsonl", "ref.jsonl"]
    assert os.listdir(tmp_path) == ["t"]


def test_without_references_everything_is_taken(tmp_path: Path) -> None:
    collect_texts("x.tsv", [ONE, replace(TWO, system="B")]).write(tmp_path / "t")
    assert [record["id"] for record in jsonl(tmp_path / "t/source.jsonl")] == ["7", "8"]
    assert [record["id"] for record in jsonl(tmp_path / "t/systems/B.jsonl")] == ["8"]
    assert not (tmp_path / "t/references").exists()


def test_segments_without_ids_of_their_own_are_numbered_by_source() -> None:
    for ratings in (
        [ONE, replace(TWO, segment="7"), replace(ONE, system="B", segment="9")],
        [ONE, replace(TWO, segment=""), replace(ONE, system="B")],
    ):
        texts = collect_texts("x.tsv", ratings)
        assert texts.renumbered
        assert texts.sources == {"0": ONE.source, "1": TWO.source}
        assert texts.systems == {"A": {"0": ONE.target, "1": TWO.target}, "B": {"0": ONE.target}}


def test_of_two_outputs_the_first_is_taken() -> None:
    ratings = [
        ONE,
        replace(ONE, rater="r2", target="a  House."),
        replace(ONE, rater="r3", target="The house."),
    ]
    texts = collect_texts("x.tsv", ratings)
    assert (texts.systems, texts.other_outputs) == ({"A": {"7": "A house."}}, 1)


@pytest.mark.parametrize(
    ("ratings", "references", "message"),
    [
        ([], [], "x.tsv: expected ratings, found none"),
        ([ONE, replace(TWO, system="a/b")], [], "x.tsv:3: expected a system that a file can be named after"),
        (
            [replace(ONE, system="")],
            [],
            "x.tsv:2: expected a system that a file can be named after, found ''",
        ),
        ([replace(ONE, system="../x")], [], "x.tsv:2: expected a system that a file can be named after"),
        ([replace(ONE, target="a\0b")], [], "x.tsv:2: expected text as the target"),
        ([replace(ONE, source="\ud800")], [], "x.tsv:2: expected text as the source"),
        ([replace(ONE, segment="1\n2")], [], "x.tsv:2: expected an id of one line"),
        ([ONE, TWO], ["ref"], "no rating is of the system 'ref'; the systems are A"),
        ([ONE, replace(TWO, system="B")], ["A", "B"], "no segment has all of the references A, B"),
        (
            [replace(ONE, languages="en-cs"), replace(TWO, languages="en-de")],
            [],
            "x.tsv: expected one language pair, found en-cs, en-de; --languages names one",
        ),
    ],
)
def test_refused(ratings: list[Rating], references: list[str], message: str) -> None:
    with pytest.raises(RyptError) as error:
        collect_texts("x.tsv", ratings, Translators(tuple(references)))
    assert message in str(error.value)


def test_the_folder_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = collect_texts("x.tsv", [ONE])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    with pytest.raises(InputError, match="expected a new or empty folder"):
        texts.write(tmp_path / "full")
    with pytest.raises(InputError, match="expected a new or empty folder, found a file"):
        texts.write(tmp_path / "full" / "mine")
    monkeypatch.setattr("rypt.ratings.texts.RatingTexts._candidates", lambda *own: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        texts.write(tmp_path / "new")
    assert os.listdir(tmp_path) == ["full"]
    monkeypatch.undo()
    (tmp_path / "new").mkdir()
    texts.write(tmp_path / "new")
    assert sorted(os.listdir(tmp_path / "new")) == ["source.jsonl", "systems"]


TEXTS = st.text(st.sampled_from("abc .,'\"é\u0301-&;“()3我 "), min_size=1, max_size=20).filter(str.strip)


@settings(max_examples=30)
@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from("AB"), st.booleans()), min_size=1, max_size=6))
def test_every_rating_finds_its_texts_again(
    tmp_path_factory: pytest.TempPathFactory, rated: list[tuple[str, str, str, bool]]
) -> None:
    """Whatever was marked where: the tokens spell the texts."""
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
    campaign = create(
        folder / "c",
        source=folder / "t/source.jsonl",
        trees=folder / "trees",
        nbest=lists,
        alignments=[path.with_suffix(".links") for path in lists],
    )
    result, _ = import_ratings(campaign, "x.tsv", ratings, Policy())
    assert (result.matched, result.unmatched) == (len(ratings), {})


def test_documents_and_people(tmp_path: Path) -> None:
    ratings = [
        replace(ONE, document="news"),
        replace(ONE, system="Human-A.0"),
        replace(ONE, system="Human-P.0"),
        replace(ONE, system="pro"),
        replace(TWO, system="refine"),
        replace(ONE, system="ref.B"),
    ]
    texts = collect_texts("x.tsv", ratings, Translators(("Human-A.0",), people=("pro",), machines=("ref.B",)))
    assert texts.human == ("Human-A.0", "Human-P.0", "pro")
    assert texts.as_dict()["human"] == texts.human
    texts.write(tmp_path / "t")
    assert jsonl(tmp_path / "t/documents.jsonl") == [{"id": "7", "document": "news"}]
    *_, compare = texts.next_commands(tmp_path / "t", "mqm x.tsv")
    assert compare.endswith("--judged-only Human-A.0 --judged-only Human-P.0 --judged-only pro")
    assert "never picked: Human-A.0, Human-P.0, pro" in texts.summary("t")


def test_ratings_that_no_file_can_hold_are_refused_alone() -> None:
    repairs = Repairs("x.tsv")
    texts = collect_texts(
        "x.tsv", [ONE, replace(TWO, system="a/b"), replace(TWO, target="a\0b")], repairs=repairs
    )
    assert (list(texts.systems), list(texts.sources)) == (["A"], ["7"])
    assert repairs.counts == {"rating-refused": 2}
    with pytest.raises(InputError, match=r"x\.tsv:3: expected a system"):
        collect_texts("x.tsv", [replace(TWO, system="a/b")], repairs=Repairs("x.tsv"))


def test_references_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "newstest.ref.txt").write_text("Yes , good .\n\n", encoding="utf-8")
    texts = collect_texts(
        "x.tsv", [TWO, replace(ONE, segment="9")], Translators(files=(tmp_path / "newstest.ref.txt",))
    )
    texts.write(tmp_path / "t")
    assert (tmp_path / "t/references/newstest.ref.txt").read_text() == "Yes , good .\n"
    assert (list(texts.sources), texts.without_reference, texts.human) == (["8"], 1, ())
    commands = texts.next_commands(tmp_path / "t", "mqm x.tsv")
    assert f"--references {tmp_path}/t/references/newstest.ref.txt" in commands[0]
    assert commands[-1].startswith("rypt compare ")


CHINESE = replace(ONE, source="宇宙很大。", target="ปี2020")
RUNS = Segmenter("runs", "1.0", lambda run: [run])


def test_words_of_scripts_without_spaces(tmp_path: Path) -> None:
    texts = collect_texts("x.tsv", [CHINESE], segmenter=RUNS)
    texts.write(tmp_path / "t")
    assert jsonl(tmp_path / "t/source.jsonl") == [{"id": "7", "text": "宇宙很大 。"}]
    assert jsonl(tmp_path / "t/systems/A.jsonl") == [{"id": "7", "candidate": "ปี 2020"}]
    assert texts.as_dict()["segmenter"] == "runs-1.0"
    assert "  words of scripts without spaces are found by runs-1.0" in texts.summary("t").splitlines()
    assert texts.next_commands("t", "mqm x.tsv")[0].endswith(" --segmenter runs-1.0")


def test_a_segmenter_that_is_not_needed_is_not_named() -> None:
    texts = collect_texts("x.tsv", [ONE], segmenter=RUNS)
    assert "segmenter" not in texts.as_dict()
    assert "segmenter" not in "".join(texts.next_commands("t", "mqm x.tsv"))
    assert "words" not in texts.summary("t")


def test_a_segmenter_that_is_missing_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_module, "is_segmenter_installed", lambda: False)
    advice = (
        "  words of scripts without spaces are not found: install a segmenter (pip install 'rypt[segment]')"
    )
    assert advice in collect_texts("x.tsv", [CHINESE]).summary("t").splitlines()
    assert advice not in collect_texts("x.tsv", [ONE]).summary("t").splitlines()
