"""What people preferred: the paper's tables come out of the database, and only what counts is counted."""

import re

import numpy as np
import pytest
from answered import assignment, database

from hits.compare.preferences import Preferences, preference_line, preference_tables, read_preferences
from hits.records import REJECTED
from hits.results.answers import Results
from rypt.tails import sign_test

# judgments for RYPT, for BLEU, for neither, and how many of the paper's 250 segments had them (Tables 1 and 2)
PAPER = {
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


def item(segment, texts=("ours", "theirs"), systems=("rypt", "bleu"), **more):
    return {
        "item": f"{segment}-1",
        "segment": segment,
        "system_a": systems[0],
        "system_b": systems[1],
        "candidate_a": texts[0],
        "candidate_b": texts[1],
        "control": "",
        **more,
    }


class Asked:
    """A database that people answer comparisons in."""

    def __init__(self):
        self.results = Results(database())
        self.number = 0
        self.hits = {}

    def answer(self, columns, choice, worker="A1", **more):
        self.number += 1
        hit = self.hits.setdefault(tuple(columns.values()), f"H{len(self.hits)}")
        self.results.add(
            [assignment(self.number, {"choice": choice}, columns, worker=worker, hit=hit, **more)]
        )

    def read(self, ours="ours", theirs="theirs", segments=("7",), names=("rypt", "bleu")):
        texts = tuple(dict.fromkeys(segments, text) for text in (ours, theirs))
        (found,) = read_preferences(self.results, *names, texts) or [Preferences(*names, {})]
        return found


@pytest.fixture
def asked():
    return Asked()


@pytest.fixture(scope="module")
def paper():
    """250 segments with 3 judgments each, the picks on either side, as in the paper."""
    asked = Asked()
    texts = ({}, {})
    shapes = [shape for shape, count in PAPER.items() for _ in range(count)]
    for number, (ours, theirs, neither) in enumerate(shapes):
        segment = f"s{number}"
        texts[0][segment], texts[1][segment] = f"ours {number}", f"theirs {number}"
        turned = number % 2
        shown = item(
            segment,
            (texts[turned][segment], texts[1 - turned][segment]),
            ("bleu", "rypt") if turned else ("rypt", "bleu"),
        )
        first, second = ("B", "A") if turned else ("A", "B")
        for worker, choice in enumerate([first] * ours + [second] * theirs + ["EQUAL"] * neither):
            asked.answer(shown, choice, f"W{worker}")
    (found,) = read_preferences(asked.results, "rypt", "bleu", texts)
    return found


def rows(table):
    return [tuple(part.strip() for part in line.rsplit(None, 2)) for line in table.splitlines()[2:]]


def test_the_papers_tables_1_and_2(paper):
    assert paper.judgments == (346, 270, 134)
    assert paper.aggregates == {3: 45, 2: 15, 1: 60, 0: 42, -1: 55, -2: 5, -3: 28}
    assert paper.interval()[0] == pytest.approx((346 - 270) / 750)
    assert paper.interval()[1] > 0
    assert paper.p_judgments == sign_test(346, 270) < 0.01
    assert paper.p_segments == sign_test(120, 88) < 0.05
    one, two = map(rows, preference_tables([paper]).split("\n\n"))
    assert [row[1:] for row in one] == [("346", "46.1"), ("270", "36.0"), ("134", "17.9"), ("750", "100.0")]
    assert [row[0] for row in one] == ["first by rypt", "first by bleu", "neither", "total"]
    assert [int(row[1]) for row in two] == [45, 15, 60, 42, 55, 5, 28, 120, 88, 250]
    assert (two[3][0], two[7][0], two[7][2]) == ("±0", "rypt +any", "48.0")


def test_beside_tables_for_latex_are_comments():
    named = Preferences("rypt:table+0.2*chrf", "bleu", {"1": (1, 0, 1), "2": (0, 0, 1)}, 2, "shown", 1)
    text = preference_tables([named], latex=True) + "\n" + preference_line(named, latex=True)
    outside = re.sub(r"\\begin.*?\\end{tabular}", "", text, flags=re.DOTALL).splitlines()
    assert all(not line or line.startswith("% ") for line in outside)
    assert any("SIMULATED: 1 of 3 preferences" in line for line in outside)


def test_judgments_about_earlier_picks_are_left_out(asked):
    asked.answer(item("7"), "A", "A1")
    asked.answer(item("7", ("ours of old", "theirs")), "B", "A2")
    asked.answer(item("7", ("ours", "theirs of old")), "B", "A3")
    found = asked.read()
    assert (found.judgments, found.stale) == ((1, 0, 0), 2)
    assert asked.read("ours of old").judgments == (0, 1, 0)
    assert (asked.read(segments=("8",)).judgments, asked.read(segments=("8",)).stale) == ((0, 0, 0), 3)


def test_the_sides_do_not_matter(asked):
    asked.answer(item("7"), "A", "A1")
    asked.answer(item("7", ("theirs", "ours"), ("bleu", "rypt")), "B", "A2")
    asked.answer(item("7", ("theirs", "ours"), ("bleu", "rypt")), "A", "A3")
    assert asked.read().segments == {"7": (2, 1, 0)}
    turned = asked.read("theirs", "ours", names=("bleu", "rypt"))
    assert turned.segments == {"7": (1, 2, 0)}


def test_excluded_workers_rejected_work_controls_and_other_systems_do_not_count(asked):
    asked.answer(item("7", systems=("rypt", ""), control="A", control_kind="damaged"), "A")
    asked.answer(item("7", systems=("rypt", "chrf")), "A")
    asked.answer(item("7"), "A", "A1")
    asked.answer(item("7"), "B", "A2")
    asked.answer(item("7"), "B", "A3", status=REJECTED)
    assert asked.read().judgments == (1, 1, 0)
    asked.results.db.exclude("A2", "answers B to everything")
    assert asked.read().judgments == (1, 0, 0)


def test_rankings_are_no_comparisons_of_picks(asked):
    columns = {
        "item": "r",
        "segment": "7",
        "size": "5",
        "control": "",
        **{f"system_{i}": name for i, name in enumerate(["rypt", "bleu", "x", "y", "z"], 1)},
        **{f"candidate_{i}": f"text {i}" for i in range(1, 6)},
    }
    fields = {f"rank_{i}": str(i) for i in range(1, 6)}
    asked.results.add([assignment(1, fields, columns)])
    assert len(asked.results.comparisons()) == 10
    found = asked.read("text 1", "text 2")
    assert (found.judgments, found.stale) == ((0, 0, 0), 0)


def test_those_who_saw_the_reference_are_apart_from_those_who_did_not(asked):
    """The halves of the paper's Table 1; a worker who saw both pages answered two questions."""
    asked.answer(item("7", reference="R"), "A", "A1")
    asked.answer(item("7", reference="R"), "A", "A2")
    asked.answer(item("7"), "B", "A1")
    asked.answer(item("8", reference=" "), "EQUAL", "A3")
    texts = tuple(dict.fromkeys(("7", "8"), text) for text in ("ours", "theirs"))
    shown, hidden = read_preferences(asked.results, "rypt", "bleu", texts)
    assert (shown.reference, shown.segments) == ("shown", {"7": (2, 0, 0)})
    assert (hidden.reference, hidden.segments) == ("hidden", {"7": (0, 1, 0), "8": (0, 0, 1)})
    assert shown.title == "rypt against bleu, reference shown"
    assert hidden.as_dict()["reference"] == "hidden"


def test_the_last_answer_of_a_worker_to_a_question_counts(asked):
    asked.answer(item("7"), "A", "A1")
    asked.answer(item("7", ("theirs", "ours"), ("bleu", "rypt")), "A", "A1")
    asked.answer(item("7", ("ours", "theirs of old")), "A", "A1")  # another question
    assert asked.read().segments == {"7": (0, 1, 0)}
    assert asked.read().stale == 1


def test_the_difference_is_that_of_the_shares_where_segments_have_few_and_many_judgments():
    votes = {str(n): (4, 1, 0) if n % 2 else (0, 1, 0) for n in range(60)}
    found = Preferences("a", "b", votes)
    first, second, neither = found.judgments
    net, low, high = found.interval()
    assert net == pytest.approx((first - second) / (first + second + neither))
    assert low < net < high
    rng = np.random.default_rng(5)
    rows = np.array(list(votes.values()))[rng.integers(0, 60, (9_000, 60))].sum(axis=1)
    expected = np.quantile((rows[:, 0] - rows[:, 1]) / rows.sum(axis=1), [0.025, 0.975])
    assert (low, high) == pytest.approx(tuple(expected), abs=0.02)
