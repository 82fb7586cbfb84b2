"""Rankings as text, LaTeX and JSON, and head to head."""

import json
from dataclasses import replace
from threading import Barrier
from xml.etree import ElementTree

import numpy as np
import pytest

from hits.ranking.data import comparisons_of, from_counts
from hits.ranking.head2head import as_record, as_rows, head_to_head
from hits.ranking.model import read_model
from hits.ranking.rank import SystemTable
from hits.ranking.result import Confidence, Ranked, RankedGroup, rank_systems
from hits.ranking.table import LONGEST, as_html, as_json, as_latex, as_markdown, as_text, short_names, verdict
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
    assert ranking.clusters == 3
    lines = as_text(ranking).splitlines()
    scores = {s.system: f"{s.score:.3f}" for s in ranking.systems}
    assert [line.split() for line in lines if "system" in line or "_" in line or "st" in line] == [
        ["#", "score", "range", "system"],
        ["1", scores["best"], "1", "best"],
        ["2", scores["mid_1"], "2-3", "mid_1"],
        [scores["mid_2"], "2-3", "mid_2"],
        ["4", scores["worst"], "4", "worst"],
    ]
    assert sum(set(line) <= {"-", " "} for line in lines) == 3


def test_without_confidence_there_are_ranks_only() -> None:
    (ranking,) = ranked(method="none")
    assert {s.cluster for s in ranking.systems} == {None}
    assert "range" not in as_text(ranking)
    assert [line.split()[0] for line in as_text(ranking).splitlines()[2:]] == ["1", "2", "3", "4"]
    assert as_json([ranking])["clusters"] is None


def test_latex_escapes_names_and_draws_rules() -> None:
    text = as_latex(ranked()[0])
    assert r"mid\_1 \\" in text
    assert "2--3" in text
    assert text.count(r"\hline") == 5
    assert text.startswith(r"\begin{tabular}{rrll}")


def test_markdown_and_html_have_the_same_cells() -> None:
    (ranking,) = ranked()
    markdown = as_markdown(ranking).splitlines()
    assert markdown[0] == "| # | score | range | system |"
    assert [line.split("|")[1].strip() for line in markdown[2:6]] == ["1", "2", "", "4"]
    assert markdown[3].endswith("| 2-3 | mid_1 |")
    html = as_html(ranking)
    root = ElementTree.fromstring(html)
    bodies = [["".join(cell.itertext()) for row in body for cell in row] for body in root.findall("tbody")]
    assert [body[3::4] for body in bodies] == [["best"], ["mid_1", "mid_2"], ["worst"]]
    assert bodies[1][2] == "2–3"
    assert ranking.signature in "".join(root.find("caption").itertext())


def group(*ranges: tuple[str, int, int, int]) -> RankedGroup:
    systems = (
        Ranked(name, 1 / rank, rank, low, high, cluster)
        for rank, (name, low, high, cluster) in enumerate(ranges, start=1)
    )
    return RankedGroup("bojar", "bojar|n:9", tuple(systems), rank_samples=np.ones((3, len(ranges))))


def test_one_cluster_is_said_in_words() -> None:
    even = group(("ref", 1, 3, 1), ("a", 1, 3, 1), ("b", 2, 3, 1))
    sentence = "No system is significantly better than another: all 3 are in one cluster, and their order may be chance"
    chained = group(("a", 1, 2, 1), ("b", 1, 3, 1), ("wmt.refA", 3, 3, 1))
    assert verdict(even) == f"{sentence}."
    assert verdict(chained).startswith(
        "No group of systems is significantly better than the rest: all 3 are in one cl"
    )
    assert verdict(chained).endswith(
        "may still differ, such as a and wmt.refA (human), whose ranges do not overlap."
    )
    tested = replace(even, rank_samples=None)
    assert verdict(tested).endswith("all 3 are in one cluster; single systems may still differ.")
    assert verdict(replace(group(("a", 1, 2, 1), ("b", 1, 2, 1)), rank_samples=None)).startswith(
        "No system is signif"
    )
    assert verdict(group(("a", 1, 1, 1), ("b", 2, 2, 2))).startswith(
        "2 clusters: a is significantly better than the"
    )
    many = group(*((f"s{i}", 1, 8, 1) for i in range(8)), ("x", 9, 9, 2))
    assert "s0, s1, s2, s3, s4 and 3 others are significantly better" in verdict(many)
    assert verdict(group(("alone", 1, 1, 1))) == ""
    assert verdict(ranked(method="none")[0]) == ""
    table = SystemTable((even,), 1)
    assert str(table).splitlines()[-2] == f"{sentence}."
    for style in ("markdown", "latex", "html"):
        assert sentence in table.as_table(style)


