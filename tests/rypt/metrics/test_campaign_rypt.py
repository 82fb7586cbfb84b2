"""RYPT of a campaign, as ``rypt score`` has it."""

import pickle
import shutil

import numpy as np
import pytest

from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.metrics.campaign_rypt import Rypt
from rypt.metrics.metric import Resources, read_metric
from rypt.records import Candidate
from rypt.scoring.learning import scorer_from_database
from rypt.scoring.report import score_report
from rypt.text import RyptError


def test_rypt_of_a_campaign_is_what_rypt_score_says(demo_campaign):
    campaign = Campaign.open(demo_campaign)
    metric = read_metric("rypt", Resources(campaign=demo_campaign))
    stats = metric.stats(campaign.candidates)
    report = score_report(metric.scorer, campaign.candidates)
    segments = [c.segment for c in campaign.candidates]
    first = [segments.index(segment) for segment in dict.fromkeys(segments)]
    assert metric.score(stats[first].sum(axis=0, keepdims=True))[0] == pytest.approx(report.score)
    assert np.issubdtype(stats.dtype, np.integer)
    assert (metric.maximize, metric.scale) == (True, 1.0)
    assert metric.signature == Rypt.from_campaign(demo_campaign).signature
    assert metric.stats([]).shape == (0, stats.shape[1])


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ("rypt(unknown=no)", {"unknown": "no"}),
        ("rypt(unknown=ignore,ties=yes)", {"unknown": "ignore", "ties": "yes"}),
        ("rypt(model=percolation,ties=no)", {"ties": "no"}),
        ("rypt(model=table)", {"model": "table"}),
    ],
)
def test_options_take_the_place_of_the_campaigns_settings(demo_campaign, spec, settings):
    campaign = Campaign.open(demo_campaign)
    metric = read_metric(spec, Resources(campaign=demo_campaign))
    with campaign.database() as db:
        scorer = scorer_from_database(campaign.trees, db, campaign.candidates, **settings)
    assert metric.signature == scorer.signature
    assert metric.signature != Rypt.from_campaign(demo_campaign).signature
    stats = metric.stats(campaign.candidates)
    assert (stats == scorer.stats(campaign.candidates)).all()
    assert (metric.score(stats) == scorer.score(stats)).all()


def test_another_database(demo_campaign, tmp_path, monkeypatch):
    campaign = Campaign.open(demo_campaign)
    with JudgmentDatabase(tmp_path / "empty.db") as db:
        db.add_segments(campaign.segments)
    shutil.copy(campaign.path(campaign.files.database), tmp_path / "copy.db")
    monkeypatch.chdir(tmp_path)
    raw = campaign.candidates
    empty = read_metric("rypt(db=empty.db)", Resources(campaign=demo_campaign))
    assert (empty.score(empty.stats(raw)) == 0.5).all()
    own, copy = (
        read_metric(spec, Resources(campaign=demo_campaign)) for spec in ("rypt", "rypt(db=copy.db)")
    )
    assert (own.stats(raw) == copy.stats(raw)).all()
    with pytest.raises(RyptError, match=r"nowhere\.db"):
        read_metric("rypt(db=nowhere.db)", Resources(campaign=demo_campaign))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rypt(model=table,unknown=no)", "the option unknown is for model=percolation, the model is table"),
        ("rypt(ties=coin)", "expected ties as one of unknown, no, yes, found 'coin'"),
        ("rypt(x=1)", "the metric rypt has no option 'x', expected one of model, unknown, ties, db"),
    ],
)
def test_options_that_are_wrong(demo_campaign, spec, message):
    with pytest.raises(RyptError, match=message):
        read_metric(spec, Resources(campaign=demo_campaign))


def test_candidates_that_do_not_fit(demo_campaign):
    metric = Rypt.from_campaign(demo_campaign)
    with pytest.raises(RyptError, match="segment '99' of the list is not in the campaign"):
        metric.stats([Candidate("99", "x", "", {}, None)])
    with pytest.raises(RyptError, match="a candidate of segment 0: expected an alignment"):
        metric.stats([Candidate("0", "x", None, {}, None)])
    with pytest.raises(RyptError, match=r"segment 0: link .* is out of range"):
        metric.stats([Candidate("0", "x", "99-0", {}, None)])
    with pytest.raises(RyptError, match="the metric rypt needs --campaign"):
        read_metric("rypt", Resources())


def test_it_can_be_sent_to_another_process(demo_campaign):
    metric = Rypt.from_campaign(demo_campaign)
    raw = Campaign.open(demo_campaign).candidates[:20]
    assert (pickle.loads(pickle.dumps(metric)).stats(raw) == metric.stats(raw)).all()
