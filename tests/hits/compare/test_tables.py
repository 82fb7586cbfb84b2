"""Tables of comparisons, as text and for a paper."""

import scipy.stats

from hits.compare.preferences import Preferences, preference_line, preference_tables
from hits.compare.scores import OutcomeReport
from hits.records import same_text_note
from rypt.picks.metrics import parse_pick_metric
from rypt.picks.outcome import Outcome, PickComparison

# the paper's Tables 1 and 2: votes for RYPT, BLEU and neither of each of 250 segments
SHAPES = {
    (3, 0, 0): 45,
    (2, 0, 1): 15,
    (2, 1, 0): 40,
    (1, 0, 2): 20,
    (1, 1, 1): 41,
    (0, 0, 3): 1,
    (1, 2, 0): 40,
    (0, 1, 2): 15,
    (0, 2, 1): 5,
    (0, 3, 0): 28,
}
SEGMENTS = [shape for shape, count in SHAPES.items() for _ in range(count)]
PAPER = Preferences("rypt", "bleu", {str(i): shape for i, shape in enumerate(SEGMENTS)}, stale=2, identical=9)
OUTCOME = Outcome("rypt:table+0.2*chrf", "bleu", 0.25, 0.6, 0.15, 0.1, 0.02, 0.18, 0.0123, 529)


def rows(table):
    return [tuple(part.strip() for part in line.rsplit(None, 2)) for line in table.splitlines()]


def test_the_papers_tables():
    one, two = preference_tables([PAPER]).split("\n\n")
    assert rows(one)[2:] == [
        ("first by rypt", "346", "46.1"),
        ("first by bleu", "270", "36.0"),
        ("neither", "134", "17.9"),
        ("total", "750", "100.0"),
    ]
    assert rows(two)[2:] == [
        ("rypt +3", "45", "18.0"),
        ("rypt +2", "15", "6.0"),
        ("rypt +1", "60", "24.0"),
        ("±0", "42", "16.8"),
        ("bleu +1", "55", "22.0"),
        ("bleu +2", "5", "2.0"),
        ("bleu +3", "28", "11.2"),
        ("rypt +any", "120", "48.0"),
        ("bleu +any", "88", "35.2"),
        ("total", "250", "100.0"),
    ]


def test_for_a_paper():
    text = preference_tables([PAPER], latex=True)
    assert text.count(r"\begin{tabular}{lrr}") == text.count(r"\bottomrule") == 2
    assert r"rypt +3" in text
    assert r"\%" in text
    assert " %" not in text.replace(r"\%", "")


def test_the_two_halves_of_table_1():
    shown = Preferences("rypt", "bleu", {"1": (3, 0, 0), "2": (0, 1, 2)}, reference="shown")
    hidden = Preferences("rypt", "bleu", {"1": (0, 1, 0), "2": (0, 1, 0)}, reference="hidden")
    one, two, three = preference_tables([shown, hidden]).split("\n\n")
    assert "judgments, reference shown" in one
    assert [line.split()[-4:] for line in one.splitlines()[2:]] == [
        ["3", "50.0", "0", "0.0"],
        ["1", "16.7", "2", "100.0"],
        ["2", "33.3", "0", "0.0"],
        ["6", "100.0", "2", "100.0"],
    ]
    assert two.startswith("aggregate, reference shown")
    assert rows(three)[2:] == [
        ("rypt +1", "0", "0.0"),
        ("±0", "0", "0.0"),
        ("bleu +1", "2", "100.0"),
        ("rypt +any", "0", "0.0"),
        ("bleu +any", "2", "100.0"),
        ("total", "2", "100.0"),
    ]
    assert preference_line(hidden).startswith(
        "People prefer bleu to rypt, reference hidden: +100.0 points (95 % interval +100.0 to +100.0), "
        "% of the judgments for bleu - % for rypt; "
    )


def test_everything_beside_the_tables_is_a_comment_for_latex():
    named = Preferences("rypt:table+0.2*chrf", "bleu", {"1": (1, 0, 1), "2": (0, 0, 1)}, 2, 9, "shown", 1)
    text = preference_tables([named], latex=True) + "\n" + preference_line(named, latex=True)
    assert r"$\pm$0" in text
    assert "±" not in text
    inside = False
    for line in text.splitlines():
        inside = inside or line.startswith(r"\begin")
        assert inside or not line or line.startswith("% "), line
        inside = inside and not line.startswith(r"\end")
    assert "% SIMULATED: 1 of 3 preferences were given by no person" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2


def test_what_the_tables_say():
    said = preference_line(PAPER)
    assert said.startswith("People prefer rypt to bleu: +10.1 points (95 % interval +")
    assert "), % of the judgments for rypt - % for bleu; sign test" in said
    even = Preferences("a", "b", {"1": (1, 0, 0), "2": (0, 1, 0)})
    assert preference_line(even).startswith(
        "It is not shown whether people prefer a or b: +0.0 points (95 % interval -100.0 to +"
    )
    judgments, segments = (scipy.stats.binomtest(*won).pvalue for won in ((346, 346 + 270), (120, 120 + 88)))
    assert f"p = {judgments:.3g} over judgments, {segments:.3g} over segments" in said
    assert same_text_note(9) in said
    assert "2 judgments are about earlier picks and left out" in said
    assert "same text" not in preference_line(Preferences("a", "b", {"1": (1, 0, 0)}))


def test_outcomes():
    metric = parse_pick_metric("rypt:table+0.2*chrf")
    comparison = PickComparison([OUTCOME], {metric.name: -1.25, "best": 0.0}, 200)
    report = OutcomeReport(comparison, "signature", [], [], metrics=(metric, parse_pick_metric("bleu")))
    _, outcomes, _, quality, _ = report.text().split("\n\n")
    row = ["bleu", "25.0", "60.0", "15.0", "+10.0", "[+2.0,", "+18.0]", "0.012"]
    assert outcomes.splitlines()[2].split() == [metric.name, *row]
    assert quality.splitlines()[-2].split() == [metric.name, "-1.250"]
    assert r"95 \% interval" in report.text(latex=True)
