"""Workers: careful ones and careless ones of every sort, and reports that agree with their definition."""

from collections import Counter, defaultdict
from collections.abc import Callable
from math import nan
from statistics import median
from typing import Any

import numpy as np
import pytest
from answered import COMPARISON_ITEM, assignment, database
from hypothesis import given
from hypothesis import strategies as st

from hits.results.answers import Results
from hits.results.content import Reply
from hits.results.quality import reports, worker_reports
from hits.results.verdicts import Share, Verdict, WorkerReport
from rypt.records import Judgment, Label, Span

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


def made(replies: list[Reply], **more: Any) -> dict[str, WorkerReport]:
    given = {"efforts": [], "controls": [], "excluded": []} | more
    return {report.worker: report for report in reports(replies, **given)}


# The definition, reply by reply


def defined(replies: list[Reply], excluded: set[str]) -> dict[str, tuple[Any, ...]]:
    """Agreement, its chance, repeats, shares and what others do, without columns."""
    last: dict[tuple[object, ...], dict[str, str]] = defaultdict(dict)
    clicks: dict[str, Counter[str]] = defaultdict(Counter)
    for r in replies:
        clicks[r.worker][r.shown] += 1
        if r.worker not in excluded:
            last[r.question][r.worker] = r.answer
    found = {}
    for worker in dict.fromkeys(r.worker for r in replies):
        mine = [r for r in replies if r.worker == worker]

        def others(question: tuple[object, ...], worker: str = worker) -> Counter[str]:
            return Counter(answer for other, answer in last[question].items() if other != worker)

        pairs, before, repeats = [], {}, []
        for question, answer in {r.question: r.answer for r in mine if not r.control}.items():
            votes = others(question).most_common(2)
            if votes and (len(votes) == 1 or votes[0][1] > votes[1][1]):
                pairs.append((answer, votes[0][0]))
        for r in mine:
            if r.question in before:
                repeats.append(before[r.question] == r.answer)
            before[r.question] = r.answer
        agreed, n = sum(a == b for a, b in pairs), len(pairs)
        theirs = Counter(b for _, b in pairs)
        chance = sum(theirs[a] for a, _ in pairs) / n**2 if n else nan
        top = clicks[worker].most_common(1)[0][0]
        rest = sum((c for w, c in clicks.items() if w != worker and w not in excluded), Counter[str]())
        expected = rest[top] / rest.total() if rest else nan
        if rest and top in LABELS:
            votes_on = [(others(r.question)[top], others(r.question).total()) for r in mine]
            expected = sum((k + 2 * expected) / (of + 2) for k, of in votes_on) / len(mine)
        found[worker] = (Share(agreed, n), chance, Share(sum(repeats), len(repeats)), top, expected)
    return found


WORKERS = st.sampled_from(["A1", "A2", "A3", "A4"])
LABEL_REPLIES = st.builds(
    lambda worker, question, label, control: Reply(worker, (question,), label, label, control),
    *(WORKERS, st.integers(1, 5), st.sampled_from(LABELS), st.booleans()),
)
SIDE_REPLIES = st.builds(
    lambda worker, question, side, turned: Reply(
        worker, (question, "x", "y"), {"A": "yx"[turned], "B": "xy"[turned]}.get(side, "EQUAL"), side
    ),
    *(WORKERS, st.integers(1, 3), st.sampled_from(["A", "B", "EQUAL"]), st.booleans()),
)


@given(st.lists(LABEL_REPLIES | SIDE_REPLIES, max_size=40), st.sets(WORKERS, max_size=2))
def test_reports_are_as_defined(replies: list[Reply], excluded: set[str]) -> None:
    found = made(replies, excluded=excluded)
    expected = defined(replies, excluded)
    assert found.keys() == expected.keys()
    for worker, (agreement, chance, repeats, top, others) in expected.items():
        r = found[worker]
        assert (r.agreement, r.repeats, r.top, r.excluded) == (agreement, repeats, top, worker in excluded)
        assert (r.chance, r.expected) == pytest.approx((chance, others), nan_ok=True)
        clicks = [reply.shown for reply in replies if reply.worker == worker]
        assert r.shares == {name: n / len(clicks) for name, n in Counter(clicks).items()}
        runs = "".join(" " * (a != b) + "x" for a, b in zip(clicks, ["", *clicks], strict=False)).split()
        assert r.longest_run == max(map(len, runs))


