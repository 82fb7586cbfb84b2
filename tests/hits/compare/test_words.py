"""Outcomes and metrics in words."""

import pytest

from hits.compare.words import answer_line, fair_line, labels_line, legend, metric_words
from rypt.campaign.settings import Scoring
from rypt.options import MODELS, UNKNOWN_AS, scoring_words
from rypt.picks.metrics import parse_pick_metric, parse_pick_metrics
from rypt.picks.outcome import Outcome


@pytest.mark.parametrize(
    ("bounds", "start"),
    [
        (
            (0.053, 0.031, 0.076),
            "The picks of rypt are better than those of BLEU by +5.3 points (95 % interval +3.1 to +7.6): ",
        ),
        (
            (-0.053, -0.076, -0.031),
            "The picks of rypt are worse than those of BLEU by -5.3 points (95 % interval -7.6 to -3.1): ",
        ),
        (
            (0.01, -0.02, 0.04),
            "It is not shown whether the picks of rypt or those of BLEU are better: +1.0 points (",
        ),
    ],
)
def test_the_answer_says_whether_it_is_shown(bounds, start):
    outcome = Outcome("rypt", "bleu", 0.204, 0.645, 0.151, *bounds, 0.01, 529)
    assert answer_line(outcome).startswith(start)
    assert answer_line(outcome).endswith(
        "people scored them higher in 20.4 % of 529 segments and lower in 15.1 %."
    )


def test_names_with_labels_say_so():
    words = metric_words(parse_pick_metric("rypt:severity+0.2*chrf+2*system"))
    assert words == "rypt:severity+0.2*chrf+2*system (people's labels, chrF and the mean of each system)"
    words = metric_words(parse_pick_metric("bleu+2*system(rypt)"), "one rater's labels")
    assert words == "bleu+2*system(rypt) (one rater's labels, BLEU and the mean of each system)"


def outcome(metric, baseline, net=0.074):
    return Outcome(metric, baseline, 0.2, 0.7, 0.1, net, 0.052, 0.096, 0.01, 529)


def lines(rows):
    metrics = {name: parse_pick_metric(name) for row in rows for name in (row.metric, row.baseline)}
    return labels_line(rows, metrics), fair_line(rows, metrics)


def test_labels_alone_stand_below_the_answer():
    mixture = "rypt:severity+0.2*chrf+2*system"
    rows = [
        outcome(mixture, "rypt:severity"),
        outcome(mixture, "bleu"),
        outcome(mixture, "bleu+2*system"),
        outcome("rypt:half", "bleu", 0.06),
        outcome("rypt:severity", "chrf", 0.05),
        outcome("rypt:severity", "bleu"),
    ]
    labels, fair = lines(rows)
    assert labels == "Labels alone (rypt:severity): +7.4 points (95 % interval +5.2 to +9.6) against BLEU."
    assert fair == (
        "Against metrics that know the mean of each system, too: +7.4 points (95 % interval +5.2 to +9.6) against "
        "bleu+2*system."
    )
    assert lines(rows[3:]) == ("", "")  # the answer is about labels alone
    assert lines(rows[:4])[0] == ""
    assert lines([outcome("chrf", "bleu"), outcome("rypt", "bleu")]) == ("", "")
    assert lines([outcome("rypt+2*system", "bleu+4*system")]) == ("", "")


def test_each_term_has_one_line():
    metrics = parse_pick_metrics(
        "rypt+0.2*chrf,rypt:severity,bleu+2*system(rypt:severity),human,scores(x.jsonl),model"
    )
    lines = legend(metrics, Scoring(model="table"), ["rypt+0.2*chrf, permuted", "rypt", "random"])
    names = [line.split("  ")[0] for line in lines]
    assert names == [
        "rypt",
        "chrf",
        "A+0.2*B",
        "rypt:severity",
        "bleu",
        "2*system(rypt:severity)",
        "human",
        "scores(x.jsonl)",
        "model",
        "…, permuted",
        "random",
    ]
    assert "(model table)" in lines[0]
    assert legend([], Scoring()) == []


def test_every_model_is_said_in_other_words():
    every = {scoring_words(model, unknown) for model in MODELS for unknown in UNKNOWN_AS}
    assert len(every) == len(MODELS) - 1 + len(UNKNOWN_AS)
