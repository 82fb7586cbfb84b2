"""Files of all kinds: plain, zipped, pipes, campaigns; several files, language pairs, judges and systems."""

import gzip
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hits.ranking.data import Comparisons
from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.readers.languages import pair_in_name
from hits.ranking.scores.data import SegmentScores
from hits.records import Assignment
from hits.results.answers import Results
from rypt.campaign.folder import Campaign
from rypt.text import InputError, RyptError

TABLE = "segment,system_a,system_b,winner,annotator\n1,x,y,A,anna\n2,y,z,tie,otto\n3,x,z,B,anna\n"


def outcomes(c: Comparisons) -> set[tuple[str, str, int]]:
    return {(c.systems[a], c.systems[b], int(o)) for a, b, o in zip(c.a, c.b, c.outcome, strict=True)}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def test_zipped_files_standard_input_and_pipes(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = outcomes(ComparisonFiles((table,)).read())
    zipped = tmp_path / "table.csv.gz"
    zipped.write_bytes(gzip.compress(table.read_bytes()))
    assert outcomes(ComparisonFiles((zipped,)).read()) == expected
    with open(table, encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert outcomes(ComparisonFiles(("-",)).read()) == expected
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(TABLE), daemon=True)
    writer.start()
    assert outcomes(ComparisonFiles((pipe,)).read()) == expected
    writer.join(10)
    both = ComparisonFiles((table, zipped)).read()
    assert len(both) == len(set(both.row.tolist())) == 6


@pytest.mark.parametrize(
    ("content", "options", "reason"),
    [
        (b"\n\n", {}, "an empty file"),
        (gzip.compress(TABLE.encode() * 100)[:-20], {}, r":\d+: expected a whole gzip file"),
        (None, {}, "No such file"),
        (TABLE.replace("B,anna", "nobody,anna").replace("\n", "\r").encode(), {}, ":4: "),
        (TABLE.replace("A,anna\n", "A,anna\r").encode(), {}, ":2: expected lines that end with a line feed"),
        (TABLE.encode(), {"judges": "eve"}, "judges called eve, found anna, otto"),
        (TABLE.encode(), {"exclude": ("q",)}, "systems x, y, z, found 'q'"),
        (TABLE.encode(), {"standardize": True}, "expected segment scores to standardise"),
        (TABLE.encode(), {"languages": "cs-en"}, "expected rows of cs-en, found no languages"),
    ],
)
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, content: bytes | None, options: dict[str, Any], reason: str
) -> None:
    path = tmp_path / ("broken.gz" if content and content.startswith(b"\x1f") else "broken.csv")
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RyptError, match=reason):
        ComparisonFiles((path,), **options).read()


def test_judges_systems_and_carriage_returns(table: Path) -> None:
    assert len(ComparisonFiles((table,), judges="an*").read()) == 2
    assert ComparisonFiles((table,), exclude=("x",)).read().systems == ("y", "z")
    table.write_bytes(TABLE.replace("\n", "\r").encode())  # as old spreadsheets end lines
    assert len(ComparisonFiles((table,)).read()) == 3


def test_comparisons_and_scores_are_not_joined(table: Path, tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text("system,segment,score,rater\nx,1,3,r\ny,1,1,r\nx,2,5,r\ny,2,4,s\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected comparisons or scores, found both"):
        ComparisonFiles((table, scores)).parts()
    assert outcomes(ComparisonFiles((scores,)).read()) == {("x", "y", 1)}
    assert ComparisonFiles((scores,), tie=1).read().outcome.tolist() == [1, 0]
    data = ComparisonFiles((scores,), standardize=True).part().data
    assert isinstance(data, SegmentScores)
    assert data.standardized


NAMED = [
    ("wmt10.Czech-English", "Czech-English"),
    ("newstest2014-cs_CZ-en.csv", "cs-en"),
    ("mqm_newstest2021_zhen.tsv.gz", "zh-en"),
    ("ces_Latn-deu_Latn", "ces-deu"),
    ("ranks-2-of-4.csv", ""),
    ("the-best-of-us", ""),
]


@pytest.mark.parametrize(("name", "pair"), NAMED)
def test_language_pairs_in_names_of_files(name: str, pair: str) -> None:
    assert pair_in_name(Path("some-where", name)) == pair


def test_language_pairs_are_parts(tmp_path: Path) -> None:
    """Those in the rows, or else in the name of the file, however they are spelled."""
    rows, named = tmp_path / "rows.csv", tmp_path / "wmt.English-Czech"
    rows.write_text(
        "source_lang,target_lang,a,b,winner\nen,cs,x,y,A\neng,ces,x,y,B\nen,de,x,z,A\n", encoding="utf-8"
    )
    named.write_text("x y 1 0 0\n_ref x 9 0 0\n", encoding="utf-8")
    parts = ComparisonFiles((rows, named)).parts()
    assert [(p.languages, len(p.data), len(p.paths)) for p in parts] == [("en-cs", 12, 2), ("en-de", 1, 1)]
    excluded = ComparisonFiles((rows, named), exclude=("_ref",)).parts()
    assert [part.data.systems for part in excluded] == [("x", "y"), ("x", "z")]
    assert len(ComparisonFiles((rows,), languages="English-German").read()) == 1
    joined = ComparisonFiles((rows, named), languages="all").part()
    assert (joined.languages, len(joined.data)) == ("", 13)
    for languages, reason in ((None, "expected one pair of languages"), ("cs-en", "expected rows of cs-en")):
        with pytest.raises(InputError, match=rf"{reason}, found en-cs, en-de"):
            ComparisonFiles((rows,), languages=languages).read()


def test_a_campaigns_database(demo_campaign: Path, tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    shutil.copytree(demo_campaign, folder)
    with pytest.raises(InputError, match=r"expected comparisons, found none .*rypt hits collect"):
        ComparisonFiles((folder,)).read()
    lines = [
        f'{{"segment": "1", "system": "{s}", "score": {i}, "better": "lower"}}\n' for i, s in enumerate("xy")
    ]
    (folder / "scores.jsonl").write_text("".join(lines), encoding="utf-8")
    assert outcomes(ComparisonFiles((folder,)).read()) == {("x", "y", 1)}  # made from ratings
    campaign = Campaign.open(folder)
    columns = {"item": "r-1", "segment": campaign.segments[0].id, "size": "3", "control": ""}
    columns |= {f"system_{i}": f"s{i}" for i in range(1, 4)} | {
        f"candidate_{i}": f"t{i}" for i in range(1, 4)
    }
    answer = Assignment(
        batch="batch",
        item="r-1",
        hit="hit",
        id="assignment",
        worker="worker",
        fields={"rank_1": "1", "rank_2": "3", "rank_3": "3"},
    )
    with campaign.database(readonly=False) as db:
        Results(db).add([replace(answer, columns=columns)])
        path = db.path
    for place in (folder, path):
        counted = ComparisonFiles((place,)).read()
        assert outcomes(counted) == {("s1", "s2", 1), ("s1", "s3", 1), ("s2", "s3", 0)}
        assert (np.unique(counted.row).tolist(), counted.workers) == ([0], ("worker",))
