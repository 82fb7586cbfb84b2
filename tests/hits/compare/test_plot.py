"""Pictures of comparisons."""

import pytest

from hits.compare.plot import plot_outcomes, plot_preferences
from hits.compare.preferences import Preferences
from rypt.picks.outcome import Outcome, PickComparison

OUTCOME = Outcome("rypt", "bleu", 0.25, 0.6, 0.15, 0.1, 0.02, 0.18, 0.01, 529)


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_outcomes_are_drawn(tmp_path, suffix, start):
    plot_outcomes(tmp_path / f"o.{suffix}", PickComparison([OUTCOME, OUTCOME], {}, 3))
    assert (tmp_path / f"o.{suffix}").read_bytes().startswith(start)


@pytest.mark.slow
def test_pictures_say_what_is_simulated_and_what_people_saw(tmp_path):
    played = Preferences("rypt", "bleu", {"1": (3, 0, 0)}, reference="hidden", simulated=3)
    plot_preferences(tmp_path / "p.svg", [played])
    plot_outcomes(tmp_path / "o.svg", PickComparison([OUTCOME], {}, 3), note="SIMULATED: all of it")
    for said in ("SIMULATED: 3 of 3 preferences", "reference hidden: 3 judgments"):
        assert said in (tmp_path / "p.svg").read_text()
    assert "SIMULATED: all of it" in (tmp_path / "o.svg").read_text()
