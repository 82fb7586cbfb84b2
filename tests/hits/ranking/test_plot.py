"""Pictures: what they show, read back from matplotlib's own objects where it matters."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hits.ranking import plot
from hits.ranking.confidence import Confidence
from hits.ranking.data import from_counts
from hits.ranking.model import read_model
from hits.ranking.result import Ranked, RankedGroup, rank_systems
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


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_scores_intervals_and_clusters(tmp_path: Path, drawn: list[Any], ending: str) -> None:
    path = tmp_path / f"ranks.{ending}"
    ranking = ranked(samples=200)
    plot.plot_ranking(path, [ranking])
    assert path.read_bytes().startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending])
    (panel,) = drawn[0].axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["best", "mid1", "mid2", "worst"]
    assert panel.get_title(loc="left") == "4 systems, 3 clusters"
    assert panel.get_xlabel() == "expected wins, with 95 % intervals"
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
    assert first.get_title(loc="left") == "en-de: 4 systems, 3 clusters"
    assert first.get_xlabel().startswith("mean MQM ↓")
    assert second.get_title(loc="left") == "4 systems"
    assert not second.patches
    assert not second.collections  # no ranges, no intervals


def test_thirty_names_do_not_overlap(tmp_path: Path, drawn: list[Any]) -> None:
    systems = tuple(Ranked(f"a-system-with-a-long-name-{i:02d}", -float(i), i, i, i, i) for i in range(1, 31))
    plot.plot_ranking(tmp_path / "ranks.png", [RankedGroup("m", "", systems)])
    drawn[0].draw_without_rendering()
    boxes = [label.get_window_extent() for label in drawn[0].axes[0].get_yticklabels()]
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0


def test_curves(tmp_path: Path, drawn: list[Any]) -> None:
    curves = {"a": [(100, 3.0), (200, 2.5)], "b": [(100, 2.9)], "none": []}
    plot.plot_curves(tmp_path / "curves.svg", ["perplexity"], [curves], "comparisons")
    lines = drawn[0].axes[0].lines
    assert [line.get_xydata().tolist() for line in lines] == [[[100, 3.0], [200, 2.5]], [[100, 2.9]], []]


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RyptError, match=r"expected a name ending in .svg, .png, .pdf"):
        plot.plot_ranking(tmp_path / "ranks.gif", [ranked()])
    with pytest.raises(RyptError, match="its folder does not exist"):
        plot.plot_ranking(tmp_path / "nowhere" / "ranks.svg", [ranked()])
