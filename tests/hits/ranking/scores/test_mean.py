"""Rankings by mean: ranges and clusters as WMT's findings define them, and the bootstrap over documents."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from hits.ranking.confidence import Confidence
from hits.ranking.scores.data import ScoreRecord, scores_of
from hits.ranking.scores.mean import clusters_by_tests, rank_by_mean, resampled_means
from hits.ranking.table import significant_wins
from rypt.text import RyptError


def made(higher: bool = True):
    """Two good systems, a worse one, in documents of ten segments whose difficulty differs."""
    rng, sign = np.random.default_rng(1), 1 if higher else -1
    rows = []
    for document in range(12):
        hard = rng.normal(0, 8)
        for segment in range(10):
            for system, quality in (("good", 80.0), ("alike", 80.0), ("bad", 60.0)):
                score = sign * (quality + hard + rng.normal(0, 5))
                rows.append(ScoreRecord(system, str(segment), score, f"d{document}", "r"))
    return scores_of(rows, "ESA" if higher else "MQM", higher=higher)


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("method", ["wilcoxon", "rank-sum", "bootstrap"])
def test_means_ranges_clusters(method: str, higher: bool) -> None:
    scores = made(higher)
    group = rank_by_mean(scores, Confidence(method, samples=500), np.random.default_rng(1))
    assert {system.system: system.cluster for system in group.systems} == {"good": 1, "alike": 1, "bad": 2}
    assert [(system.low, system.high) for system in group.systems] == [(1, 2), (1, 2), (3, 3)]
    sign = 1 if higher else -1  # penalties are shown as they are, the lowest first
    means = dict(zip(scores.systems, sign * scores.table().mean(axis=1), strict=True))
    assert {system.system: system.score for system in group.systems} == pytest.approx(means)
    assert f"|ranges:{'samples' if method == 'bootstrap' else method}-" in group.signature
    assert ("|better:lower|" in group.signature) != higher


def test_a_cluster_ends_only_where_all_above_differ_from_all_below() -> None:
    means, tests = np.array([4.0, 3.0, 2.0, 1.0]), np.full((4, 4), 0.01)
    assert clusters_by_tests(means, tests, 0.05).tolist() == [1, 2, 3, 4]
    tests[0, 3] = tests[3, 0] = 0.5
    assert clusters_by_tests(means, tests, 0.05).tolist() == [1, 1, 1, 1]


def test_documents_are_drawn_whole() -> None:
    """Where whole documents are hard or easy, means of resampled documents spread more than those of segments."""
    scores = made()
    table = scores.table()
    unit, drawn = resampled_means(scores, table, np.random.default_rng(1), 2000)
    assert unit == "document"
    _, single = resampled_means(scores, table, np.random.default_rng(1), 2000, "segment")
    assert (drawn.std(axis=0) > 1.5 * single.std(axis=0)).all()
    assert drawn.mean(axis=0) == pytest.approx(table.mean(axis=1), abs=0.5)


FLAT = scores_of([ScoreRecord("a", "1", 1), ScoreRecord("b", "1", 2)])
NEWS = scores_of([ScoreRecord(s, d, 1, domain=d) for s in "ab" for d in ("news", "speech")])


@pytest.mark.parametrize(
    ("scores", "how", "average", "reason"),
    [
        (FLAT, Confidence("bootstrap", unit="document"), "segment", "expected documents to draw, found none"),
        (FLAT, Confidence("sign-test"), "segment", "sign-test needs comparisons"),
        (FLAT, Confidence("x"), "segment", "expected confidence as one of"),
        (FLAT, Confidence(unit="row"), "segment", "--unit row"),
        (FLAT.without("b"), Confidence(), "segment", "two systems or more, found a"),
        (NEWS, Confidence("bootstrap"), "domain", "found bootstrap"),
        (FLAT, Confidence(), "domain", "to average over, found none"),
    ],
)
def test_what_is_missing_is_said(scores, how: Confidence, average: str, reason: str) -> None:
    with pytest.raises(RyptError, match=reason):
        rank_by_mean(scores, how, np.random.default_rng(1), average=average)


def test_a_mean_over_domains() -> None:
    rows = [
        ScoreRecord(system, str(k), score + shift, document, domain=domain)
        for system, shift in (("a", 10), ("b", 0))
        for domain, document, values in (("news", "n", [50, 60, 70]), ("speech", "s", [20, 10, 30]))
        for k, score in enumerate(values[:-1] if domain == "speech" else values)
    ]
    micro, macro = (
        rank_by_mean(scores_of(rows), Confidence(), np.random.default_rng(1), average=average)
        for average in ("segment", "domain")
    )
    assert (micro.systems[1].score, macro.systems[1].score) == (42.0, pytest.approx((60 + 15) / 2))
    assert "average:domain" in macro.signature


def is_better(a: list[float], b: list[float]) -> bool:
    """As WMT25's program tests it: scores of the first wave, then of the second, NaN where there is none."""
    half = len(b) // 2
    pairs = zip(a + a, b + b[half:] + b[:half], strict=True)
    gaps = [x - y for x, y in pairs if not (np.isnan(x) or np.isnan(y))]
    return bool(stats.wilcoxon(gaps, alternative="greater").pvalue < 0.05 / 2)


def as_wmt25(values: dict[str, list[float]]) -> list[tuple[str, int, int]]:
    """A literal reading of WMT25's program."""
    systems = sorted(values.items(), key=lambda item: -np.nanmean(item[1]))
    rows = []
    for i, (name, mine) in enumerate(systems):
        low = high = i + 1
        for _, other in systems[:i][::-1]:
            if is_better(other, mine):
                break
            low -= 1
        for _, other in systems[i + 1 :]:
            if is_better(mine, other):
                break
            high += 1
        rows.append((name, low, high))
    return rows


@pytest.mark.parametrize("seed", range(2))
def test_ranges_of_wmt25(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = {}
    for k in range(7):
        scores = np.clip(np.round(rng.normal(90 - 1.2 * k, 9, 120)), 0, 100)
        values[f"s{k}"] = np.where(rng.random(120) < 0.1, np.nan, scores).tolist()
    rows = [
        ScoreRecord(name, str(j % 60), value, "d", "r", str(j // 60))
        for name, given in values.items()
        for j, value in enumerate(given)
        if value == value
    ]
    ranked = rank_by_mean(scores_of(rows), Confidence("wilcoxon-neighbours"), rng)
    assert [(s.system, s.low, s.high) for s in ranked.systems] == as_wmt25(values)
    pairs = permutations(values.values(), 2)
    assert sum(significant_wins(ranked, s) for s in ranked.systems) == sum(is_better(*pair) for pair in pairs)
    ranges = [(s.low, s.high) for s in ranked.systems]
    ends = [k for k in range(1, 7) if max(ranges[:k], key=max)[1] <= k < min(low for low, _ in ranges[k:])]
    assert ranked.clusters == len(ends) + 1
