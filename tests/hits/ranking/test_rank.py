"""Ranking files from Python: one call, a value that prints, writes and says how it came about."""

import csv
import json
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import hits.ranking.model
from hits.ranking.data import Comparisons
from hits.ranking.model import Fitted, check_fit, sign
from hits.ranking.rank import rank
from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.result import Confidence
from rypt.options import Options
from rypt.text import InputError, RyptError

COUNTS = "uedin cu 30 2 5\nuedin jhu 28 3 6\ncu jhu 12 4 11\n"


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    path = tmp_path / "counts.txt"
    path.write_text(COUNTS, encoding="utf-8")
    return path


def test_one_call_ranks_a_file(counts: Path) -> None:
    table = rank(counts, "bradley-terry", confidence=Confidence(samples=50))
    assert table.systems[0].system == "uedin"
    assert (table.systems[0].low, table.systems[0].high, table.clusters) == (1, 1, 2)
    assert table.signature.startswith("bradley-terry|")
    assert table.signature.endswith("|seed:1")
    assert repr(table).splitlines()[-1] == table.signature
    assert "uedin" in repr(table)


def test_the_default_is_trueskill_and_the_seed_decides(counts: Path) -> None:
    quick = Confidence("none")
    one, again, other = (
        rank(counts, options={"runs": "3"}, confidence=quick, seed=seed) for seed in (1, 1, 2)
    )
    assert one.signature.startswith("trueskill|")
    assert one.as_dict() == again.as_dict() != other.as_dict()


def test_several_files_and_some_of_their_comparisons(counts: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.txt"
    more.write_text("new cu 9 0 1\n", encoding="utf-8")
    quick = Confidence("none")
    assert {s.system for s in rank([counts, more], "bojar", confidence=quick).systems} == {
        "uedin",
        "cu",
        "jhu",
        "new",
    }
    files = ComparisonFiles((counts,), exclude=("jhu",), seed=7)
    table = rank(files, "bojar", confidence=quick)
    assert ([s.system for s in table.systems], table.seed) == (["uedin", "cu"], 7)


def test_systems_without_a_comparison_between_them_are_two_groups(tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("a b 3 0 1\nc d 2 0 2\n", encoding="utf-8")
    table = rank(tmp_path / "two.txt", "expected-wins", confidence=Confidence("none"))
    assert [[s.system for s in group.systems] for group in table.groups] == [["a", "b"], ["c", "d"]]
    assert table.notes[0].startswith("2 + 2 systems without any comparison between the groups")


def test_a_table_is_written_by_the_ending_of_the_file(counts: Path, tmp_path: Path) -> None:
    table = rank(counts, "expected-wins", confidence=Confidence(samples=50))
    for ending in ("csv", "json", "tex", "svg"):
        table.write(tmp_path / f"ranks.{ending}")
    with open(tmp_path / "ranks.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["system"], int(row["rank"])) for row in rows] == [(s.system, s.rank) for s in table.systems]
    assert json.loads((tmp_path / "ranks.json").read_text(encoding="utf-8")) == table.as_dict()
    assert (tmp_path / "ranks.tex").read_text(encoding="utf-8").startswith(r"\begin{tabular}")
    assert (tmp_path / "ranks.svg").stat().st_size > 1000
    with pytest.raises(InputError, match=r"ranks\.doc: expected a \.csv, \.json"):
        table.write(tmp_path / "ranks.doc")


@dataclass(frozen=True, slots=True)
class FewestLosses:
    """A model of another package."""

    name: str = "fewest-losses"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        check_fit(comparisons)
        losses = comparisons.counts()[0].sum(axis=0)
        return Fitted(comparisons.systems, -losses.astype(np.float64), sign(self.name, comparisons))


def make_fewest_losses(options: Options) -> FewestLosses:
    return FewestLosses()


def test_a_model_of_another_package(counts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("fewest-losses", f"{__name__}:make_fewest_losses", "rypt.ranking_models")
    known = {"fewest-losses": [entry]}
    monkeypatch.setattr(hits.ranking.model, "entry_points", lambda group, name: known.get(name, []))
    table = rank(counts, "fewest-losses", confidence=Confidence(samples=20))
    assert table.systems[0].system == "uedin"
    with pytest.raises(RyptError, match="the model fewest-losses has no option 'x'"):
        rank(counts, "fewest-losses", options={"x": "1"})
    with pytest.raises(RyptError, match=r"expected a model expected-wins, .* found 'no-such-model'"):
        rank(counts, "no-such-model")
