"""Comparisons in tables, for the screen and for a paper, and in words."""

import pytest

from hits.compare.preferences import Preferences, preference_line, preference_tables
from hits.compare.report import answer_line, fair_line, labels_line, legend
from hits.compare.scores import OutcomeReport
from rypt.campaign.settings import Scoring
from rypt.picks.metrics import parse_pick_metric, parse_pick_metrics
from rypt.picks.outcome import Outcome, PickComparison

OUTCOME = Outcome("rypt:table+0.2*chrf", "bleu", 0.25, 0.6, 0.15, 0.1, 0.02, 0.18, 0.0123, 529)


def rows(table):
    return [tuple(part.strip() for part in line.rsplit(None, 2)) for line in table.splitlines()]


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
    assert [row[1] for row in rows(three)[2:]] == ["0", "0", "2", "0", "2", "2"]
    assert preference_line(hidden).startswith("People prefer bleu to rypt, reference hidden: +100.0 points (")


def test_outcomes():
    metric = parse_pick_metric("rypt:table+0.2*chrf")
    comparison = PickComparison([OUTCOME], {metric.name: -1.25, "best": 0.0}, 200)
    report = OutcomeReport(comparison, "signature", [], [], metrics=(metric, parse_pick_metric("bleu")))
    _, outcomes, _, quality, _ = report.text().split("\n\n")
    row = ["bleu", "25.0", "60.0", "15.0", "+10.0", "[+2.0,", "+18.0]", "0.012"]
    assert outcomes.splitlines()[2].split() == [metric.name, *row]
    assert quality.splitlines()[-2].split() == [metric.name, "-1.250"]
    assert r"95 \% interval" in report.text(latex=True)


@pytest.mark.parametrize(
    ("bounds", "start"),
    [
        ((0.053, 0.031, 0.076), "The picks of rypt are better than those of BLEU by +5.3 points ("),
        ((-0.053, -0.076, -0.031), "The picks of rypt are worse than those of BLEU by -5.3 points ("),
        ((0.01, -0.02, 0.04), "No significant difference between the picks of rypt and those of BLEU: +1.0 "),
    ],
)
def test_the_answer_says_whether_it_is_shown(bounds, start):
    outcome = Outcome("rypt", "bleu", 0.204, 0.645, 0.151, *bounds, 0.01, 529)
    assert answer_line(outcome).startswith(start)
    assert "20.4 % of 529 segments and lower in 15.1 %" in answer_line(outcome)


def outcome(metric, baseline, net=0.074):
    return Outcome(metric, baseline, 0.2, 0.7, 0.1, net, 0.052, 0.096, 0.01, 529)


def lines(rows):
    metrics = {name: parse_pick_metric(name) for row in rows for name in (row.metric, row.baseline)}
    return labels_line(rows, metrics), fair_line(rows, metrics)


def test_labels_alone_stand_below_the_answer():
    mixture = "rypt:severity+0.2*chrf+2*system"
    rows = [
        outcome(mixture, "bleu"),
        outcome(mixture, "bleu+2*system"),
        outcome("rypt:half", "bleu", 0.06),
        outcome("rypt:severity", "bleu"),
    ]
    labels, fair = lines(rows)
    assert labels.startswith("Labels alone (rypt:severity): +7.4 points (95 % interval +5.2 to +9.6)")
    assert fair.startswith("Against metrics that know the mean of each system, too: +7.4 points (")
    assert "bleu+2*system" in fair
    assert lines(rows[2:]) == ("", "")  # the answer is about labels alone
    assert lines(rows[:3])[0] == ""
    assert lines([outcome("rypt+2*system", "bleu+4*system")]) == ("", "")


def test_each_term_has_one_line():
    metrics = parse_pick_metrics(
        "rypt+0.2*chrf,rypt:severity,bleu+2*system(rypt:severity),human,scores(x.jsonl)"
    )
    lines = legend(metrics, Scoring(model="table"), ["rypt+0.2*chrf, permuted", "rypt", "random"])
    names = [line.split("  ")[0] for line in lines]
    terms = ["rypt", "chrf", "A+0.2*B", "rypt:severity", "bleu", "2*system(rypt:severity)", "human"]
    assert names == [*terms, "scores(x.jsonl)", "…, permuted", "random"]
    assert "(model table)" in lines[0]
    assert legend([], Scoring()) == []
