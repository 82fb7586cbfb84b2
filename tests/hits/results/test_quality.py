"""Workers: careful ones, careless ones of every sort, and the numbers of a campaign."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import comb, isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.records import Assignment
from hits.results.answers import Results
from hits.results.content import ControlAnswer
from hits.results.quality import Effort, Reply, read_replies, reports, worker_reports
from hits.results.verdicts import Limits, Share, Verdict, WorkerReport, improbability
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Judgment, Label, Segment, Span

LABELS = ("YES", "NO", "NOT_SURE")
NONE = Share(0, 0)
Strategy = Callable[[str, np.random.Generator], str]
STRATEGIES: dict[str, Strategy] = {
    "careful": lambda truth, rng: truth if rng.random() < 0.9 else str(rng.choice(LABELS)),
    "random": lambda truth, rng: str(rng.choice(LABELS)),
    "always": lambda truth, rng: "YES",
    "nearly": lambda truth, rng: "NO" if rng.random() < 0.02 else "YES",
    "contrary": lambda truth, rng: "YES" if truth == "NO" else "NO",
}


def simulate(seed: int = 1, questions: int = 120, **workers: Strategy) -> dict[str, WorkerReport]:
    """Reports of four careful workers and of these, who all answered the same questions."""
    rng = np.random.default_rng(seed)
    everybody = {**{f"good{i}": STRATEGIES["careful"] for i in range(4)}, **workers}
    replies = []
    for i in range(questions):
        truth = "YES" if rng.random() < 0.4 else "NO"
        for worker, strategy in everybody.items():
            answer = strategy(truth, rng)
            replies.append(Reply(worker, (str(i),), answer, answer))
    made = reports(replies, [Effort(worker, 40, 5) for worker in everybody], [], [], Limits())
    return {report.worker: report for report in made}


# Verdicts


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ("always", "YES to 100%"),
        ("nearly", "YES to"),
        ("random", "by chance"),
        ("contrary", "agrees with the others"),
    ],
)
def test_careless_workers_are_bad_and_careful_ones_good(seed: int, strategy: str, words: str) -> None:
    found = simulate(seed, bad=STRATEGIES[strategy])
    assert found["bad"].verdict == Verdict.BAD
    assert any(words in reason for reason in found["bad"].reasons), found["bad"].reasons
    for i in range(4):
        assert (found[f"good{i}"].verdict, found[f"good{i}"].reasons) == (
            Verdict.GOOD,
            ("nothing against it",),
        )


def test_a_careful_worker_among_workers_who_say_yes_to_everything_is_not_bad() -> None:
    """As in the paper's pilot, where such workers gave 40 % of the labels."""
    found = simulate(spam1=STRATEGIES["always"], spam2=STRATEGIES["always"], spam3=STRATEGIES["nearly"])
    assert {report.worker for report in found.values() if report.verdict == Verdict.BAD} == {
        "spam1",
        "spam2",
        "spam3",
    }


def test_few_answers_condemn_nobody() -> None:
    found = simulate(questions=10, bad=STRATEGIES["always"])
    assert found["bad"].verdict == Verdict.FEW
    assert found["bad"].reasons == ("only 10 answers", "YES to 100% of 10 (others: 50% of the same)")
    assert simulate(questions=1, bad=STRATEGIES["always"])["bad"].reasons == ("only 1 answer",)


def test_sides_of_comparisons_are_no_names_of_systems() -> None:
    replies = [
        Reply(worker, (str(i),), "x", "A" if worker == "left" else "B")
        for worker in ("left", "other")
        for i in range(50)
    ]
    found = {each.worker: each for each in reports(replies, [], [], [], Limits())}
    assert found["left"].reasons[0] == "the first text to 100% of 50 (others: 0% of the same)"
    assert found["other"].reasons[0].startswith("the second text to 100% of 50")


def report(answers: int = 50, seconds: float = 8.0, controls: Share = NONE) -> WorkerReport:
    replies = [Reply("w", (str(i),), LABELS[i % 2], LABELS[i % 2]) for i in range(answers)]
    outcomes = [
        ControlAnswer("w", 1, "repeat", "YES", "YES" if i < controls.hits else "NO", i < controls.hits)
        for i in range(controls.of)
    ]
    blank = ControlAnswer("w", 1, "repeat", "YES", "", passed=False)
    (found,) = reports(replies, [Effort("w", round(10 * seconds), 10)], [*outcomes, blank], [], Limits())
    return found


