"""Segment scores of real campaigns: WMT24's ESA as the findings' program ranks it, MQM as its publishers print it.

The figures of WMT24 are those of wmt-conference/wmt24-news-systems (humeval, micro average) on this wave alone.
"""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import hits
from hits.ranking.confidence import Confidence
from hits.ranking.readers.files import ComparisonFiles

pytestmark = pytest.mark.real

FINDINGS = {
    "en-hi": (
        3267,
        """ONLINE-B: 92.2896, 1–3, 1; Claude-3.5: 91.9360, 1–2, 1; TranssionMT: 91.1414, 2–6, 1;
        Gemini-1.5-Pro: 90.6936, 3–7, 1; Unbabel-Tower70B: 90.4512, 3–9, 1; GPT-4: 89.3670, 3–8, 1;
        Llama3-70B: 89.2222, 4–9, 1; IOL-Research: 88.3064, 5–9, 1; refA: 87.8485, 6–9, 1; Aya23: 83.7003, 10–10, 2;
        IKUN-C: 73.8788, 11–11, 3""",
    ),
    "en-cs": (
        4752,
        """refA: 94.3367, 1–2, 1; Claude-3.5: 93.6061, 1–4, 1; Unbabel-Tower70B: 93.5556, 2–4, 1;
        ONLINE-W: 91.7407, 2–5, 1; CUNI-MH: 91.1145, 5–8, 1; GPT-4: 90.7508, 5–9, 1; CommandR-plus: 89.8923, 5–12, 1;
        IOL-Research: 89.2593, 6–13, 1; Gemini-1.5-Pro: 88.5825, 5–11, 1; SCIR-MT: 87.3838, 7–14, 1;
        Aya23: 87.0404, 9–14, 1; IKUN: 86.4343, 8–14, 1; CUNI-DocTransformer: 84.9428, 7–14, 1;
        CUNI-GA: 84.7340, 9–14, 1; Llama3-70B: 82.4411, 15–16, 2; IKUN-C: 79.6094, 15–16, 2""",
    ),
}
# system: mean MQM as google/wmt-mqm-human-evaluation gives it, and its cluster by Wilcoxon's test
NEWSTEST2020 = {
    "Human-B.0": (0.7459, 1),
    "Human-A.0": (0.9115, 2),
    "Human-P.0": (1.4099, 3),
    "Tohoku-AIP-NTT.890": (2.0176, 4),
    "OPPO.1535": (2.2480, 5),
    "eTranslation.737": (2.3325, 6),
    "Tencent_Translation.1520": (2.3531, 6),
    "Huoshan_Translate.832": (2.4454, 6),
    "Online-B.1590": (2.4752, 6),
    "Online-A.1574": (2.9871, 7),
}


@pytest.mark.parametrize("pair", FINDINGS)
def test_wmt24_as_the_findings_rank_it(real_data: Callable[[str], Path], pair: str) -> None:
    ratings, text = FINDINGS[pair]
    path = real_data("wmt24-esa") / "esa_generalMT2024_wave2.csv.gz"
    table = hits.rank(ComparisonFiles((path,), languages=pair))
    assert f"|n:{ratings}|" in table.signature
    expected = [
        (name.strip(), mean, (int(low), int(high)), int(cluster))
        for name, mean, low, high, cluster in re.findall(r"([^:;]+): ([\d.]+), (\d+)–(\d+), (\d+)", text)
    ]
    assert [(s.system, f"{s.score:.4f}", (s.low, s.high), s.cluster) for s in table.systems] == expected


def test_newstest2020_by_mqm(real_data: Callable[[str], Path]) -> None:
    table = hits.rank(real_data("mqm-raw") / "mqm_newstest2020_ende.tsv.gz")
    assert {s.system: (round(s.score, 4), s.cluster) for s in table.systems} == NEWSTEST2020


@pytest.mark.parametrize(
    ("name", "systems", "first", "clusters"),
    [("mqm_ted_ende", 14, ("ref", 0.9115), 1), ("mqm_newstest2021_enru", 16, ("ref.A", 0.0816), 5)],
)
def test_mqm_and_the_comparisons_made_of_it(
    real_data: Callable[[str], Path], name: str, systems: int, first: tuple[str, float], clusters: int
) -> None:
    path = real_data("mqm-raw") / f"{name}.tsv.gz"
    table = hits.rank(path)
    assert len(table.systems) == systems
    assert (table.systems[0].system, round(table.systems[0].score, 4)) == first
    assert table.clusters == clusters
    files = ComparisonFiles((path,), tie=0)
    compared = hits.rank(files, "expected-wins", confidence=Confidence(samples=200))
    ranks = {s.system: s.rank for s in compared.systems}
    mean_ranks = [s.rank for s in table.systems]
    assert np.corrcoef(mean_ranks, [ranks[s.system] for s in table.systems])[0, 1] > 0.9
    assert "-row-densest" in compared.signature


def test_a_study_whose_items_are_numbered_by_rater(real_data: Callable[[str], Path]) -> None:
    table = hits.rank(real_data("esa-raw") / "rc5ESA.csv.gz")
    assert len(table.systems) == 13
    assert not table.notes  # all pairs of systems share segments
    assert table.systems[0].system.endswith("refA")
