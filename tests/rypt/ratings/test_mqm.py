"""MQM files of all years."""

import json
from pathlib import Path

import pytest

from rypt.ratings.error_spans import ErrorSpan
from rypt.ratings.mqm import read_mqm
from rypt.ratings.repairs import Repairs
from rypt.text import InputError

OLD = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tcomment"
NEW = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"


def write(folder: Path, *lines: str) -> Path:
    path = folder / "mqm.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def row(target: str, category: str = "Style/Awkward", severity: str = "Minor", **other: str) -> str:
    names = {"system": "A", "rater": "rater1", "source": "Ein Haus.", "seg": "12", "last": ""} | other
    return "\t".join((
        names["system"], "doc", "1", names["seg"], names["rater"], names["source"], target, category, severity,
        names["last"],
    ))  # fmt: skip


def test_lines_of_one_rater_about_one_output_are_one_rating(tmp_path: Path) -> None:
    path = write(
        tmp_path, OLD,
        row("A <v>nice</v> house."), row("A nice <v>house</v>.", "Accuracy/Mistranslation", "Major"),
        row("A house.", "No-error", "No-error", system="B"), row("A nice house.", "no-error", "no-error", rater="r2"),
        row("A nice house<v>.</v>", "Fluency/Punctuation", "Minor", rater="r3"),
    )  # fmt: skip
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
        ("Style/Awkward", "Minor", 1), ("Style/Awkward", "major", 5), ("Fluency/Punctuation", "Minor", 0.1),
        ("fluency/punctuation", "minor", 0.1), ("Fluency/Punctuation", "Major", 5), ("Non-translation!", "Major", 25),
        ("Style/Awkward", "Neutral", 0), ("Accuracy/Omission", "Critical", 10), ("Source error", "Major", 0),
        ("No-error", "No-error", 0),
    ],
)  # fmt: skip
def test_weights(tmp_path: Path, category: str, severity: str, weight: float) -> None:
    (rating,) = read_mqm(write(tmp_path, OLD, row("A <v>nice</v> house.", category, severity)))
    assert rating.score == weight
    assert bool(rating.errors) == (category not in ("No-error", "Source error"))


def test_marks_in_the_source_and_errors_without_marks(tmp_path: Path) -> None:
    path = write(
        tmp_path, OLD,
        row("A house.", "Accuracy/Omission", "Major", source="Ein <v>schönes</v> Haus."),
        row("A house.", "Other", "Minor", rater="r2"),
        row("Xyz.", "Non-translation!", "Major", rater="r3"),
    )  # fmt: skip
    omission, other, gibberish = read_mqm(path)
    assert omission.source == "Ein schönes Haus."
    assert omission.errors == (ErrorSpan("source", 4, 11, "Major", "Accuracy/Omission"),)
    assert other.errors == (ErrorSpan("nowhere", 0, 0, "Minor", "Other"),)
    assert gibberish.errors == (ErrorSpan("target", 0, 4, "Major", "Non-translation!"),)


def test_newer_files_have_metadata_and_lines_without_a_rater(tmp_path: Path) -> None:
    stamp = json.dumps({"timestamp": 1663000000123, "note": "x"})
    path = write(
        tmp_path, NEW, row("A house.", "", "", rater="", last='{"segment": {}}'),
        row("A <v>house</v>.", last=stamp), row("A house<v>.</v>", last="{broken"),
    )  # fmt: skip
    (rating,) = read_mqm(path)
    assert (rating.time, len(rating.errors)) == (1663000000, 2)


def test_the_first_line_may_be_missing(tmp_path: Path) -> None:
    (rating,) = read_mqm(write(tmp_path, row("A <v>house</v>.")))
    assert (rating.segment, rating.system, rating.score, rating.line) == ("12", "A", 1, 1)


def test_an_id_that_counts_in_the_document_has_the_document_before_it(tmp_path: Path) -> None:
    header = "system\tdoc\tdoc_id\trater\tsource\ttarget\tcategory\tseverity"
    lines = [f"A\t{doc}\t1\tr\tEin Haus.\tA house.\tNo-error\tNo-error" for doc in ("news", "ted", "")]
    assert [rating.segment for rating in read_mqm(write(tmp_path, header, *lines))] == ["news:1", "ted:1", "1"]


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
        ([OLD, row("A <v><v>house</v></v>.")], "mqm.tsv:2: expected <v>…</v> in pairs, found <v> at column 6"),
        ([OLD, "A\tdoc"], "mqm.tsv:2: expected 10 fields between tabs, found 2"),
        (["system\trater\tsource\ttarget"], "missing category, severity"),
        ([OLD, row("A <v>house</v>."), row("A <v>hose</v>.")], "mqm.tsv:3: the target is another one than on line 2"),
    ],
)
def test_strict_names_the_first_slip(tmp_path: Path, lines: list[str], message: str) -> None:
    path = write(tmp_path, *lines)
    with pytest.raises(InputError) as error:
        read_mqm(path, repairs=Repairs(path, strict=True))
    assert message in str(error.value)