def clicks(answers: int, seconds: float, others: str = "AB", controls: Share = NONE) -> WorkerReport:
    """The report on one who always clicks the first of two, among three workers who click both."""
    replies = [Reply("w", (str(i),), "x", "A") for i in range(answers)]
    replies += [
        Reply(f"o{n}", (str(i),), "x", others[(i + n) % len(others)])
        for n in range(3)
        for i in range(answers)
    ]
    outcomes = [
        ControlAnswer("w", 1, "damaged", "A" if i < controls.hits else "B", "A", i < controls.hits)
        for i in range(controls.of)
    ]
    made = reports(replies, [Effort("w", round(10 * seconds), 10)], outcomes, [], Limits())
    return next(each for each in made if each.worker == "w")


def test_the_same_answer_to_everything_is_a_reason_with_few_answers_too() -> None:
    fast = clicks(15, 1.2)
    assert fast.verdict is Verdict.BAD
    assert fast.reasons[0] == "1.2 seconds an answer"
    assert fast.reasons[1].startswith("the first text to 100% of 15 (others: ")
    assert (slow := clicks(15, 9)).verdict is Verdict.FEW
    assert slow.reasons[0] == "only 15 answers"
    assert slow.reasons[1].startswith("the first text to 100% of 15")
    assert clicks(9, 9).reasons == ("only 9 answers",)
    assert clicks(15, 9, others="AAAAB").reasons == ("only 15 answers",)  # not improbable
    controls = clicks(15, 9, controls=Share(2, 5))  # as many as are right on the first side
    assert (controls.verdict, controls.reasons[0]) == (Verdict.BAD, "2 of 5 controls right (40%)")
    assert controls.reasons[1] == slow.reasons[1]
    assert clicks(15, 9, others="AAAAB", controls=Share(2, 5)).verdict is Verdict.LOOK
    enough = clicks(20, 9, others="AAABB")  # improbable, but not enough for a bad verdict
    assert (enough.verdict, len(enough.reasons)) == (Verdict.LOOK, 1)


def test_excluded_workers_are_not_among_the_others() -> None:
    given = [{"a": "YES", "b": "YES" if i else "NO", "spam": "NO", "more": "NO"} for i in range(30)]
    replies = [
        Reply(worker, (str(i),), label, label)
        for i, labels in enumerate(given)
        for worker, label in labels.items()
    ]
    counted = {each.worker: each for each in reports(replies, [], [], ["spam", "more"], Limits())}
    assert counted["a"].agreement == counted["b"].agreement == Share(29, 30)
    assert counted["spam"].agreement == Share(0, 29)
    assert counted["spam"].verdict is Verdict.BAD
    assert (counted["a"].verdict, counted["a"].expected) == (Verdict.GOOD, pytest.approx(0.967, abs=0.01))


@pytest.mark.parametrize(
    ("controls", "verdict"),
    [
        (Share(0, 0), Verdict.GOOD),
        (Share(0, 2), Verdict.FEW),  # one or two may be mistakes of ours
        (Share(0, 4), Verdict.FEW),
        (Share(3, 4), Verdict.FEW),
        (Share(4, 4), Verdict.GOOD),
        (Share(4, 5), Verdict.GOOD),
        (Share(3, 5), Verdict.LOOK),
        (Share(7, 10), Verdict.LOOK),
        (Share(2, 10), Verdict.BAD),
        (Share(0, 5), Verdict.BAD),
        (Share(1, 5), Verdict.LOOK),  # three of a hundred careful ones would do so badly
        (Share(50, 100), Verdict.BAD),
        (Share(95, 100), Verdict.GOOD),
    ],
)
def test_controls(controls: Share, verdict: Verdict) -> None:
    found = report(controls=controls)
    assert (found.controls, found.verdict) == (controls, verdict)  # the blank one is not counted
    (reason,) = found.reasons
    if verdict in (Verdict.LOOK, Verdict.BAD):
        assert reason.startswith(f"{controls.hits} of {controls.of} controls right ({controls.value:.0%})")
        assert ("so few have a chance of" in reason) == (verdict is Verdict.BAD)


def test_too_few_controls_are_told_and_condemn_nobody() -> None:
    found = report(controls=Share(0, 2))
    assert (found.verdict, found.reasons) == (Verdict.FEW, ("only 2 controls (0 right)",))
    assert report(controls=Share(0, 1)).reasons == ("only 1 control (0 right)",)
    assert report(controls=Share(0, 5)).reasons == (
        "0 of 5 controls right (0%); so few have a chance of 0.24% where 70% is usual",
    )


