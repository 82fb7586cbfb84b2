"""References, and RYPT from a campaign."""

import numpy as np
import pytest

from mert.lists import arrange
from mert.metric import Rypt, read_references
from rypt.campaign import Campaign
from rypt.nbest import RawCandidate
from rypt.report import score_report
from rypt.text import InputError, RyptError


def test_references_must_have_equal_lengths(tmp_path):
    (tmp_path / "ref.0").write_text("a\nb\n")
    (tmp_path / "ref.1").write_text("a\n")
    with pytest.raises(InputError, match=r"ref\.1:1: expected 2 lines"):
        read_references([tmp_path / "ref.0", tmp_path / "ref.1"])


def test_rypt_of_a_campaign_is_what_rypt_score_says(demo_campaign):
    campaign = Campaign.open(demo_campaign)
    metric = Rypt.from_campaign(demo_campaign)
    rows = [RawCandidate(c.segment, c.text, c.alignment, c.features, c.score) for c in campaign.candidates]
    lists = arrange(rows)
    stats = metric.stats(lists)
    first = lists.offsets[:-1]
    report = score_report(metric.scorer, campaign.candidates)
    assert metric.score(stats[first].sum(axis=0, keepdims=True))[0] == pytest.approx(report.score)
    with pytest.raises(RyptError, match="segment '99' of the list is not in the campaign"):
        metric.stats(arrange([RawCandidate("99", "x", "", {}, None)]))
    assert np.issubdtype(stats.dtype, np.integer)