def test_the_first_system_that_is_not_human_is_named() -> None:
    two = ("ref.A", 1, 1, 1), ("ref.B", 2, 2, 2)
    systems = group(*two, ("a", 3, 4, 3), ("b", 3, 4, 3), ("c", 5, 5, 4))
    assert verdict(systems) == (
        "4 clusters: ref.A (human) is significantly better than the other systems; of those that are not human, a and "
        "b are significantly better than the rest; inside a cluster no such line can be drawn."
    )
    assert "; the 2 that are not human are in one cluster; " in verdict(
        group(*two, ("a", 3, 4, 3), ("b", 3, 4, 3))
    )
    assert "not human" not in verdict(group(*two, ("a", 3, 3, 3)))
    assert "not human" not in verdict(group(("ref.A", 1, 2, 1), ("a", 1, 2, 1), ("b", 3, 3, 2)))


def test_human_translations_are_marked(tmp_path) -> None:
    systems = group(("news.Human-A.0", 1, 2, 1), ("news.refine", 1, 2, 1))
    table = SystemTable((systems,), 1)
    for style in ("text", "markdown", "latex", "html"):
        assert "Human-A.0 (human)" in table.as_table(style)
        assert "refine (human)" not in table.as_table(style)
    assert [record.get("human") for record in table.records()] == [True, None]
    table.write(tmp_path / "ranks.svg")
    picture = (tmp_path / "ranks.svg").read_text()
    assert "Human-A.0 (human)" in picture
    assert "all 2 systems in one cluster" in picture


def test_names_are_shortened_alike_and_escaped() -> None:
    long = "wmt.uedin-heafield-unconstrained-<b>-primary.2755"
    data = from_counts((long, "wmt.JHU.1"), np.array([[0, 9], [2, 0]]), np.zeros((2, 2)))
    (ranking,) = rank_systems(data, read_model("bojar"), np.random.default_rng(1), Confidence("none"))
    short = short_names([long, "wmt.JHU.1"])[0]
    assert short in as_text(ranking)
    assert short in as_markdown(ranking)
    cell = ElementTree.fromstring(as_html(ranking)).find("tbody/tr")[2]
    assert (cell.text, cell.get("title")) == (short, long)
    assert as_json([ranking])["systems"][0]["system"] == long
    assert short_names(["GPT.4", "GPT.5"]) == ["GPT.4", "GPT.5"]


def test_json_has_what_the_command_promises() -> None:
    record = json.loads(json.dumps(as_json(ranked())))
    assert record["model"] == "expected-wins"
    assert list(record["systems"][0]) == ["system", "score", "rank", "low", "high", "cluster"]
    assert as_json(ranked("bradley-terry", samples=5))["systems"][0]["error"] > 0
    searched = as_json(ranked("mfas", method="none"))
    assert searched["cost"] == 0
    assert searched["optimal_rankings"] == 1
    assert searched["nodes"] >= 4
    errors = as_json(ranked("bradley-terry", samples=10))
    assert all(system["error"] > 0 for system in errors["systems"])
    assert errors["parameters_of"] == list(DATA.systems)


def test_standard_errors_have_a_column() -> None:
    text = as_text(ranked("bradley-terry", samples=10)[0])
    assert text.splitlines()[0].split() == ["#", "score", "±", "range", "system"]