@pytest.mark.parametrize(
    ("answers", "seconds", "verdict"),
    [(50, 8.4, "good"), (50, 2.3, "good"), (50, 1.9, "look"), (50, 0.9, "bad"), (5, 0.9, "look")],
)
def test_implausible_speed(answers: int, seconds: float, verdict: str) -> None:
    found = report(answers, seconds)
    assert (found.seconds, found.verdict) == (pytest.approx(seconds), Verdict(verdict))
    if verdict != "good":
        assert found.reasons == (f"{seconds:.1f} seconds an answer",)


def test_the_time_of_an_answer_is_the_median_over_assignments() -> None:
    efforts = [
        Effort("w", 30, 3),
        Effort("w", 8, 4),
        Effort("w", 10**6, 5),
        Effort("w", None, 5),
        Effort("w", 9, 0),
    ]
    (found,) = reports([], efforts, [], ["w"], Limits())
    assert (found.seconds, found.assignments, found.excluded, found.answers) == (10.0, 5, True, 0)
    assert found.verdict == Verdict.FEW
    (found,) = reports([Reply("w", ("q",), "YES", "YES")], [], [], [], Limits())
    assert isnan(found.seconds)


def test_a_long_run_of_one_answer_is_worth_a_look() -> None:
    answers = ["YES", "NO"] * 60 + ["NO"] * 75 + ["YES"] * 5
    replies = [Reply("w", (str(i),), a, a) for i, a in enumerate(answers)]
    replies += [Reply("v", (str(i),), a, a) for i, a in enumerate(["YES", "NO"] * 100)]
    found = {r.worker: r for r in reports(replies, [], [], [], Limits())}
    assert found["w"].longest_run == 76
    assert (found["w"].verdict, found["w"].reasons[-1]) == (Verdict.LOOK, "76 equal answers in a row")
    assert (found["v"].longest_run, found["v"].verdict) == (1, Verdict.GOOD)


def test_self_agreement_counts_questions_that_came_again() -> None:
    replies = [Reply("w", ("q",), a, a) for a in ("YES", "YES", "NO", "NO")] + [
        Reply("w", ("r",), "NO", "NO")
    ]
    (found,) = reports(replies, [], [], [], Limits())
    assert found.repeats == Share(2, 3)
    flipping = [Reply("w", (str(i),), a, a) for i in range(12) for a in ("YES", "NO")]
    (found,) = reports(flipping, [], [], [], Limits())
    assert (found.repeats, found.verdict) == (Share(0, 12), Verdict.LOOK)
    assert found.reasons == ("the same answer to 0 of 12 repeated questions only",)


def test_agreement_is_with_the_majority_of_the_others_and_ties_are_left_out() -> None:
    answers = {"1": "YES YES NO", "2": "NO YES YES", "3": "YES NO YES", "4": "NO NO NO"}
    replies = [
        Reply(worker, (question,), answer, answer)
        for question, row in answers.items()
        for worker, answer in zip("abc", row.split(), strict=True)
    ]
    replies.append(Reply("a", ("5",), "YES", "YES"))  # nobody else
    replies += [Reply(worker, ("6",), "YES", "YES", control=True) for worker in "abc"]  # a control
    found = {r.worker: r for r in reports(replies, [], [], [], Limits())}
    assert found["a"].agreement == Share(1, 2)  # question 2: no; 4: yes
    assert found["b"].agreement == Share(1, 2)
    assert found["a"].chance == 0.5  # says NO to both, the others to one of them
    assert found["a"].shares == {"NO": 2 / 6, "YES": 4 / 6}


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_interval_is_wilsons(hits: int, misses: int) -> None:
    share = Share(hits, hits + misses)
    assert 0 <= share.low <= share.high <= 1
    if share.of:
        assert share.low - 1e-12 <= share.value <= share.high + 1e-12
        for end in (share.low, share.high):  # where the score test just accepts the share
            if 1e-9 < end < 1 - 1e-9:
                z = abs(share.value - end) / (end * (1 - end) / share.of) ** 0.5
                assert z == pytest.approx(1.96, abs=0.001)


