"""Pictures: what they show, read back from matplotlib's own objects where it matters."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hits.ranking import plot
from hits.ranking.data import from_counts
from hits.ranking.model import read_model
from hits.ranking.result import Confidence, Ranked, RankedGroup, rank_systems
from hits.ranking.table import table_order
from rypt import picture
from rypt.text import RyptError

WINS = np.array([[0, 90, 95, 99], [30, 0, 61, 80], [25, 60, 0, 82], [5, 15, 11, 0]])
DATA = from_counts(("x.best", "x.mid1", "x.mid2", "x.worst"), WINS, 20 - 20 * np.eye(4))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch):
    """The figures, for a look inside."""
    figures = []

    def new_figure(width, height):
        figures.append(picture.new_figure(width, height))
        return figures[-1]

    monkeypatch.setattr(plot, "new_figure", new_figure)
    return figures


def ranked(**how):
    return rank_systems(DATA, read_model("expected-wins"), np.random.default_rng(1), Confidence(**how))


def rank_lines(panel) -> list[tuple[float, float]]:
    """From where to where the line of each system reaches."""
    (lines,) = [group for group in panel.collections if group.get_label() == "range of ranks"]
    return [(path.vertices[0][0], path.vertices[1][0]) for path in lines.get_paths()]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_lines_are_the_ranges_of_the_table(tmp_path: Path, drawn, ending: str) -> None:
    path = tmp_path / f"ranks.{ending}"
    rankings = ranked(samples=200)
    plot.plot_ranks(path, rankings)
    assert path.read_bytes().startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending])
    panel, scores = drawn[0].axes
    systems = table_order(rankings[0])
    assert [label.get_text() for label in panel.get_yticklabels()] == ["best", "mid1", "mid2", "worst"]
    assert (
        rank_lines(panel)
        == [(system.low, system.high) for system in systems]
        == [(1, 1), (2, 3), (2, 3), (4, 4)]
    )
    low, high = panel.get_ylim()
    assert low > high
    points = next(line for line in scores.lines if line.get_marker() == "D")
    assert points.get_xdata().tolist() == [system.score for system in systems]
    left, right = scores.get_xlim()
    assert left > right  # the best score is on the left, as the best rank is


def test_extremes_of_the_resamples_are_not_drawn(tmp_path: Path, drawn) -> None:
    """One resample of 100 that puts the last system first is outside the range, and outside the picture."""
    ranks = np.tile([1.0, 2.0, 3.0], (100, 1))
    ranks[0] = [2.0, 3.0, 1.0]
    systems = tuple(
        Ranked(name, score, i, i, i, i)
        for i, (name, score) in enumerate([("a", 3.0), ("b", 2.0), ("c", 1.0)], 1)
    )
    plot.plot_ranks(tmp_path / "ranks.svg", [RankedGroup("m", "", systems, ranks)])
    panel = drawn[0].axes[0]
    assert rank_lines(panel) == [(1, 1), (2, 2), (3, 3)]
    boxes = [bar for bar in panel.patches if bar.get_height() < 0.5]
    assert [(bar.get_x() + bar.get_width() / 2) for bar in boxes] == pytest.approx([1, 2, 3])


def test_boxes_stay_inside_the_range(tmp_path: Path, drawn) -> None:
    ranks = np.column_stack([np.repeat([1.0, 2.0], [80, 20]), np.repeat([2.0, 1.0], [80, 20])])
    systems = (Ranked("a", 2.0, 1, 1, 2, 1), Ranked("b", 1.0, 2, 1, 2, 1))
    plot.plot_ranks(tmp_path / "ranks.svg", [RankedGroup("m", "", systems, ranks)])
    for bar in [bar for bar in drawn[0].axes[0].patches if bar.get_height() < 0.5]:
        assert bar.get_x() >= 1
        assert bar.get_x() + bar.get_width() <= 2


def test_clusters_are_bands(tmp_path: Path, drawn) -> None:
    rankings = ranked(samples=200)
    plot.plot_ranks(tmp_path / "ranks.svg", rankings)
    assert plot.cluster_bands(rankings[0]) == [(1, 1), (2, 3), (4, 4)]
    bands = [patch for patch in drawn[0].axes[0].patches if patch.get_height() >= 1]
    assert [(band.get_y(), band.get_y() + band.get_height()) for band in bands] == [(0.5, 1.5), (3.5, 4.5)]


def test_ranges_by_tests_have_no_boxes(tmp_path: Path, drawn) -> None:
    plot.plot_ranks(tmp_path / "ranks.svg", ranked(method="sign-test"))
    panel = drawn[0].axes[0]
    assert rank_lines(panel) == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert not [bar for bar in panel.patches if bar.get_height() < 0.5]


def test_thirty_names_do_not_overlap(tmp_path: Path, drawn) -> None:
    systems = tuple(Ranked(f"a-system-with-a-long-name-{i:02d}", -float(i), i, i, i, i) for i in range(1, 31))
    plot.plot_ranks(tmp_path / "ranks.png", [RankedGroup("m", "", systems)])
    drawn[0].draw_without_rendering()
    boxes = [label.get_window_extent() for label in drawn[0].axes[0].get_yticklabels()]
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0


def test_curves(tmp_path: Path, drawn) -> None:
    curves = {"a": [(100, 3.0), (200, 2.5)], "b": [(100, 2.9)]}
    plot.plot_curves(tmp_path / "curves.svg", ["perplexity"], [curves], "comparisons")
    lines = drawn[0].axes[0].lines
    assert [line.get_xydata().tolist() for line in lines] == [[[100, 3.0], [200, 2.5]], [[100, 2.9]]]


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    with pytest.raises(RyptError, match=r"expected a name ending in .svg, .png, .pdf"):
        plot.plot_ranks(tmp_path / "ranks.gif", ranked())
    with pytest.raises(RyptError, match="needs rank ranges"):
        plot.plot_ranks(tmp_path / "ranks.svg", ranked(method="none"))
    with pytest.raises(RyptError, match="its folder does not exist"):
        plot.plot_ranks(tmp_path / "nowhere" / "ranks.svg", ranked())
    assert plot.cluster_bands(RankedGroup("m", "", (Ranked("a", 1.0, 1, None, None, None),))) == []


def test_the_legend_hides_no_range(tmp_path: Path, drawn) -> None:
    """It stands below the panels, once, whatever ranges the first systems have."""
    plot.plot_ranks(tmp_path / "ranks.png", [*ranked(samples=200), *ranked(samples=200)])
    (legend,) = drawn[0].legends
    assert {text.get_text() for text in legend.get_texts()} == {
        "range of ranks",
        "middle half",
        "score (upper axis)",
    }
    box = legend.get_window_extent()
    assert all(
        panel.get_legend() is None and panel.get_window_extent().y0 > box.y1 for panel in drawn[0].axes
    )
