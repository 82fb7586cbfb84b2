"""Ranking files from Python: one call, a value that prints, writes and says how it came about."""

import csv
import json
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import hits.ranking.model
from hits.cli.rank.group import rank as command
from hits.ranking.confidence import Confidence
from hits.ranking.data import Comparisons
from hits.ranking.model import Fitted, sign
from hits.ranking.rank import rank
from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.side_by_side import rank_side_by_side
from rypt.options import Options
from rypt.text import InputError, RyptError

SCORES = "system,segment,score\n" + "".join(
    f"{s},{i},{v + i % 3}\n" for i in range(30) for s, v in (("x", 80), ("y", 70))
)
COUNTS = "uedin cu 30 2 5\nuedin jhu 28 3 6\ncu jhu 12 4 11\n"


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    path = tmp_path / "counts.txt"
    path.write_text(COUNTS, encoding="utf-8")
    return path


def test_one_call_ranks_a_file(counts: Path) -> None:
    table = rank(counts, "bradley-terry", confidence=Confidence(samples=50))
    assert (table.systems[0].system, table.systems[0].low, table.systems[0].high) == ("uedin", 1, 1)
    assert table.clusters == 2
    assert table.signature.startswith("bradley-terry|")
    assert table.signature.endswith("|seed:1")
    assert repr(table).splitlines()[-1] == table.signature
    one, again, other = (
        rank(ComparisonFiles((counts,), seed=seed), "trueskill:runs=3", confidence=Confidence("none"))
        for seed in (1, 1, 2)
    )
    assert one.as_dict() == again.as_dict() != other.as_dict()


def test_one_default_for_the_function_and_the_command(counts: Path, tmp_path: Path) -> None:
    """Expected Wins for comparisons, the mean for scores, whatever files are ranked together."""
    (tmp_path / "esa.en-de.csv").write_text(SCORES, encoding="utf-8")
    (tmp_path / "pairs.cs-en").write_text(COUNTS, encoding="utf-8")
    together = rank([tmp_path / "esa.en-de.csv", tmp_path / "pairs.cs-en"])
    assert [group.model for group in together.groups] == ["mean", "expected-wins"]
    alone = rank(tmp_path / "pairs.cs-en")
    assert alone.groups[0].signature == together.groups[1].signature
    printed = CliRunner().invoke(command, [str(tmp_path / "pairs.cs-en"), "--json", "-q"])
    assert json.loads(printed.stdout) == json.loads(json.dumps(alone.as_dict()))


def test_a_table_is_written_by_the_ending_of_the_file(counts: Path, tmp_path: Path) -> None:
    table = rank(counts, "expected-wins", confidence=Confidence(samples=50))
    for ending in ("csv", "json", "tex", "svg"):
        table.write(tmp_path / f"ranks.{ending}")
        assert "uedin" in (tmp_path / f"ranks.{ending}").read_text(encoding="utf-8")
    with open(tmp_path / "ranks.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["system"], int(row["rank"])) for row in rows] == [(s.system, s.rank) for s in table.systems]
    assert json.loads((tmp_path / "ranks.json").read_text(encoding="utf-8")) == table.as_dict()
    with pytest.raises(InputError, match=r"ranks\.doc: expected "):
        table.write(tmp_path / "ranks.doc")


class FewestLosses:
    """A model of another package."""

    name = "fewest-losses"

    def __init__(self, options: Options) -> None:
        pass

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        losses = comparisons.counts()[0].sum(axis=0)
        return Fitted(comparisons.systems, -losses.astype(np.float64), sign(self.name, comparisons))


def test_a_model_of_another_package(counts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("fewest-losses", f"{__name__}:FewestLosses", "rypt.ranking_models")
    known = {"fewest-losses": [entry]}
    monkeypatch.setattr(hits.ranking.model, "entry_points", lambda group, name: known.get(name, []))
    table = rank(counts, "fewest-losses", confidence=Confidence(samples=20))
    assert table.systems[0].system == "uedin"
    with pytest.raises(RyptError, match="the model fewest-losses has no option 'x'"):
        rank(counts, "fewest-losses", options={"x": "1"})
    with pytest.raises(RyptError, match=r"expected a model expected-wins, .* found 'no-such-model'"):
        rank(counts, "no-such-model")


# a wins more often, but mostly against c; b beats a: ratio of wins and share by opponent differ
CIRCLE = "a b 10 0 14\na c 90 0 10\nb c 12 0 10\n"


@pytest.mark.slow
def test_several_models_have_their_tables_and_a_line_of_agreement(tmp_path: Path) -> None:
    (tmp_path / "counts").write_text(CIRCLE, encoding="utf-8")
    files = ComparisonFiles((tmp_path / "counts",))
    labels = ["bojar", "mfas:list=2", "expected-wins"]
    both = rank_side_by_side(files, labels, confidence=Confidence(samples=100))
    assert ["".join(s.system for s in table.systems) for table in both.tables] == ["abc", "bac", "abc"]
    text = both.as_table()
    assert "bojar and mfas:list=2 order 66.7% of 3 pairs of systems alike, Kendall's tau 0.333" in text
    assert all(table.groups[0].signature in text for table in both.tables)
    record = json.loads(json.dumps(both.as_dict()))
    assert [model["label"] for model in record["models"]] == labels
    assert [round(each["accuracy"], 3) for each in record["agreements"]] == [0.667, 1.0, 0.667]
    for ending in ("md", "html", "tex", "csv", "json", "txt", "svg"):
        both.write(tmp_path / f"both.{ending}")
        assert "bojar" in (tmp_path / f"both.{ending}").read_text(encoding="utf-8")


@pytest.mark.parametrize("models", [["bojar", "x"], ["bojar:y=1", "mfas"], ["bojar", "bojar"]])
def test_wrong_models_are_reported_before_anything_is_read(models: list[str]) -> None:
    with pytest.raises(RyptError, match=r"found 'x'|the model bojar has no option|every model once"):
        rank_side_by_side(ComparisonFiles(("nowhere",)), models)