def test_the_signature_says_how_ranges_were_made() -> None:
    assert ranked()[0].signature.endswith("|ranges:samples-1000")
    assert ranked(trim=3, samples=50, unit="row")[0].signature.endswith("|ranges:samples-50-trim-3-row")
    assert ranked(method="sign-test", level=0.01)[0].signature.endswith("|ranges:sign-test-0.01")
    with pytest.raises(
        RyptError, match="expected confidence as one of bootstrap, koehn-slides, sign-test, none, found 'x'"
    ):
        ranked(method="x")


def test_groups_that_never_met_are_ranked_apart() -> None:
    pairs = [("s", "a", "b", 1, ""), ("s", "b", "c", 1, ""), ("s", "x", "y", -1, "")]
    found = rank_systems(comparisons_of(pairs * 5), read_model("bojar"), np.random.default_rng(1))
    assert [[s.system for s in ranking.systems] for ranking in found] == [["a", "b", "c"], ["y", "x"]]
    assert [s.rank for s in found[1].systems] == [1, 2]
    record = as_json(found)
    assert [(s["system"], s["component"]) for s in record["systems"]][-1] == ("x", 2)
    assert len(record["components"]) == 2


def test_equal_scores_share_a_rank() -> None:
    data = from_counts(("a", "b", "c"), np.array([[0, 2, 3], [2, 0, 3], [1, 1, 0]]), np.zeros((3, 3)))
    (ranking,) = rank_systems(data, read_model("expected-wins"), np.random.default_rng(1), Confidence("none"))
    assert [(s.system, s.rank) for s in ranking.systems] == [("a", 1), ("b", 1), ("c", 3)]


def test_head_to_head_counts_ties_and_stars_what_is_significant() -> None:
    table = head_to_head(DATA)
    rows = as_rows(table)
    assert rows[1][1] == f"{90 / 140:.2f}"[1:] + "★"
    assert rows[0][2] == f"{30 / 140:.2f}"[1:] + "★"
    assert rows[1][3] == f"{60 / 141:.2f}"[1:]
    assert rows[2][2] == f"{61 / 141:.2f}"[1:]
    assert rows[0][1] == "–"
    assert rows[-1][0] == "> others"
    assert "‡" in as_rows(table, marks=True)[0][2]
    assert table.significant() == pytest.approx(5 / 6)
    record = as_record(table)
    pair = next(p for p in record["pairs"] if (p["system"], p["other"]) == ("best", "mid_1"))
    assert pair["better"] == pytest.approx(90 / 140)
    assert pair["comparisons"] == 140


def test_resamples_are_fitted_on_the_threads_asked_for_and_counted() -> None:
    """Each fit waits until another one is under way: on one thread none would ever end."""
    together, counted = Barrier(2, timeout=180), []

    class Waiting:
        name = "waiting"

        def fit(self, comparisons, rng):
            if len(comparisons) and getattr(self, "resampling", False):
                together.wait()
            self.resampling = True
            return read_model("expected-wins").fit(comparisons, rng)

    how = Confidence(samples=6, threads=2, seen=lambda: counted.append(1))
    (ranking,) = rank_systems(DATA, Waiting(), np.random.default_rng(1), how)
    assert len(counted) == 6
    assert ranking.signature.endswith("|ranges:samples-6")


def test_the_signature_tells_a_posterior_from_resamples() -> None:
    told = {
        ranked(model, samples=30, unit=unit, shape=shape)[0].signature.partition("ranges:")[2]
        for model, unit, shape in (
            ("expected-wins", "comparison", "ends"),
            ("expected-wins", "row", "densest"),
            ("irt-gaussian", "comparison", "ends"),
            ("irt-gaussian", "row", "ends"),
        )
    }
    assert told == {"samples-30", "samples-30-row-densest", "posterior-30", "samples-30-row"}


def test_short_names_keep_the_team_and_stay_apart() -> None:
    names = ["wmt.uedin-heafield-unconstrained-primary.2755", "wmt.JHU.1"]
    assert short_names(names) == ["uedin-heafield-unc…mary.2755", "JHU.1"]
    assert max(map(len, short_names(names))) <= LONGEST
    alike = ["x" * 30 + "a" + "y" * 30, "x" * 30 + "b" + "y" * 30]
    assert short_names(alike) == alike
