"""Pictures: what they show, read back from matplotlib's own objects where it matters."""

from pathlib import Path

import numpy as np
import pytest

from hits.ranking import plot
from hits.ranking.data import from_counts
from hits.ranking.heatmap import heatmap
from hits.ranking.model import read_model
from hits.ranking.models.trueskill import TrueSkill
from hits.ranking.result import Confidence, Ranked, RankedGroup, rank_systems
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


def test_boxes_and_cluster_lines(tmp_path: Path, drawn) -> None:
    path = tmp_path / "ranks.png"
    rankings = ranked(samples=200)
    plot.plot_ranks(path, rankings)
    assert path.read_bytes().startswith(b"\x89PNG")
    (panel,) = drawn[0].axes
    assert [label.get_text() for label in panel.get_xticklabels()] == ["best", "mid1", "mid2", "worst"]
    dashed = [line.get_ydata()[0] for line in panel.lines if line.get_linestyle() == "--"]
    assert dashed == plot.cluster_edges(rankings[0]) == [1.5, 3.5]
    low, high = panel.get_ylim()
    assert low > high
    means = [
        line.get_ydata()[0] for line in panel.lines if line.get_color() == "tab:red" and line.get_linestyle() == "-"
    ]
    assert means == pytest.approx(rankings[0].rank_samples.mean(axis=0))


def test_ranges_by_sign_tests_are_bars(tmp_path: Path, drawn) -> None:
    plot.plot_ranks(tmp_path / "ranks.svg", ranked(method="sign-test"))
    bars = drawn[0].axes[0].patches
    assert [(bar.get_y() + 0.25, bar.get_y() + bar.get_height() - 0.25) for bar in bars] == [
        (1, 1),
        (2, 3),
        (2, 3),
        (4, 4),
    ]


def test_a_heatmap_has_three_panels(tmp_path: Path, drawn) -> None:
    table = heatmap(DATA, TrueSkill(order="select", games=500, runs=2), np.random.default_rng(1))
    plot.plot_heatmap(tmp_path / "heat.pdf", table)
    images = [axes.images[0].get_array() for axes in drawn[0].axes if axes.images]
    assert len(images) == 3
    assert np.asarray(images[2]) == pytest.approx(100 * table.last)


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
    assert plot.cluster_edges(RankedGroup("m", "", (Ranked("a", 1.0, 1, None, None, None),))) == []
