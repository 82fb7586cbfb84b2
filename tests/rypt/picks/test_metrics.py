"""Metrics as people write them, and scores of single candidates by any metric."""

import numpy as np
import pytest
import sacrebleu
from systems_world import make

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
