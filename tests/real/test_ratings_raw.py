"""Public MQM and ESA files as they are: every slip is mended and counted, and the scores are those published.

Means of systems: TED from the data's own table, newstest2020 from the arithmetic of Freitag et al. 2021 (mean over
segments of the mean over raters), whose published table has two digits.
"""

import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from commands import run

from rypt.ratings.esa import read_esa
from rypt.ratings.mqm import read_mqm
from rypt.ratings.rating import Rating, Repairs
from rypt.ratings.texts import collect_texts
from rypt.text import InputError

pytestmark = pytest.mark.real
NEWSTEST2020 = {
    "Human-B.0": 0.7459,
    "Human-A.0": 0.9115,
    "Human-P.0": 1.4099,
    "Tohoku-AIP-NTT.890": 2.0176,
    "OPPO.1535": 2.2480,
    "eTranslation.737": 2.3325,
    "Tencent_Translation.1520": 2.3531,
    "Huoshan_Translate.832": 2.4454,
    "Online-B.1590": 2.4752,
    "Online-A.1574": 2.9871,
}
FILES = {  # segments, ratings, systems
    "mqm_ted_ende.tsv.gz": (529, 7406, 14),
    "mqm_newstest2021_enru.tsv.gz": (527, 8432, 16),
    "mqm_newstest2020_ende.tsv.gz": (1418, 42540, 10),
}


@pytest.fixture(scope="module")
def raw(real_data: Callable[[str], Path]) -> Path:
    return real_data("mqm-raw")


def means(ratings: Iterable[Rating]) -> dict[str, float]:
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for rating in ratings:
        scores[rating.system][rating.segment].append(rating.score or 0.0)
    return {
        system: round(sum(sum(s) / len(s) for s in segments.values()) / len(segments), 4)
        for system, segments in scores.items()
    }


def check(path: Path) -> tuple[list[Rating], Repairs]:
    """Read a file and test what holds for all of them."""
    segments, count, systems = FILES[path.name]
    repairs = Repairs(path)
    ratings = read_mqm(path, repairs=repairs)
    assert len(ratings) == count
    assert len({rating.system for rating in ratings}) == systems
    assert {kind for kind in repairs.counts if "refused" in kind} == set()
    for rating in ratings:
        assert "<v>" not in rating.target + rating.source
        for error in rating.errors:
            text = {"target": rating.target, "source": rating.source, "nowhere": ""}[error.side]
            assert 0 <= error.start <= error.stop <= len(text)
    texts = collect_texts(path, ratings)
    assert (len(texts.sources), texts.renumbered, texts.other_outputs) == (segments, False, 0)
    assert len(texts.documents) == segments
    with pytest.raises(InputError, match=rf"{path.name}:\d+: "):
        read_mqm(path, repairs=Repairs(path, strict=True))
    return ratings, repairs


def test_ted(raw: Path, ted_data: Path) -> None:
    ratings, repairs = check(raw / "mqm_ted_ende.tsv.gz")
    assert repairs.counts == {"mark-not-closed": 1}
    with open(ted_data / "systems.tsv", encoding="utf-8") as file:
        published = {row["system"]: float(row["mean_mqm"]) for row in csv.DictReader(file, delimiter="\t")}
    assert means(ratings) == published


def test_newstest2021(raw: Path) -> None:
    ratings, repairs = check(raw / "mqm_newstest2021_enru.tsv.gz")
    assert repairs.counts == {"mark-not-opened": 1, "target-differs": 7}
    assert collect_texts("x", ratings, references=["ref.A"]).human == ("ref.A", "ref.B")


def test_newstest2020(raw: Path) -> None:
    ratings, repairs = check(raw / "mqm_newstest2020_ende.tsv.gz")
    assert means(ratings) == NEWSTEST2020
    assert (repairs.counts["mark-lost"] < 150, repairs.counts["other-text"]) == (True, 2)
    assert len({(r.system, r.segment, r.target) for r in ratings}) == 14180
    assert (
        len({r.source for r in ratings if '""' in r.source}) == 2
    )  # a quotation inside a quotation ends both


def test_a_file_as_it_is_becomes_a_campaign(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first command of docs/howto-ratings.md."""
    command = ["import", raw / "mqm_ted_ende.tsv.gz", "-C", tmp_path / "ted", "--reference", "ref"]
    code, out, err = run(capsys, *command, "--repairs", tmp_path / "repairs.jsonl")
    assert (code, "529 segments, 7406 outputs of 14 systems" in err) == (0, True)
    assert "from 7406 of 7406 ratings (4 raters, 14 systems)" in out
    (repair,) = map(json.loads, (tmp_path / "repairs.jsonl").read_text(encoding="utf-8").splitlines())
    assert (repair["line"], repair["kind"]) == (6444, "mark-not-closed")
    lines = (tmp_path / "ted" / "texts" / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    assert (len(lines), len({json.loads(line)["document"] for line in lines})) == (529, 5)


def test_esa(real_data: Callable[[str], Path]) -> None:
    folder = real_data("esa-raw")
    path = folder / "rc5ESA.csv.gz"
    repairs = Repairs(path)
    ratings = read_esa(path, folder / "batches_esa.json.gz", repairs=repairs)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        shown = [row for row in csv.reader(file) if row[3] == "TGT" and "tutorial" not in row[7]]
    assert len(ratings) == len(shown)
    assert repairs.counts == {"shared-id": 4}
    assert sum(error.side == "nowhere" for rating in ratings for error in rating.errors) > 300
    texts = collect_texts(path, ratings)
    assert (len(texts.systems), texts.human, texts.other_outputs) == (13, ("wmt23.refA",), 0)
    with pytest.raises(InputError, match="is there with two texts"):
        read_esa(path, folder / "batches_esa.json.gz", repairs=Repairs(path, strict=True))


def test_an_esa_file_without_header(real_data: Callable[[str], Path], tmp_path: Path) -> None:
    """Its texts are not public; with texts of the right length, every rating is read."""
    path = real_data("wmt24-esa") / "esa_generalMT2024_wave2.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    names = ("documentID", "itemID", "targetID", "sourceText", "targetText")
    texts = {(row[7], row[2], row[1], row[2], "x" * 5000) for row in rows}
    items = [dict(zip(names, text, strict=True)) for text in texts]
    (tmp_path / "batches.json").write_text(json.dumps([{"items": items}]), encoding="utf-8")
    repairs = Repairs(path)
    ratings = read_esa(path, tmp_path / "batches.json", repairs=repairs)
    assert len(ratings) == sum(row[3] == "TGT" and "-tutorial" not in row[7] for row in rows)
    assert repairs.counts == {}
    assert {rating.languages for rating in ratings} == {"eng-ces", "eng-hin", "eng-jpn", "eng-zho"}