def test_no_replies_at_all() -> None:
    assert made([]) == {}
    found = made([], efforts=[("w", 30, 3), ("w", 8, 4), ("w", 10**6, 5), ("w", None, 5), ("w", 9, 0)])["w"]
    assert (found.seconds, found.assignments, found.answers) == (median([10.0, 2.0, 2e5]), 5, 0)
    assert found.verdict == Verdict.FEW


# Verdicts


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
    return made(replies, efforts=[(worker, 40, 5) for worker in everybody])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("strategy", ["always", "nearly", "random", "contrary"])
def test_careless_workers_are_bad_and_careful_ones_good(seed: int, strategy: str) -> None:
    found = simulate(seed, bad=STRATEGIES[strategy])
    assert found["bad"].verdict == Verdict.BAD
    assert all(found[f"good{i}"].verdict is Verdict.GOOD for i in range(4))


def test_sides_of_comparisons_are_no_names_of_systems() -> None:
    sides = {"left": "A", "other": "B"}
    found = made([Reply(w, (str(i),), "x", side) for w, side in sides.items() for i in range(50)])
    assert found["left"].reasons[0].startswith("the first text to 100% of 50")
    assert found["other"].reasons[0].startswith("the second text to 100% of 50")


def clicks(answers: int, seconds: float, others: str = "AB", controls: Share = NONE) -> WorkerReport:
    """The report on one who always clicks the first of two, among three workers who click both."""
    replies = [Reply("w", (str(i),), "x", "A") for i in range(answers)]
    replies += [
        Reply(f"o{n}", (str(i),), "x", others[(i + n) % len(others)])
        for n in range(3)
        for i in range(answers)
    ]
    outcomes = [("w", i < controls.hits) for i in range(controls.of)]
    return made(replies, efforts=[("w", round(10 * seconds), 10)], controls=outcomes)["w"]


def test_the_same_answer_to_everything_is_a_reason_with_few_answers_too() -> None:
    fast = clicks(15, 1.2)
    assert (fast.verdict, fast.reasons[0]) == (Verdict.BAD, "1.2 seconds an answer")
    assert fast.reasons[1].startswith("the first text to 100% of 15 (others: ")
    slow = clicks(15, 9)
    assert (slow.verdict, slow.reasons[0]) == (Verdict.FEW, "only 15 answers")
    assert clicks(9, 9).reasons == ("only 9 answers",)
    assert clicks(15, 9, others="AAAAB").reasons == ("only 15 answers",)  # not improbable
    controls = clicks(15, 9, controls=Share(2, 5))  # as many as are right on the first side
    assert (controls.verdict, controls.reasons[0]) == (Verdict.BAD, "2 of 5 controls right (40%)")
    assert controls.reasons[1] == slow.reasons[1]
    assert clicks(15, 9, others="AAAAB", controls=Share(2, 5)).verdict is Verdict.LOOK
    enough = clicks(20, 9, others="AAABB")  # improbable, but not enough for a bad verdict
    assert (enough.verdict, len(enough.reasons)) == (Verdict.LOOK, 1)


def report(answers: int = 50, seconds: float = 8.0, controls: Share = NONE) -> WorkerReport:
    replies = [Reply("w", (str(i),), LABELS[i % 2], LABELS[i % 2]) for i in range(answers)]
    outcomes = [("w", i < controls.hits) for i in range(controls.of)]
    return made(replies, efforts=[("w", round(10 * seconds), 10)], controls=outcomes)["w"]


