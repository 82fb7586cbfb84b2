"""Several models on the same data: their ranks in one table, and what they disagree on."""

import json
from pathlib import Path

import numpy as np
import pytest

from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.result import Confidence, Ranked, RankedGroup
from hits.ranking.side_by_side import gap_errors, rank_side_by_side
from rypt.text import RyptError

# a wins more often, but mostly against c; b beats a: ratio of wins and share by opponent differ
COUNTS = "a b 10 0 14\na c 90 0 10\nb c 12 0 10\n"


@pytest.fixture
def files(tmp_path: Path) -> ComparisonFiles:
    (tmp_path / "counts").write_text(COUNTS, encoding="utf-8")
    return ComparisonFiles((tmp_path / "counts",))


def test_ranks_of_each_model_and_where_they_disagree(files: ComparisonFiles) -> None:
    both = rank_side_by_side(files, ["bojar", "mfas", "expected-wins"], confidence=Confidence(samples=300))
    assert [[s.system for s in table.systems] for table in both.tables] == [
        ["a", "b", "c"],
        ["b", "a", "c"],
        ["a", "b", "c"],
    ]
    found = {(item.models, item.better, item.worse) for item in both.disagreements()}
    assert found == {(("bojar", "mfas"), "a", "b"), (("mfas", "expected-wins"), "b", "a")}
    text = both.as_table()
    columns = ["range", "cluster"]
    assert text.splitlines()[2].split() == [
        "system",
        "bojar",
        *columns,
        "mfas",
        *columns,
        "expected-wins",
        *columns,
    ]
    assert text.splitlines()[4].split()[:3] == ["a", "1", "1"]
    assert any(
        line.split()[:3] == ["a", "b", "bojar,"] and line.split()[4] == "mfas," for line in text.splitlines()
    )
    assert "2 disagreements on 9 pairs of systems" in text
    assert "bojar and mfas order 66.7% of 3 pairs of systems alike, Kendall's tau 0.333" in text
    assert text.splitlines()[-3].startswith("bojar|")
    record = json.loads(json.dumps(both.as_dict()))
    assert [model["label"] for model in record["models"]] == ["bojar", "mfas", "expected-wins"]
    assert len(record["disagreements"]) == 2
    assert len(both.records()) == 9
    assert r"order 66.7\% of 3 pairs" in both.as_table("latex")
    assert "<p>bojar and mfas order" in both.as_table("html")


def test_standard_errors_are_those_of_the_differences(files: ComparisonFiles) -> None:
    both = rank_side_by_side(files, ["bojar", "expected-wins"], confidence=Confidence(samples=500))
    group = both.tables[0].groups[0]
    errors = gap_errors(group)
    samples = group.score_samples
    assert errors[0, 1] == pytest.approx(np.std(samples[:, 0] - samples[:, 1], ddof=1))
    assert (
        "bojar and expected-wins order 100.0% of 3 pairs of systems alike, Kendall's tau 1.000"
        in both.as_table()
    )


def test_standard_errors_of_a_model_do_where_nothing_was_resampled() -> None:
    group = RankedGroup("m", "", (Ranked("a", 1.0, 1, 1, 1, 1, 3.0), Ranked("b", 0.0, 2, 2, 2, 2, 4.0)))
    assert gap_errors(group)[0, 1] == 5
    assert gap_errors(RankedGroup("m", "", (Ranked("a", 1.0, 1, 1, 1, 1),))) is None


def test_scores_by_mean_and_as_comparisons(tmp_path: Path) -> None:
    rows = [f"{s},{i},{v + i % 3}" for i in range(30) for s, v in (("x", 80), ("y", 70))]
    (tmp_path / "s.csv").write_text("system,segment,score\n" + "\n".join(rows) + "\n", encoding="utf-8")
    files = ComparisonFiles((tmp_path / "s.csv",))
    both = rank_side_by_side(files, ["mean", "bojar"], confidence=Confidence("wilcoxon", samples=50))
    assert "ranges:wilcoxon" in both.tables[0].signature
    assert "ranges:samples-50" in both.tables[1].signature  # the test is for scores
    for ending in ("md", "html", "tex", "csv", "json", "txt", "svg"):
        both.write(tmp_path / f"both.{ending}")
        assert "x" in (tmp_path / f"both.{ending}").read_text(encoding="utf-8")


def test_wrong_models_are_said_before_anything_is_read() -> None:
    nowhere = ComparisonFiles(("nowhere",))
    with pytest.raises(RyptError, match=r"expected a model .* found 'x'"):
        rank_side_by_side(nowhere, ["bojar", "x"])
    with pytest.raises(RyptError, match="the model bojar has no option"):
        rank_side_by_side(nowhere, ["bojar:y=1", "mfas"])
    with pytest.raises(RyptError, match="expected every model once"):
        rank_side_by_side(nowhere, ["bojar", "bojar"])


def test_disagreements_of_several_language_pairs_say_which(tmp_path: Path) -> None:
    for name in ("cs-en.counts", "ur-en.counts"):
        (tmp_path / name).write_text(COUNTS, encoding="utf-8")
    files = ComparisonFiles((tmp_path / "cs-en.counts", tmp_path / "ur-en.counts"))
    both = rank_side_by_side(files, ["bojar", "mfas"], confidence=Confidence("none"))
    assert [item.languages for item in both.disagreements()] == ["cs-en", "ur-en"]
    lines = both.as_table().splitlines()
    assert lines[0] == "cs-en: rank by each model, range of ranks, cluster"
    assert lines[2].split() == ["system", "bojar", "mfas"]  # without ranges
    assert any(line.split()[:3] == ["ur-en", "a", "b"] for line in lines)


def test_options_stand_below_each_other_above_their_column(files: ComparisonFiles) -> None:
    labels = ["bojar", "trueskill:order=select,games=50,runs=2"]
    text = rank_side_by_side(files, labels, confidence=Confidence("none")).as_table()
    assert [line.split()[-1] for line in text.splitlines()[2:6]] == [
        "trueskill:",
        "order=select,",
        "games=50,",
        "runs=2",
    ]
    assert max(map(len, text.splitlines()[2:9])) < 40


def test_names_are_shortened_as_in_the_table_of_all_systems(tmp_path: Path) -> None:
    """Those that models disagree on begin alike, but not all do."""
    names = {"a": "online.a", "b": "online.b", "c": "other"}
    lines = [" ".join(names.get(word, word) for word in line.split()) for line in COUNTS.splitlines()]
    (tmp_path / "counts").write_text("\n".join(lines) + "\n", encoding="utf-8")
    both = rank_side_by_side(
        ComparisonFiles((tmp_path / "counts",)), ["bojar", "mfas"], confidence=Confidence("none")
    )
    assert any(line.split()[:2] == ["online.a", "online.b"] for line in both.as_table().splitlines())
