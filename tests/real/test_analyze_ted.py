"""``rypt analyze`` on public human judgments: a campaign with one list for each system."""

from pathlib import Path

import pytest

from rypt.analysis.campaign import Analysis, analyze
from rypt.campaign.folder import Campaign

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def by_system(ted: Path) -> Analysis:
    return analyze(
        Campaign.open(ted), hold_out="system", judged_only=["ref"], splits=2, seed=3, ties="no", longest=4
    )


def test_redundancy_is_that_of_the_replication(by_system: Analysis) -> None:
    total = by_system.redundancy.total
    assert (total.everywhere.occurrences, total.everywhere.unique) == (203_266, 46_924)
    assert (total.frontier.occurrences, total.frontier.unique) == (78_850, 12_117)
    assert total.frontier.phrases_each == pytest.approx(1.88, abs=0.005)
    assert total.frontier.labelled == total.frontier.unique  # every phrase of every system was judged
    new = [one.frontier.unique for one in by_system.redundancy.lists]
    assert (total.candidates, len(new)) == (13 * 529, 13)
    assert new[0] > 2 * new[-1]  # later lists need fewer labels
    assert by_system.notes == ["judged but without a list, so never scored: ref"]


def test_curve_is_that_of_the_replication(by_system: Analysis) -> None:
    curve = by_system.curve
    assert [100 * p.before for p in curve] == pytest.approx([52.8, 45.9, 39.1, 34.4], abs=0.7)
    assert [100 * p.after for p in curve] == pytest.approx([62.6, 67.9, 70.1, 70.7], abs=1.5)
    at_4 = curve[3]
    assert 100 * at_4.percolated.percolation == pytest.approx(84.3, abs=2.5)
    assert 100 * at_4.percolated.always_yes == pytest.approx(81.2, abs=2)
    assert at_4.from_yes > at_4.from_no  # the paper: most of the benefit comes from YES
    assert at_4.unlabelled.checked > at_4.percolated.checked
    for found in (at_4.percolated, at_4.unlabelled):
        assert found.table > found.always_yes


def test_raters_are_held_out_too(ted: Path, tmp_path: Path) -> None:
    """Raters see different candidates; where they judge one phrase, they agree more than chance."""
    found = analyze(Campaign.open(ted), hold_out="worker", splits=1, seed=1, longest=4, models=False)
    assert found.held_out is not None
    assert found.held_out.way == "worker"
    assert 0 < found.agreement.alpha < 1
    at_4 = found.curve[3]
    assert at_4.percolated.checked > 10_000
    assert at_4.percolated.percolation > at_4.percolated.always_yes - 0.05
    found.plot(tmp_path / "ted.svg")
    assert (tmp_path / "ted.svg").stat().st_size > 10_000
