"""The candidate that a metric puts first."""

import pytest
import sacrebleu
from systems_world import make

from rypt.campaign.folder import Campaign
from rypt.picks.choose import Chooser
from rypt.picks.metrics import parse_pick_metric


@pytest.fixture(scope="module")
def chooser(demo_campaign):
    return Chooser(Campaign.open(demo_campaign))


def test_bleu_picks_by_sentence_bleu(chooser):
    found = chooser.picks(parse_pick_metric("bleu"))
    campaign = chooser.campaign
    assert set(found) == {segment.id for segment in campaign.segments}
    reference = {s.id: text for s, text in zip(campaign.segments, campaign.references[0], strict=True)}
    for segment, pick in found.items():
        texts = [c.text for c in campaign.candidates if c.segment == segment]
        scores = [sacrebleu.sentence_bleu(text, [reference[segment]]).score / 100 for text in texts]
        assert pick.score == pytest.approx(max(scores))
    assert "tok:13a" in chooser.signatures["bleu"]


def test_lists_that_are_judged_only_are_not_picked_from(tmp_path):
    campaign = make(tmp_path / "c", systems=4, segments=10)
    best = Chooser(campaign).picks(parse_pick_metric("bleu"))
    lists = {str(name): {c.segment: c.text for c in own} for name, own in campaign.lists}
    chooser = Chooser(campaign, judged_only=["sys0", "sys2"])
    found = chooser.picks(parse_pick_metric("bleu"))
    assert all(
        pick.candidate.text in (lists["sys1.jsonl"][s], lists["sys3.jsonl"][s]) for s, pick in found.items()
    )
    assert any(pick.score < best[s].score for s, pick in found.items())
