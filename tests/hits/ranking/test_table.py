"""Rankings as tables and JSON, what is significant in words, and head to head."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from hits.ranking.confidence import Confidence
from hits.ranking.data import comparisons_of, from_counts
from hits.ranking.head2head import as_record, as_rows, head_to_head
from hits.ranking.model import read_model
from hits.ranking.names import TABLES
from hits.ranking.rank import SystemTable
from hits.ranking.result import Ranked, RankedGroup, rank_systems
from hits.ranking.scores.data import ScoreRecord, scores_of
from hits.ranking.scores.mean import rank_by_mean
from hits.ranking.table import LONGEST, as_json, as_table, cells, score_intervals, short_names, verdict
from rypt.text import RyptError

WINS = np.array([[0, 90, 95, 99], [30, 0, 61, 80], [25, 60, 0, 82], [5, 15, 11, 0]])
DATA = from_counts(("best", "mid_1", "mid_2", "worst"), WINS, 20 - 20 * np.eye(4))


def ranked(model: str = "expected-wins", **how):
    return rank_systems(DATA, read_model(model), np.random.default_rng(1), Confidence(**how))


def test_the_table_has_a_rule_between_clusters() -> None:
    (ranking,) = ranked()
    assert [(s.system, s.rank, s.low, s.high, s.cluster) for s in ranking.systems] == [
        ("best", 1, 1, 1, 1),
        ("mid_1", 2, 2, 3, 2),
        ("mid_2", 3, 2, 3, 2),
        ("worst", 4, 4, 4, 3),
    ]
    lines = as_table(ranking).splitlines()[:9]
    rows = [re.split(r"  +", line.strip()) for line in lines if "[" in line]
    assert [row[-2:] for row in rows] == [["1", "best"], ["2-3", "mid_1"], ["2-3", "mid_2"], ["4", "worst"]]
    assert sum(set(line) <= {"-", " "} for line in lines) == 3
    (plain,) = ranked(method="none")
    assert as_table(plain).splitlines()[0].split() == ["#", "score", "system"]
    assert (as_json([plain])["clusters"], verdict(plain), score_intervals(plain)) == (None, [], {})


def test_all_styles_have_the_same_cells() -> None:
    (ranking,) = ranked()
    head, clusters = cells(ranking)
    rows = [row for cluster in clusters for row in cluster]
    latex = as_table(ranking, "latex")
    assert latex.count(r"\hline") == 5  # around the head, between clusters and at the end
    assert r"mid\_1" in latex
    assert f"% {ranking.signature}" in latex.splitlines()
    markdown = as_table(ranking, "markdown").splitlines()
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown[:6]]
    assert [found[0], *found[2:]] == [head, *rows]
    table = ElementTree.fromstring(re.search("<table>.*</table>", as_table(ranking, "html"), re.DOTALL)[0])
    assert [[cell.text.strip() for cell in row] for row in table.iter("tr")] == [head, *rows]
    with pytest.raises(RyptError, match="expected table as one of text, markdown, latex, html"):
        as_table(ranking, "ascii")


def test_intervals_of_scores() -> None:
    """By resamples, by standard errors of a model or of means."""
    (drawn,) = ranked(samples=1000)
    wins = np.array([90 / 120, 95 / 120, 99 / 104])
    error = float(np.sqrt((wins * (1 - wins) / [120, 120, 104]).sum()) / 3)
    low, high = score_intervals(drawn)["best"]
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.1)
    (fitted,) = ranked("bradley-terry", method="none")
    best = fitted.systems[0]
    interval = best.score - 1.96 * best.error, best.score + 1.96 * best.error
    assert score_intervals(fitted)["best"] == pytest.approx(interval)
    rng = np.random.default_rng(1)
    rows = [ScoreRecord(s, str(k), rng.normal(), f"d{k % 30}") for s in "ab" for k in range(600)]
    how = Confidence("wilcoxon"), Confidence("bootstrap", samples=2000)
    tested, resampled = (score_intervals(rank_by_mean(scores_of(rows), each, rng)) for each in how)
    for system in "ab":
        assert tested[system] == pytest.approx(resampled[system], abs=0.03)


def group(*ranges: tuple[str, int, int, int]) -> RankedGroup:
    systems = (
        Ranked(name, 1 / rank, rank, low, high, cluster)
        for rank, (name, low, high, cluster) in enumerate(ranges, start=1)
    )
    return RankedGroup("bojar", "bojar|n:9", tuple(systems), rank_samples=np.ones((3, len(ranges))))


@pytest.mark.parametrize(
    ("ranges", "first", "second"),
    [
        ((("ref", 1, 3, 1), ("a", 1, 3, 1), ("b", 2, 3, 1)), "No system is significantly better", ""),
        (
            (("a", 1, 2, 1), ("b", 1, 3, 1), ("c", 3, 3, 1)),
            "better than 1 of 2 other systems.",
            "one cluster",
        ),
        ((("a", 1, 1, 1), ("b", 2, 3, 2), ("c", 2, 3, 2)), "than all 2 other systems.", "2 clusters: "),
        (
            (*((f"s{i}", 1, 8, 1) for i in range(8)), ("x", 9, 9, 2)),
            "s3, s4 and 3 others are",
            "2 clusters: ",
        ),
        ([(f"s{i}", i, i, i) for i in range(1, 9)], "; s4 than 4; 3 others than 1 to 3.", "8 clusters: "),
    ],
)
def test_what_is_significant_is_said(ranges, first: str, second: str) -> None:
    said = verdict(group(*ranges))
    assert first in said[0]
    assert second in " ".join(said[1:])
    assert verdict(group(("alone", 1, 1, 1))) == []


def test_the_best_that_are_not_human_are_named() -> None:
    two = ("ref.A", 1, 1, 1), ("ref.B", 2, 2, 2)
    systems = group(*two, ("a", 3, 4, 3), ("b", 3, 4, 3), ("c", 5, 5, 4))
    assert verdict(systems)[-1] == "The best cluster of those that are not human: a and b."
    assert "not human" not in verdict(group(("ref.A", 1, 2, 1), ("a", 1, 2, 1), ("b", 3, 3, 2)))[-1]


def test_names_are_marked_shortened_and_escaped() -> None:
    long = "wmt.uedin-heafield-unconstrained-<b>|primary.2755"
    names = (long, "wmt.Human-A.0")
    data = from_counts(names, np.array([[0, 9], [2, 0]]), np.zeros((2, 2)))
    (ranking,) = rank_systems(data, read_model("bojar"), np.random.default_rng(1), Confidence("none"))
    short = short_names(names)[0]
    assert len(short) <= LONGEST
    table = SystemTable((ranking,), 1)
    for style in TABLES:
        assert "Human-A.0 (human)" in table.as_table(style)
    assert short in table.as_table()
    assert short.replace("|", "\\|") in table.as_table("markdown")
    assert "<b>" not in table.as_table("html") + table.as_table("latex")
    assert [(r["system"], r.get("human")) for r in table.records()] == [(long, None), (names[1], True)]
    alike = ["x" * 30 + "a" + "y" * 30, "x" * 30 + "b" + "y" * 30]
    assert short_names(alike) == alike


def test_json_has_what_the_command_promises() -> None:
    record = json.loads(json.dumps(as_json(ranked())))
    keys = ["system", "score", "rank", "low", "high", "cluster", "score_low", "score_high"]
    assert list(record["systems"][0]) == keys
    searched = as_json(ranked("mfas", method="none"))
    assert (searched["model"], searched["cost"], searched["optimal_rankings"]) == ("mfas", 0, 1)
    errors = as_json(ranked("bradley-terry", samples=10))
    assert all(system["error"] > 0 for system in errors["systems"])


@pytest.mark.parametrize(
    ("model", "how", "signature"),
    [
        ("expected-wins", {"samples": 20}, "samples-20"),
        ("expected-wins", {"samples": 20, "unit": "row"}, "samples-20-row-densest"),
        ("irt-gaussian", {"samples": 20}, "posterior-20"),
        ("irt-gaussian", {"samples": 3, "unit": "row", "shape": "ends"}, "samples-3-row"),
        ("expected-wins", {"method": "sign-test", "level": 0.01}, "sign-test-0.01"),
    ],
)
def test_the_signature_says_how_ranges_were_made(model: str, how, signature: str) -> None:
    assert ranked(model, **how)[0].signature.endswith(f"|ranges:{signature}")
    with pytest.raises(RyptError, match=r"expected confidence as one of .* found 'x'"):
        ranked(method="x")


def test_groups_that_never_met_are_ranked_apart() -> None:
    pairs = [
        ("s", "a", "b", 1, ""),
        ("s", "b", "c", 1, ""),
        ("s", "x", "y", -1, ""),
        ("s", "b", "c", -1, ""),
        ("s", "a", "c", 1, ""),
    ]
    found = rank_systems(comparisons_of(pairs * 5), read_model("bojar"), np.random.default_rng(1))
    ranks = [[(s.system, s.rank) for s in ranking.systems] for ranking in found]
    assert ranks == [[("a", 1), ("b", 2), ("c", 2)], [("y", 1), ("x", 2)]]  # equal scores share a rank
    record = as_json(found)
    assert [(s["system"], s["component"]) for s in record["systems"]][-1] == ("x", 2)
    assert len(record["components"]) == 2


def test_head_to_head_counts_ties_and_stars_what_is_significant() -> None:
    table = head_to_head(DATA)
    rows = as_rows(table)
    assert rows[1][1:4] == [f"{90 / 140:.2f}"[1:] + "★", "–", f"{60 / 141:.2f}"[1:]]
    assert rows[-1][0] == "> others"
    assert table.significant() == pytest.approx(5 / 6)
    pair = next(p for p in as_record(table)["pairs"] if (p["system"], p["other"]) == ("best", "mid_1"))
    assert (pair["better"], pair["comparisons"]) == (pytest.approx(90 / 140), 140)
