"""Metrics as people write them, and scores of single candidates by any metric."""

import sys

import numpy as np
import pytest
import sacrebleu
from systems_world import make

from rypt.campaign.folder import Campaign
from rypt.metrics.expression import Term
from rypt.picks.metrics import Chooser, parse_pick_metric, term_scores
from rypt.records import Candidate
from rypt.text import RyptError

RYPT_TABLE = Term(1, "rypt", {"model": "table"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("meteor", "unknown metric 'meteor', expected one of bleu, .*, model, system, human, or package"),
        ("bleu+system(rypt+system)", "expected a metric without system in system"),
        ("bleu+system(of=rypt,x=1)", "expected a metric in parentheses"),
        ("bleu-rypt", "rypt is better when higher: write 1"),
        ("system", "expected a metric such as rypt or bleu besides system"),
    ],
)
def test_what_is_no_metric(text, message):
    with pytest.raises(RyptError, match=message):
        parse_pick_metric(text)


def test_the_mean_over_a_systems_candidates_may_be_of_another_metric():
    metric = parse_pick_metric("bleu+2*system(rypt+0.5*chrf)")
    own = {
        name: np.array(values)
        for name, values in (("bleu", [0.2, 0.0, 0.4]), ("rypt", [0.1, 0.3, 0.8]), ("chrf", [0.2, 0.6, 0.0]))
    }
    assert metric.scores(lambda term: own[term.name], [0, 0, 2]) == pytest.approx([1.0, 0.8, 2.0])
    assert metric.uses("rypt")
    assert [term.label for term in metric.all_terms] == ["bleu", "rypt", "chrf"]
    with pytest.raises(RyptError, match="candidates here have no systems"):
        metric.scores(lambda term: own[term.name])
    alone = parse_pick_metric("system(rypt)")
    assert alone.scores(lambda term: own[term.name], [0, 0, 2]) == pytest.approx([0.2, 0.2, 0.8])


# scores of single candidates


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return make(tmp_path_factory.mktemp("picks") / "campaign", systems=3, segments=4)


def scored(campaign, text, candidates=None):
    (term,) = parse_pick_metric(text).terms
    return term_scores(campaign, term, candidates or campaign.candidates)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bleu", lambda c, r: sacrebleu.sentence_bleu(c, r).score / 100),
        ("chrf++", lambda c, r: sacrebleu.sentence_chrf(c, r, word_order=2).score / 100),
        ("ter", lambda c, r: max(0.0, 1 - sacrebleu.sentence_ter(c, r).score / 100)),
    ],
)
def test_bundled_metrics_are_sacrebleus_sentence_scores(campaign, name, expected):
    extra = [Candidate("1", text, "") for text in ("", "good0 Bad1, x", "x y z " * 5)]
    candidates = [*campaign.candidates, *extra]
    scores, signature = scored(campaign, name, candidates)
    references = dict(zip([s.id for s in campaign.segments], campaign.references[0], strict=True))
    assert scores.tolist() == pytest.approx([expected(c.text, [references[c.segment]]) for c in candidates])
    assert len(set(scores.tolist())) > 2
    assert signature.startswith(f"{name.partition('(')[0]}|nrefs:1|")


OWN = '''
import numpy as np

class Words:
    """The share of words that are good, of two statistics."""
    maximize, scale, signature = True, 50.0, "WORDS|v1"
    def __init__(self, resources, options):
        self.references = resources.need_references("words")
        self.folder = resources.need_campaign("words") if options.get("folder") else None
    def stats(self, candidates):
        return np.array([[sum(w in self.references[c.segment][0].split() for w in c.text.split()),
                          len(c.text.split())] for c in candidates], np.int64).reshape(-1, 2)
    def score(self, sums):
        return 50 * sums[:, 0] / np.maximum(1, sums[:, 1])

class Errors(Words):
    maximize, signature = False, "ERRORS|v1"
    def score(self, sums):
        return 50 - super().score(sums)

class Single(Words):
    def sentence_scores(self, candidates):
        return np.arange(len(candidates)) / len(candidates)

class Wrong(Words):
    def sentence_scores(self, candidates):
        raise KeyError("x")
'''


@pytest.fixture
def words(tmp_path, monkeypatch):
    (tmp_path / "own_words.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_words", raising=False)


def test_a_metric_of_ones_own(campaign, words):
    reference = dict(zip([s.id for s in campaign.segments], campaign.references[0], strict=True))
    shares = [
        np.mean([w in reference[c.segment].split() for w in c.text.split()]) for c in campaign.candidates
    ]
    scores, signature = scored(campaign, "own_words:Words")
    assert scores.tolist() == pytest.approx(shares)
    assert signature == "WORDS|v1"
    assert min(shares) < max(shares)
    for text in ("own_words:Errors", "-own_words:Errors"):
        scores, signature = scored(campaign, text)
        assert scores.tolist() == pytest.approx(shares)
        assert signature == "ERRORS|v1"
    scores, signature = scored(campaign, "own_words:Single")
    assert (scores[1], signature) == (1 / len(campaign.candidates), "WORDS|v1")


# picks


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
    lists = {str(name): {c.segment: c.text for c in own} for name, own in campaign.lists()}
    chooser = Chooser(campaign, judged_only=["sys0", "sys2"])
    found = chooser.picks(parse_pick_metric("bleu"))
    assert all(
        pick.candidate.text in (lists["sys1.jsonl"][s], lists["sys3.jsonl"][s]) for s, pick in found.items()
    )
    assert any(pick.score < best[s].score for s, pick in found.items())
