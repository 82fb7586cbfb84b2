"""WMT24's ESA ratings against a literal reading of the findings' program, with scipy: all pairs, waves, macro average.

Ratings of one item in one wave are averaged; an item of another wave is a row of its own; systems are joined on the
segment, so each row of one meets each row of the other. The macro average is over domains, whose p are combined by
Stouffer's z.
"""

import csv
import gzip
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean

import numpy as np
import pytest

import hits
from hits.ranking.readers.files import ComparisonFiles

pytestmark = pytest.mark.real
scipy_stats = pytest.importorskip("scipy.stats")

TARGETS = {"en-cs": "ces", "en-hi": "hin", "en-ja": "jpn", "en-zh": "zho"}
Rows = Sequence[Sequence[str]]


def read(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def write(path: Path, rows: Iterable[Sequence[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return path


def p_value(gaps: Sequence[float]) -> float:
    return float(scipy_stats.wilcoxon(gaps, alternative="two-sided").pvalue) if any(gaps) else 1.0


def as_the_findings(
    waves: Sequence[Rows], target: str, *, macro: bool
) -> list[tuple[str, str, tuple[int, int], int]]:
    latest: dict[tuple[int, str, str, str, str], tuple[float, float]] = {}
    for wave, rows in enumerate(waves):
        for user, system, segment, kind, _, language, score, document, *_, end in rows:
            left_out = "tutorial" in system or "#incomplete" in document or "#dup" in document
            if kind == "TGT" and language == target and not left_out:
                key = wave, user, system, document, segment
                latest[key] = max(latest.get(key, (-1.0, 0.0)), (float(end), float(score)))
    items = defaultdict(list)
    for (wave, _, system, document, segment), (_, score) in latest.items():
        items[system, document, segment, wave].append(score)
    scores: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for (system, document, segment, _), given in items.items():
        scores[system][document, segment].append(mean(given))
    means = {}
    for system, of_segment in scores.items():
        by_domain = defaultdict(list)
        for (document, _), given in of_segment.items():
            by_domain[domain_of(document) if macro else ""] += given
        means[system] = mean(mean(given) for given in by_domain.values())
    p = {}
    for a, b in combinations(scores, 2):
        gaps = defaultdict(list)
        for segment in scores[a].keys() & scores[b].keys():
            both = [x - y for x in scores[a][segment] for y in scores[b][segment]]
            gaps[domain_of(segment[0]) if macro else ""] += both
        tests = [p_value(some) for some in gaps.values()]
        z = np.sum([scipy_stats.norm.ppf(1 - one) for one in tests]) / np.sqrt(len(tests))
        p[a, b] = p[b, a] = 1 - scipy_stats.norm.cdf(z) if macro else tests[0]
    order = sorted(means, key=lambda system: -means[system])
    table, cluster = [], 1
    for k, system in enumerate(order):
        if k and all(p[a, b] <= 0.05 for a in order[:k] for b in order[k:]):
            cluster += 1
        losses = sum(
            p[system, other] < 0.05 and means[other] >= means[system] for other in order if other != system
        )
        wins = sum(
            p[system, other] < 0.05 and means[other] < means[system] for other in order if other != system
        )
        table.append((system, f"{means[system]:.4f}", (losses + 1, len(order) - wins), cluster))
    return table


def domain_of(document: str) -> str:
    return document.split("-")[2].split("_")[0]


def rated_again(row: Sequence[str]) -> int:
    """Another score for the same item, the same for all of a user's ratings of it."""
    return max(0, min(100, int(row[6]) + (7 * int(row[2]) + 5 * len(row[1])) % 19 - 9))


def ranked(
    paths: Sequence[Path], pair: str, average: str = "segment"
) -> list[tuple[str, str, tuple[int, int], int]]:
    files = ComparisonFiles(tuple(paths), languages=pair)
    table = hits.rank(files, "mean", options={"average": average})
    return [(s.system, f"{s.score:.4f}", (s.low or 0, s.high or 0), s.cluster or 0) for s in table.systems]


@pytest.mark.parametrize("pair", TARGETS)
@pytest.mark.parametrize("macro", [False, True])
def test_every_pair_of_the_wave(real_data: Callable[[str], Path], pair: str, macro: bool) -> None:
    path = real_data("wmt24-esa") / "esa_generalMT2024_wave2.csv.gz"
    expected = as_the_findings([read(path)], TARGETS[pair], macro=macro)
    assert ranked([path], pair, "domain" if macro else "segment") == expected


@pytest.mark.parametrize("macro", [False, True])
def test_two_waves_that_share_segments(real_data: Callable[[str], Path], tmp_path: Path, macro: bool) -> None:
    rows = read(real_data("wmt24-esa") / "esa_generalMT2024_wave2.csv.gz")
    rng = np.random.default_rng(3)
    documents = sorted({row[7].split("#")[0] for row in rows})
    drawn = rng.random(len(documents))
    first = {name for name, x in zip(documents, drawn, strict=True) if x < 0.6}
    second = {name for name, x in zip(documents, drawn, strict=True) if x >= 0.4}
    waves = [[row for row in rows if row[7].split("#")[0] in wave] for wave in (first, second)]
    waves[1] = [[*row[:6], str(rated_again(row)), *row[7:]] for row in waves[1]]
    paths = [write(tmp_path / f"wave{k}.csv", wave) for k, wave in enumerate(waves)]
    expected = as_the_findings(waves, "hin", macro=macro)
    assert ranked(paths, "en-hi", "domain" if macro else "segment") == expected
    notes = hits.rank(ComparisonFiles(tuple(paths), languages="en-hi")).notes
    assert any("rated in several waves" in note for note in notes)
