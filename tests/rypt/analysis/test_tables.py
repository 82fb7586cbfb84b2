"""Analyses as text."""

from math import nan

from rypt.analysis.agreement import Agreement
from rypt.analysis.curve import Accuracies, CurvePoint
from rypt.analysis.redundancy import ListCounts, PhraseReuse, Redundancy
from rypt.analysis.tables import agreement_text, curve_table, models_table, redundancy_table, reuse_text

POINT = CurvePoint(
    4,
    0.344,
    0.707,
    0.3,
    0.063,
    0.91,
    nan,
    Accuracies(1234, 0.812, 0.843, 0.845),
    Accuracies(5678, 0.7, 0.71, 0.72),
)


def test_curve_in_per_cent_with_dashes_for_what_is_not_known():
    row = curve_table([POINT]).splitlines()[-1].split()
    assert row == ["4", "34.4", "70.7", "30.0", "6.3", "84.3", "91.0", "-", "81.2"]


def test_models():
    row = models_table([POINT]).splitlines()[-1].split()
    assert row == ["4", "1,234", "81.2", "84.3", "84.5", "5,678", "70.0", "71.0", "72.0"]


def test_redundancy_has_a_row_for_each_list_and_one_for_all():
    one = ListCounts("1.nbest", 10, 9, PhraseReuse(100, 50, 5, 20), PhraseReuse(40, 10, 4, 8))
    text = redundancy_table(Redundancy(4, [one, one], ListCounts("all", 20, 18)))
    assert text.splitlines()[2].split() == ["1.nbest", "10", "9", "100", "50", "40", "10", "4"]
    assert text.splitlines()[-1].split()[:3] == ["all", "20", "18"]
    assert len(redundancy_table(Redundancy(4, [one], one)).splitlines()) == 3
    said = reuse_text(Redundancy(4, [one], one))
    assert (
        "40 phrases, 10 different (25.0%), 1.25 a constituent; one label serves 4.0 places; 4 have a label"
        in said
    )
    assert "no phrases" in reuse_text(Redundancy(4, [], ListCounts("all")))


def test_agreement():
    assert agreement_text(Agreement(0, 0, nan, nan, 4, 5, nan)) == "agreement: no judgments"
    said = agreement_text(Agreement(10, 50, 0.5, nan, 4, 5, 0.689))
    assert said.endswith("alpha 0.500, mean pairwise kappa -, at least 4 of 5 agree on 68.9%")
