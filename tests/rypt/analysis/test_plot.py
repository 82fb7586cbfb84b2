"""Pictures of analyses."""

from math import nan

from rypt.analysis.curve import Accuracies, CurvePoint
from rypt.analysis.plot import plot_analysis, plot_curve
from rypt.analysis.redundancy import ListCounts, PhraseReuse, Redundancy

UNKNOWN = Accuracies(0, nan, nan, nan)
CURVE = [CurvePoint(n, 0.3, 0.7, 0.3, 0.1, nan, nan, Accuracies(9, 0.5, 0.6, nan), UNKNOWN) for n in (1, 2)]
LISTS = [ListCounts(f"lists/{n}.nbest.gz", 10, 5, PhraseReuse(100, 50), PhraseReuse(40, 12)) for n in (1, 2)]


def test_lines_that_are_known_are_drawn_and_named(tmp_path):
    plot_analysis(tmp_path / "a.svg", Redundancy(4, LISTS, LISTS[0]), CURVE)
    text = (tmp_path / "a.svg").read_text()
    for said in ("different ones: labels needed: 24", "always YES, percolated", "added by NO from below"):
        assert f"<!-- {said} -->" in text
    assert "table, percolated" not in text
    assert "all unlabelled" not in text


def test_redundancy_alone(tmp_path):
    plot_analysis(tmp_path / "a.svg", Redundancy(4, LISTS[:1], LISTS[0]), [])
    text = (tmp_path / "a.svg").read_text()
    assert "phrases on the frontier (4): 40" in text
    assert "maxLen" not in text


def test_a_note_stands_above(tmp_path):
    plot_analysis(tmp_path / "a.svg", Redundancy(4, LISTS, LISTS[0]), CURVE, note="SIMULATED: all of it")
    assert "<!-- SIMULATED: all of it -->" in (tmp_path / "a.svg").read_text()


def test_curve_alone(tmp_path):
    plot_curve(tmp_path / "a.png", CURVE)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
