"""Rankings by mean: ranges and clusters as WMT's findings define them, and the bootstrap over documents."""

import numpy as np
import pytest
from scipy import stats

from hits.ranking.confidence import Confidence
from hits.ranking.scores.data import ScoreRecord, scores_of
from hits.ranking.scores.mean import clusters_by_tests, ranges_by_tests, rank_by_mean, resampled_means
from hits.ranking.table import significant_wins
from rypt.text import RyptError


def made(seed: int = 1, *, documents: int = 12, higher: bool = True):
    """Two good systems, a worse one, in documents of ten segments whose difficulty differs."""
    rng = np.random.default_rng(seed)
    rows = []
    for document in range(documents):
        hard = rng.normal(0, 8)
        for segment in range(10):
            for system, quality in (("good", 80.0), ("alike", 80.0), ("bad", 60.0)):
                score = quality + hard + rng.normal(0, 5)
                rows.append(
                    ScoreRecord(system, str(segment), score if higher else -score, f"d{document}", "r")
                )
    return scores_of(rows, "ESA" if higher else "MQM", higher=higher)


@pytest.mark.parametrize("method", ["wilcoxon", "rank-sum", "bootstrap"])
def test_means_ranges_clusters(method: str) -> None:
    scores = made()
    group = rank_by_mean(scores, Confidence(method, samples=500), np.random.default_rng(1))
    assert {system.system: system.cluster for system in group.systems} == {"good": 1, "alike": 1, "bad": 2}
    assert [(system.low, system.high) for system in group.systems] == [(1, 2), (1, 2), (3, 3)]
    means = dict(zip(scores.systems, scores.table().mean(axis=1), strict=True))
    assert {system.system: system.score for system in group.systems} == pytest.approx(means)
    assert f"|ranges:{'samples' if method == 'bootstrap' else method}-" in group.signature


def test_penalties_are_shown_as_they_are_and_the_lowest_is_first() -> None:
    group = rank_by_mean(made(higher=False), Confidence(), np.random.default_rng(1))
    assert group.score == "MQM ↓"
    assert [system.system for system in group.systems][-1] == "bad"
    assert group.systems[0].score < group.systems[-1].score
    assert "|better:lower|" in group.signature


def test_ranges_count_significant_wins_and_losses() -> None:
    means = np.array([3.0, 2.0, 1.0])
    tests = np.array([[1, 0.2, 0.01], [0.2, 1, 0.2], [0.01, 0.2, 1]])
    ranges = ranges_by_tests(means, tests, 0.05)
    assert list(zip(ranges.low, ranges.high, strict=True)) == [(1, 2), (1, 3), (2, 3)]
    assert ranges.clusters().tolist() == [1, 1, 1]  # the middle one holds both together


def test_a_cluster_ends_only_where_all_above_differ_from_all_below() -> None:
    tests = np.full((4, 4), 0.01)
    assert clusters_by_tests(np.array([4.0, 3.0, 2.0, 1.0]), tests, 0.05).tolist() == [1, 2, 3, 4]
    tests[0, 3] = tests[3, 0] = 0.5
    assert clusters_by_tests(np.array([4.0, 3.0, 2.0, 1.0]), tests, 0.05).tolist() == [1, 1, 1, 1]


def test_documents_are_drawn_whole() -> None:
    """Where whole documents are hard or easy, means of resampled documents spread more than those of segments."""
    scores = made()
    table = scores.table()
    unit, drawn = resampled_means(scores, table, np.random.default_rng(1), 2000)
    assert unit == "document"
    _, single = resampled_means(scores, table, np.random.default_rng(1), 2000, "segment")
    assert (drawn.std(axis=0) > 1.5 * single.std(axis=0)).all()
    assert drawn.mean(axis=0) == pytest.approx(table.mean(axis=1), abs=0.5)


def test_what_is_missing_is_said() -> None:
    flat = scores_of([ScoreRecord("a", "1", 1), ScoreRecord("b", "1", 2)])
    rng = np.random.default_rng(1)
    with pytest.raises(RyptError, match="expected documents to draw, found none"):
        rank_by_mean(flat, Confidence("bootstrap", unit="document"), rng)
    with pytest.raises(
        RyptError, match="sign-test needs comparisons, which scores become with another model"
    ):
        rank_by_mean(flat, Confidence("sign-test"), rng)
    with pytest.raises(
        RyptError, match="expected confidence as one of wilcoxon, wilcoxon-neighbours, rank-sum, bootstrap"
    ):
        rank_by_mean(flat, Confidence("x"), rng)
    with pytest.raises(RyptError, match="--unit row is what a bootstrap draws; wilcoxon tests segments"):
        rank_by_mean(flat, Confidence(unit="row"), rng)
    with pytest.raises(RyptError, match="expected scores of two systems or more, found a"):
        rank_by_mean(flat.without("b"), Confidence(), rng)


def test_a_mean_over_domains() -> None:
    rows = [
        ScoreRecord(system, str(k), score, document, domain=domain)
        for system, shift in (("a", 10), ("b", 0))
        for domain, document, scores in (
            ("news", "n", [50, 60, 70]),
            ("speech", "s", [20]),
            ("speech", "t", [10, 30]),
        )
        for k, score in enumerate(value + shift for value in scores)
    ]
    scores = scores_of(rows)
    rng = np.random.default_rng(1)
    micro, macro = (
        rank_by_mean(scores, Confidence(), rng, average=average) for average in ("segment", "domain")
    )
    assert (micro.systems[1].score, macro.systems[1].score) == (40.0, pytest.approx((60 + 20) / 2))
    assert "average:domain" in macro.signature
    with pytest.raises(RyptError, match="found bootstrap"):
        rank_by_mean(scores, Confidence("bootstrap"), rng, average="domain")
    with pytest.raises(RyptError, match="to average over, found none"):
        rank_by_mean(
            scores_of([ScoreRecord("a", "1", 90), ScoreRecord("b", "1", 80)]),
            Confidence(),
            rng,
            average="domain",
        )


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


@pytest.mark.parametrize("seed", range(4))
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
    pairs = ((one, other) for one in values.values() for other in values.values() if one is not other)
    assert sum(significant_wins(ranked, s) for s in ranked.systems) == sum(is_better(*pair) for pair in pairs)
    ends = [
        k
        for k in range(1, 7)
        if all(s.high <= k for s in ranked.systems[:k] if s.high is not None)
        and all(s.low > k for s in ranked.systems[k:] if s.low is not None)
    ]
    assert ranked.clusters == len(ends) + 1


def test_rank_sums_tell_less_apart_where_segments_differ_much() -> None:
    """Paired, the constant difference is clear; unpaired, it drowns in the difference of the segments."""
    rows = [
        ScoreRecord(system, str(k), 10 * k + gap) for k in range(10) for system, gap in (("a", 2), ("b", 0))
    ]
    rng = np.random.default_rng(1)
    assert rank_by_mean(scores_of(rows), Confidence("wilcoxon"), rng).clusters == 2
    ranked = rank_by_mean(scores_of(rows), Confidence("rank-sum"), rng)
    assert (ranked.clusters, ranked.signature.split("|")[-1]) == (1, "ranges:rank-sum-0.05")