@given(st.integers(1, 40), st.data())
def test_the_improbability_bounds_the_binomial_tail(n: int, data: Any) -> None:
    k, p = data.draw(st.integers(0, n)), data.draw(st.floats(0.05, 0.95))
    tail = sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
    assert improbability(Share(k, n), p) >= tail - 1e-12
    assert improbability(Share(n, n), p) == pytest.approx(p**n)
    assert improbability(Share(n, n), 0.0) == 0.0


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("123456"), st.sampled_from(LABELS)), max_size=40
    )
)
def test_names_do_not_matter(given_replies: list[tuple[str, str, str]]) -> None:
    def made(rename: Callable[[str], str]) -> Sequence[WorkerReport]:
        replies = [Reply(rename(w), (f"{q}?",), a, a) for w, q, a in given_replies]
        return reports(replies, [], [], [], Limits(answers=3, run=3))

    first = {
        r.worker: (r.agreement, r.repeats, r.shares, r.longest_run, r.verdict) for r in made(lambda w: w)
    }
    second = {
        r.worker: (r.agreement, r.repeats, r.shares, r.longest_run, r.verdict)
        for r in made(lambda w: f"z{w}")
    }
    assert {f"z{worker}": facts for worker, facts in first.items()} == second


# From a database

ITEM = {
    "segment": "7",
    "start": "0",
    "stop": "1",
    "phrase_1": "a",
    "phrase_2": "b",
    "phrase_3": "c",
    "phrase_4": "d",
    "control_4": "NO",
    "control_kind_4": "damaged",
}
REWARD = {"Reward": "$0.04", "MaxAssignments": "2"}


def filled(*rows: tuple[str, str, str, int]) -> Results:
    """A database with assignments: hit, worker, four labels (Y, N, ?, and . for none), seconds."""
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("7", "ja")])
    results = Results(db)
    names = {"Y": "YES", "N": "NO", "?": "NOT_SURE", ".": ""}
    for number, (hit, worker, labels, seconds) in enumerate(rows):
        fields = {f"label_{i}": names[label] for i, label in enumerate(labels, start=1)}
        answer = Assignment(
            batch="b1",
            item=hit,
            hit=hit,
            id=f"X{number}",
            worker=worker,
            fields=fields,
            accepted=1000 * number,
            submitted=1000 * number + seconds,
        )
        item = {**ITEM, "item": hit, "phrase_1": f"a{hit}", "phrase_2": f"b{hit}", "phrase_3": f"c{hit}"}
        results.add([replace(answer, columns=item, facts=REWARD)])
    return results


def test_reports_of_a_database() -> None:
    results = filled(("H1", "A1", "YN?N", 40), ("H1", "A2", "YNNY", 8), ("H2", "A1", "Y..N", 10))
    results.db.exclude("A2", "spam")
    first, second = worker_reports(results)
    assert (first.worker, first.answers, first.assignments, first.seconds) == ("A1", 6, 2, 7.5)
    assert (first.controls, second.controls) == (Share(2, 2), Share(0, 1))
    assert (first.agreement, first.repeats) == (Share(0, 0), Share(1, 1))  # the only other one is excluded
    assert second.agreement == Share(2, 3)
    results.db.include("A2")
    assert worker_reports(results)[0].agreement == Share(2, 3)
    results.db.exclude("A2", "spam")
    assert (first.excluded, second.excluded) == (False, True)


def test_comparisons_are_judged_by_what_is_meant() -> None:
    results = filled()
    item = {"item": "c", "segment": "7", "system_a": "x", "system_b": "y"}
    turned = {**item, "system_a": "y", "system_b": "x"}
    for number, (worker, columns, choice) in enumerate(
        [("A1", item, "A"), ("A2", turned, "B"), ("A3", item, "EQUAL"), ("A3", {**item, "segment": "8"}, "A")]
    ):
        answer = Assignment(
            batch="b1",
            item="c",
            hit=f"C{number}",
            id=f"Y{number}",
            worker=worker,
            fields={"choice": choice},
            accepted=0,
            submitted=30,
        )
        results.add([replace(answer, columns=columns)])
    assert {(r.worker, r.answer, r.shown) for r in read_replies(results)} == {
        ("A1", "x", "A"),
        ("A2", "x", "B"),
        ("A3", "EQUAL", "EQUAL"),
        ("A3", "x", "A"),
    }
    found = {r.worker: r for r in worker_reports(results)}
    assert found["A3"].agreement == Share(0, 1)
    assert found["A3"].seconds == 30


def test_judgments_from_a_file_are_looked_at_and_simulated_ones_are_not() -> None:
    results = filled(("H1", "A1", "YN?N", 40))
    span = Span(0, 1)
    given = [Judgment("7", span, f"p{i}", Label.YES, "F1", "file") for i in range(3)]
    results.db.add([*given, Judgment("7", span, "aH1", Label.NO, "S1", "demo", "simulation")])
    found = {r.worker: r for r in worker_reports(results)}
    assert set(found) == {"A1", "F1"}
    assert (found["F1"].answers, found["F1"].shares) == (3, {"YES": 1.0})
    assert found["A1"].answers == 4  # its own judgments are not taken for imported ones
