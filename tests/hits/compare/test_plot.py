"""Pictures of comparisons."""

from dataclasses import replace

import pytest

from hits.compare.plot import plot_outcomes, plot_preferences
from hits.compare.preferences import Preferences
from rypt.picks.outcome import Outcome, PickComparison

OUTCOME = Outcome("rypt", "bleu", 0.25, 0.6, 0.15, 0.1, 0.02, 0.18, 0.01, 529)


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_outcomes_are_drawn(tmp_path, suffix, start):
    plot_outcomes(tmp_path / f"o.{suffix}", PickComparison([OUTCOME, OUTCOME], {}, 3))
    assert (tmp_path / f"o.{suffix}").read_bytes().startswith(start)


def test_what_stands_below_the_axis_fits_beside_long_names(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr("hits.compare.plot.save_picture", lambda figure, path: figures.append(figure))
    long = replace(OUTCOME, metric="rypt:severity+0.2*chrf+2*system", baseline="rypt:severity+0.2*chrf")
    plot_outcomes(tmp_path / "o.png", PickComparison([long], {}, 3))
    for figure in figures:
        figure.draw_without_rendering()
        texts = [*figure.texts, *(text for axes in figure.axes for text in axes.get_yticklabels())]
        assert any(text.get_text().startswith("better - worse") for text in texts)
        for text in texts:
            extent = text.get_window_extent()
            assert 0 <= extent.x0 < extent.x1 <= figure.bbox.width


def test_pictures_say_what_is_simulated_and_what_people_saw(tmp_path):
    played = Preferences("rypt", "bleu", {"1": (3, 0, 0)}, reference="hidden", simulated=3)
    plot_preferences(tmp_path / "p.svg", [played])
    plot_outcomes(tmp_path / "o.svg", PickComparison([OUTCOME], {}, 3), note="SIMULATED: all of it")
    assert "SIMULATED: 3 of 3 preferences" in (tmp_path / "p.svg").read_text()
    assert "reference hidden: 3 judgments" in (tmp_path / "p.svg").read_text()
    assert "SIMULATED: all of it" in (tmp_path / "o.svg").read_text()