@pytest.mark.parametrize(
    ("controls", "verdict"),
    [
        (Share(0, 0), Verdict.GOOD),
        (Share(0, 4), Verdict.FEW),  # a few may be mistakes of ours
        (Share(4, 4), Verdict.GOOD),
        (Share(4, 5), Verdict.GOOD),
        (Share(3, 5), Verdict.LOOK),
        (Share(1, 5), Verdict.LOOK),  # three of a hundred careful ones would do so badly
        (Share(0, 5), Verdict.BAD),
        (Share(50, 100), Verdict.BAD),
        (Share(95, 100), Verdict.GOOD),
    ],
)
def test_controls(controls: Share, verdict: Verdict) -> None:
    found = report(controls=controls)
    assert (found.controls, found.verdict) == (controls, verdict)
    if verdict in (Verdict.LOOK, Verdict.BAD):
        assert found.reasons[0].startswith(f"{controls.hits} of {controls.of} controls right")


@pytest.mark.parametrize(
    ("answers", "seconds", "verdict"),
    [(50, 2.3, "good"), (50, 1.9, "look"), (50, 0.9, "bad"), (5, 0.9, "look")],
)
def test_implausible_speed(answers: int, seconds: float, verdict: str) -> None:
    found = report(answers, seconds)
    assert (found.seconds, found.verdict) == (pytest.approx(seconds), Verdict(verdict))
    if verdict != "good":
        assert found.reasons == (f"{seconds:.1f} seconds an answer",)


def test_a_long_run_of_one_answer_is_worth_a_look() -> None:
    answers = ["YES", "NO"] * 60 + ["NO"] * 75 + ["YES"] * 5
    replies = [Reply("w", (str(i),), a, a) for i, a in enumerate(answers)]
    replies += [Reply("v", (str(i),), a, a) for i, a in enumerate(["YES", "NO"] * 100)]
    found = made(replies)
    assert (found["w"].verdict, found["w"].reasons[-1]) == (Verdict.LOOK, "76 equal answers in a row")
    assert found["v"].verdict is Verdict.GOOD


def test_one_who_answers_a_repeated_question_differently_is_worth_a_look() -> None:
    flipping = [Reply("w", (str(i),), a, a) for i in range(12) for a in ("YES", "NO")]
    found = made(flipping)["w"]
    assert (found.repeats, found.verdict) == (Share(0, 12), Verdict.LOOK)
    assert found.reasons == ("the same answer to 0 of 12 repeated questions only",)


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


# From a database


def test_reports_of_a_database() -> None:
    results = Results(database())
    other = {"label_1": "NO", "label_2": "NO", "label_3": "YES"}
    results.add([assignment(1), assignment(2, other, worker="A2", hit="H1", accepted=2022)])
    turned = {**COMPARISON_ITEM, "system_a": "bleu", "system_b": "rypt"}
    results.add(
        [assignment(3, {"choice": "A"}, COMPARISON_ITEM), assignment(4, {"choice": "B"}, turned, worker="A2")]
    )
    span = Span(0, 1)
    results.db.add([Judgment("7", span, f"p{i}", Label.YES, "F1", "file") for i in range(3)])
    results.db.add([Judgment("7", span, "p1", Label.NO, "S1", "demo", "simulation")])
    results.add_left_out([assignment(9, worker="A3", problem="no XML")])
    found = {r.worker: r for r in worker_reports(results)}
    assert set(found) == {"A1", "A2", "A3", "F1"}
    first, second = found["A1"], found["A2"]
    assert (first.answers, first.assignments, first.seconds) == (4, 2, 20.0)
    assert (first.controls, second.controls) == (Share(1, 1), Share(0, 1))
    assert first.agreement == second.agreement == Share(2, 3)  # a label, and the better system
    assert (second.seconds, found["F1"].shares) == (median([8 / 3, 30]), {"YES": 1.0})
    assert (found["A3"].verdict, found["A3"].unread) == (Verdict.LOOK, 1)
    results.db.exclude("A2", "spam")
    first, second = (r for r in worker_reports(results) if r.worker in ("A1", "A2"))
    assert (first.agreement, second.agreement) == (NONE, Share(2, 3))
    assert (first.excluded, second.excluded) == (False, True)
