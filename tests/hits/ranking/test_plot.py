"""Pictures: what they show, read back from matplotlib's own objects where it matters."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hits.ranking import plot
from hits.ranking.confidence import Confidence
from hits.ranking.data import from_counts
from hits.ranking.model import read_model
from hits.ranking.result import RankedGroup, rank_systems
from hits.ranking.table import score_intervals
from rypt import picture
from rypt.text import RyptError

WINS = np.array([[0, 90, 95, 99], [30, 0, 61, 80], [25, 60, 0, 82], [5, 15, 11, 0]])
DATA = from_counts(("x.best", "x.mid1", "x.mid2", "x.worst"), WINS, 20 - 20 * np.eye(4))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures, for a look inside."""
    figures = []

    def new_figure(width: float, height: float) -> Any:
        figures.append(picture.new_figure(width, height))
        return figures[-1]

    monkeypatch.setattr(plot, "new_figure", new_figure)
    return figures


def ranked(**how: Any) -> RankedGroup:
    (group,) = rank_systems(DATA, read_model("expected-wins"), np.random.default_rng(1), Confidence(**how))
    return group


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_scores_intervals_and_clusters(tmp_path: Path, drawn: list[Any], ending: str, start: bytes) -> None:
    path = tmp_path / f"ranks.{ending}"
    ranking = ranked(samples=200)
    plot.plot_ranking(path, [ranking])
    assert path.read_bytes().startswith(start)
    (panel,) = drawn[0].axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["best", "mid1", "mid2", "worst"]
    points = next(line for line in panel.lines if line.get_marker() == "o")
    assert list(points.get_xdata()) == [system.score for system in ranking.systems]
    (lines,) = panel.collections
    intervals = [(path.vertices[0][0], path.vertices[1][0]) for path in lines.get_paths()]
    assert intervals == [score_intervals(ranking)[system.system] for system in ranking.systems]
    bands = [(patch.get_y(), patch.get_y() + patch.get_height()) for patch in panel.patches]
    assert bands == [(0.5, 1.5), (3.5, 4.5)]
    top, bottom = panel.get_ylim()
    assert top > bottom  # the best is at the top


def test_the_best_is_on_the_right_where_less_is_better(tmp_path: Path, drawn: list[Any]) -> None:
    penalties = replace(ranked(), score="MQM ↓", descending=False, title="en-de")
    plot.plot_ranking(tmp_path / "ranks.svg", [penalties, ranked(method="none")])
    first, second = drawn[0].axes
    assert first.get_xlim()[0] > first.get_xlim()[1]
    assert "en-de" in first.get_title(loc="left")
    assert "MQM ↓" in first.get_xlabel()
    assert not second.patches
    assert not second.collections  # no ranges, no intervals


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    for name, reason in (("ranks.gif", ".svg"), ("nowhere/ranks.svg", "its folder does not exist")):
        with pytest.raises(RyptError, match=reason):
            plot.plot_ranking(tmp_path / name, [ranked()])
