"""Weighted sums of metrics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mert.metrics.chrf import ChrF
from mert.metrics.ter import Ter
from rypt.campaign.folder import Campaign
from rypt.metrics.metric import Resources, read_metric
from rypt.metrics.mix import Mix, Part
from rypt.metrics.references import References
from rypt.records import RawCandidate
from rypt.text import RyptError

REFERENCES = References([["the cat sat on the mat", "a b c d"]])
WORDS = st.lists(st.sampled_from(["the", "cat", "mat", "a", "b"]), max_size=6).map(" ".join)


class Share:
    """Words and words that are "a"; the score is a share, from 0 to 1."""

    maximize = True
    scale = 1.0
    signature = "SHARE"

    def stats(self, candidates):
        rows = [(len(raw.text.split()), raw.text.split().count("a")) for raw in candidates]
        return np.array(rows, np.int64).reshape(len(rows), 2)

    def score(self, sums):
        return sums[:, 1] / np.maximum(sums[:, 0], 1)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from("01"), WORDS), min_size=1, max_size=6),
    st.floats(0.01, 2),
    st.floats(0.01, 2),
)
def test_the_sum_on_one_scale(pairs, first, second):
    raw = [RawCandidate(segment, text, None, {}, None) for segment, text in pairs]
    chrf, share, ter = ChrF(REFERENCES), Share(), Ter(REFERENCES)
    mix = Mix([Part(first, "chrf", chrf), Part(second, "share", share), Part(-0.5, "ter", ter)])
    sums = np.cumsum(mix.stats(raw), axis=0)
    parts = [metric.score(np.cumsum(metric.stats(raw), axis=0)) for metric in (chrf, share, ter)]
    expected = first * parts[0] + second * 100 * parts[1] - 0.5 * parts[2]
    assert mix.score(sums) == pytest.approx(expected, rel=1e-12)
    assert sums.shape == (len(raw), 18 + 2 + 2)


def test_a_perfect_candidate_scores_100():
    mix = Mix([Part(0.7, "chrf", ChrF(REFERENCES)), Part(0.3, "share", Share())])
    assert mix.score(np.array([[5, 5, 5] * 6 + [4, 4]])).tolist() == pytest.approx([100.0])
    assert (mix.maximize, mix.scale) == (True, 100.0)


def test_rypt_counts_a_hundredfold(demo_campaign):
    candidate = Campaign.open(demo_campaign).candidates[0]
    raw = [RawCandidate(candidate.segment, candidate.text, candidate.alignment, {}, None)]
    resources = Resources(References([[candidate.text] * 200]), demo_campaign)
    rypt = read_metric("rypt", resources)
    mix = read_metric("0.25*chrf + 0.75*rypt", resources)
    assert mix.score(mix.stats(raw)) == pytest.approx(25 + 75 * rypt.score(rypt.stats(raw)))


def test_signs_must_reward_what_is_better():
    with pytest.raises(RyptError, match=r"^ter is better when lower: write -0\.5\*ter$"):
        read_metric("0.5*chrf+0.5*ter", Resources(REFERENCES))
    with pytest.raises(RyptError, match=r"^chrf is better when higher: write 2\*chrf$"):
        read_metric("-ter-2*chrf", Resources(REFERENCES))
    assert read_metric("-ter", Resources(REFERENCES)).score(np.array([[1, 4]])).tolist() == [-25.0]


def test_signature_names_weights_and_metrics():
    chrf, ter = ChrF(REFERENCES).signature, Ter(REFERENCES).signature
    assert read_metric("0.7*chrf-0.1*ter", Resources(REFERENCES)).signature == f"0.7*[{chrf}]-0.1*[{ter}]"


def test_a_metric_whose_statistics_have_no_columns_is_named():
    class Shapeless(Share):
        def stats(self, candidates):
            return np.array([0 for _ in candidates])

    with pytest.raises(RyptError, match=r"the stats of mine: expected whole numbers in \(0, columns\)"):
        Mix([Part(0.5, "mine", Shapeless())])


def test_no_candidates_and_no_rows():
    mix = Mix([Part(0.5, "chrf", ChrF(REFERENCES)), Part(0.5, "share", Share())])
    assert mix.stats([]).shape == (0, 20)
    assert mix.score(mix.stats([])).shape == (0,)
