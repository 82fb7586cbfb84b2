"""MQM files of all years."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.ratings.mqm import read_mqm
from rypt.ratings.rating import ErrorSpan, Repairs
from rypt.text import InputError

OLD = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tcomment"
NEW = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"


def write(folder: Path, *lines: str) -> Path:
    path = folder / "mqm.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def row(
    target,
    category="Style/Awkward",
    severity="Minor",
    *,
    system="A",
    rater="rater1",
    source="Ein Haus.",
    seg="12",
    last="",
):
    return "\t".join((system, "doc", "1", seg, rater, source, target, category, severity, last))


def test_lines_of_one_rater_about_one_output_are_one_rating(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        OLD,
        row("A <v>nice</v> house."),
        row("A nice <v>house</v>.", "Accuracy/Mistranslation", "Major"),
        row("A house.", "No-error", "No-error", system="B"),
        row("A nice house.", "no-error", "no-error", rater="r2"),
        row("A nice house<v>.</v>", "Fluency/Punctuation", "Minor", rater="r3"),
    )
    first, second, third, fourth = read_mqm(path)
    assert (first.segment, first.system, first.rater, first.line) == ("12", "A", "rater1", 2)
    assert (first.source, first.target, first.score) == ("Ein Haus.", "A nice house.", 6)
    assert first.errors == (
        ErrorSpan("target", 2, 6, "Minor", "Style/Awkward"),
        ErrorSpan("target", 7, 12, "Major", "Accuracy/Mistranslation"),
    )
    assert (second.system, second.errors, second.score) == ("B", (), 0)
    assert (third.rater, third.errors, third.score) == ("r2", (), 0)
    assert fourth.score == 0.1


@pytest.mark.parametrize(
    ("category", "severity", "weight"),
    [
        ("Non-translation!", "Major", 25),
        ("Style/Awkward", "Neutral", 0),
        ("Accuracy/Omission", "Critical", 10),
        ("Source error", "Major", 0),
    ],
)
def test_weights(tmp_path: Path, category: str, severity: str, weight: float) -> None:
    (rating,) = read_mqm(write(tmp_path, OLD, row("A <v>nice</v> house.", category, severity)))
    assert rating.score == weight
    assert bool(rating.errors) == (weight > 0 or severity == "Neutral")
    assert ErrorSpan("target", 0, 1, severity, category).weight == weight


def test_marks_in_the_source_and_errors_without_marks(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        OLD,
        row("A house.", "Accuracy/Omission", "Major", source="Ein <v>schönes</v> Haus."),
        row("A house.", "Other", "Minor", rater="r2", seg="13"),
        row("Xyz.", "Non-translation!", "Major", rater="r3", seg="14"),
    )
    omission, other, gibberish = read_mqm(path)
    assert omission.source == "Ein schönes Haus."
    assert omission.errors == (ErrorSpan("source", 4, 11, "Major", "Accuracy/Omission"),)
    assert other.errors == (ErrorSpan("nowhere", 0, 0, "Minor", "Other"),)
    assert gibberish.errors == (ErrorSpan("target", 0, 4, "Major", "Non-translation!"),)


def test_newer_files_have_metadata_and_lines_without_a_rater(tmp_path: Path) -> None:
    stamp = json.dumps({"timestamp": 1663000000123, "note": "x"})
    path = write(
        tmp_path,
        NEW,
        row("A house.", "", "", rater="", last='{"segment": {}}'),
        row("A <v>house</v>.", last=stamp),
        row("A house<v>.</v>", last="{broken"),
    )
    (rating,) = read_mqm(path)
    assert (rating.time, len(rating.errors)) == (1663000000, 2)
    (rating,) = read_mqm(write(tmp_path, row("A <v>house</v>.")))  # the first line may be missing
    assert (rating.segment, rating.system, rating.score, rating.line) == ("12", "A", 1, 1)


def test_quotation_marks_as_they_stand_or_as_csv_has_them(tmp_path: Path) -> None:
    (plain,) = read_mqm(write(tmp_path, OLD, row('"<v>No</v>."')))
    assert plain.target == '"No."'
    (quoted,) = read_mqm(write(tmp_path, OLD, row('"He said ""<v>no</v>""."')))
    assert quoted.target == 'He said "no".'
    assert quoted.target[slice(*quoted.errors[0][1:3])] == "no"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([OLD, row("A <v>house.")], "mqm.tsv:2: expected </v> after <v>, found the end of the text"),
        ([OLD, row("A </v>house.")], "mqm.tsv:2: expected <v>…</v> in pairs, found </v> at column 3"),
        ([OLD, "A\tdoc"], "mqm.tsv:2: expected 10 fields between tabs, found 2"),
        (["system\trater\tsource\ttarget"], "missing category, severity"),
        (
            [OLD, row("A <v>house</v>."), row("A <v>hose</v>.")],
            "mqm.tsv:3: the target is another one than most lines have",
        ),
    ],
)
def test_strict_names_the_first_slip(tmp_path: Path, lines: list[str], message: str) -> None:
    path = write(tmp_path, *lines)
    with pytest.raises(InputError) as error:
        read_mqm(path, repairs=Repairs(path, strict=True))
    assert message in str(error.value)


def test_marks_are_moved_to_the_commonest_text_of_the_output(tmp_path: Path) -> None:
    """One rater's text has an edited word, another's doubled words; a third marks what only his text has."""
    path = write(
        tmp_path,
        OLD,
        row("A nice old house.", "No-error", "No-error", rater="r1"),
        row("A nice old <v>house</v>.", rater="r2"),
        row("A nice old <v>home</v>.", rater="r3"),
        row("A nice nice old<v> old</v> house.", rater="r4"),
        row("A nice old house <v>by the sea</v>.", rater="r5"),
        row("A nice old <v>house</v>.", rater="r5"),
        row("A nice old house.", "No-error", "No-error", system="B", rater="r1", source="Ein  Haus."),
    )
    repairs = Repairs(path)
    ratings = read_mqm(path, repairs=repairs)
    assert {rating.target for rating in ratings} == {"A nice old house."}
    assert {rating.source for rating in ratings} == {"Ein Haus."}
    marked = {r.rater: [r.target[e.start : e.stop] or e.side for e in r.errors] for r in ratings if r.errors}
    assert marked == {"r2": ["house"], "r3": ["house"], "r4": ["old"], "r5": ["nowhere", "house"]}
    assert repairs.counts == {"mark-lost": 1, "target-differs": 3, "source-differs": 1}
    assert [r.score for r in ratings] == [0, 1, 1, 1, 2, 0]


def test_of_a_rating_of_quite_another_text_the_score_is_taken(tmp_path: Path) -> None:
    lines = [row("A nice old house.", "No-error", "No-error", rater=rater) for rater in ("r1", "r2")]
    path = write(tmp_path, OLD, *lines, row("<v>Xyz</v>", "Accuracy/Addition", "Major", rater="r3"))
    repairs = Repairs(path)
    *_, other = read_mqm(path, repairs=repairs)
    assert (other.target, other.score, other.other_text) == ("A nice old house.", 5, True)
    assert [e.side for e in other.errors] == ["nowhere"]
    assert repairs.counts == {"mark-lost": 1, "target-differs": 1, "other-text": 1}


def test_one_error_with_several_marks(tmp_path: Path) -> None:
    (rating,) = read_mqm(
        write(tmp_path, OLD, row("<v>A</v> nice <v>house</v>."), row("A <v>nice</v> house."))
    )
    places = [(e.start, e.stop, e.error > 0) for e in rating.errors]
    assert places == [(0, 1, True), (7, 12, True), (2, 6, False)]
    assert rating.errors[0].error == rating.errors[1].error
    assert rating.score == 2


def test_side_by_side_ratings_are_of_the_system_before_the_pairing(tmp_path: Path) -> None:
    lines = [
        row("A <v>house</v>.", system=system, rater=rater)
        for system in ("GPT_with_ref", "GPT_with_NLLB", "NLLB_with_GPT", "ref_with_GPT")
        for rater in ("r1", "r2")
    ]
    path = write(tmp_path, NEW, *lines)
    repairs = Repairs(path)
    ratings = read_mqm(path, repairs=repairs)
    assert [r.system for r in ratings] == ["GPT"] * 4 + ["NLLB"] * 2 + ["ref"] * 2
    assert [len(r.errors) for r in ratings] == [1] * 8
    assert repairs.counts == {"pairing": 4}
    assert len(read_mqm(path, repairs=Repairs(path, strict=True))) == 8
    for names in (["T5_with_MBR"], ["T5", "T5_with_MBR"], ["T5", "LM", "NLLB", "T5_with_LM"]):
        own = write(tmp_path, NEW, *(row("A house.", system=name) for name in names))
        assert [rating.system for rating in read_mqm(own)] == names


TEXTS = st.text(st.sampled_from('ab "’é我.'), max_size=12).map(lambda text: f"x{text}")


@given(st.data())
def test_no_slip_stops_the_import(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Marks and edits anywhere: each line counts, errors stand inside the texts, and every repair is listed."""
    rng = random.Random(data.draw(st.integers(0, 10**6)))
    source, target = data.draw(TEXTS), data.draw(TEXTS)
    lines = []
    for rater in data.draw(st.lists(st.sampled_from(("r1", "r2", "r3")), min_size=1, max_size=6)):
        texts = []
        for text in (source, target):
            for piece in data.draw(st.lists(st.sampled_from(("<v>", "</v>", "b", "")), max_size=3)):
                at = rng.randint(0, len(text))
                text = text[:at] + piece + text[at + (piece == "") :]
            texts.append(text)
        lines.append(row(texts[1], rater=rater, source=texts[0]))
    path = write(tmp_path_factory.mktemp("m"), OLD, *lines)
    repairs = Repairs(path)
    ratings = read_mqm(path, repairs=repairs)
    assert sum(r.score or 0 for r in ratings) == len(lines)
    for rating in ratings:
        for error in rating.errors:
            text = {"source": rating.source, "target": rating.target, "nowhere": ""}[error.side]
            assert 0 <= error.start <= error.stop <= len(text)
    assert sum(repairs.counts.values()) == len(repairs.items)
    assert all(repair.line and repair.problem for repair in repairs.items)
    is_split = len(ratings) > len({rating.rater for rating in ratings})  # one id, two sources
    if {"mark-not-closed", "mark-not-opened", "mark-nested"} & set(repairs.counts):
        with pytest.raises(InputError, match=r"mqm\.tsv:\d+: "):
            read_mqm(path, repairs=Repairs(path, strict=True))
    elif not repairs.items and not is_split:
        assert read_mqm(path, repairs=Repairs(path, strict=True)) == ratings
