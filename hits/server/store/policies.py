"""Review policies, by which work reviews itself: ScoreMyKnownAnswers and SimplePlurality, as Mechanical Turk had them.

*ScoreMyKnownAnswers* compares each submitted assignment with an answer key: its score is the percentage of right
answers. *SimplePlurality* runs when a hit is complete: for each question the most frequent answer is agreed if its
percentage reaches the threshold; a worker's score is the percentage of agreed questions answered so, the hit's that of
questions agreed on. By these scores work is approved or rejected, and a hit gets one more place.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hits.server.store.base import MarketFile
from hits.server.store.records import AssignmentStatus, invalid

KNOWN, PLURALITY = "ScoreMyKnownAnswers/2011-09-01", "SimplePlurality/2011-09-01"
ASSIGNMENT, HIT = "Assignment", "HIT"
SCORES = (0, 101)
NUMBERS = {
    "ApproveIfKnownAnswerScoreIsAtLeast": SCORES,
    "RejectIfKnownAnswerScoreIsLessThan": SCORES,
    "ExtendIfKnownAnswerScoreIsLessThan": SCORES,
    "ExtendMaximumAssignments": (2, 25),
    "ExtendMinimumTimeInSeconds": (3600, 365 * 86400),
    "QuestionAgreementThreshold": SCORES,
    "ApproveIfWorkerAgreementScoreIsAtLeast": SCORES,
    "RejectIfWorkerAgreementScoreIsLessThan": SCORES,
    "ExtendIfHITAgreementScoreIsLessThan": SCORES,
    "DisregardAssignmentIfKnownAnswerScoreIsLessThan": SCORES,
}
EXTENSIONS = ("ExtendMaximumAssignments", "ExtendMinimumTimeInSeconds")
MEMBERS = {
    KNOWN: (
        "AnswerKey",
        "ApproveIfKnownAnswerScoreIsAtLeast",
        "ApproveReason",
        "RejectIfKnownAnswerScoreIsLessThan",
        "RejectReason",
        "ExtendIfKnownAnswerScoreIsLessThan",
        *EXTENSIONS,
    ),
    PLURALITY: (
        "QuestionIds",
        "QuestionAgreementThreshold",
        "DisregardAssignmentIfRejected",
        "DisregardAssignmentIfKnownAnswerScoreIsLessThan",
        "ExtendIfHITAgreementScoreIsLessThan",
        *EXTENSIONS,
        "ApproveIfWorkerAgreementScoreIsAtLeast",
        "ApproveReason",
        "RejectIfWorkerAgreementScoreIsLessThan",
        "RejectReason",
    ),
}
NEEDED = {KNOWN: ("AnswerKey",), PLURALITY: ("QuestionIds", "QuestionAgreementThreshold")}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as it was asked for (``request``), and its parameters: numbers, texts and lists by name."""

    request: Mapping[str, Any]
    numbers: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    questions: Sequence[str] = ()
    answers: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """One finding of a policy: a key and its value, of an assignment or a hit, and perhaps of a question."""

    level: str
    subject: str
    subject_type: str
    question: str | None
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class PolicyAction:
    """What a policy did, or could not do: approve, reject, extend."""

    level: str
    name: str
    target: str
    target_type: str
    status: str
    completed: int
    result: str


def read_policy(value: Mapping[str, Any], expected: str) -> Policy:
    """A policy of a request, checked; ``expected`` is the one for its level."""
    name = value["PolicyName"]
    if name != expected:
        raise invalid("PolicyName", f"expected {expected} at this level, found {name[:100]!r}")
    numbers: dict[str, int] = {}
    texts: dict[str, str] = {}
    questions: tuple[str, ...] = ()
    answers: dict[str, frozenset[str]] = {}
    for parameter in value.get("Parameters", ()):
        key, values = parameter.get("Key", ""), parameter.get("Values", [])
        if key not in MEMBERS[name]:
            raise invalid(f"{name}.Parameters", f"unknown parameter {key[:100]!r}")
        if key == "AnswerKey":
            answers = {
                str(e.get("Key")): frozenset(e.get("Values", ())) for e in parameter.get("MapEntries", ())
            }
        elif key == "QuestionIds":
            questions = tuple(values)
        elif len(values) != 1:
            raise invalid(f"{name}.{key}", f"expected one value, found {len(values)}")
        elif key in NUMBERS:
            numbers[key] = _number(f"{name}.{key}", values[0], *NUMBERS[key])
        else:
            texts[key] = values[0]
    given = {*numbers, *texts, *(["AnswerKey"] if answers else []), *(["QuestionIds"] if questions else [])}
    for needed in NEEDED[name]:
        if needed not in given:
            raise invalid(name, f"expected the parameter {needed}")
    if any(key.startswith("ExtendIf") for key in numbers) and not set(EXTENSIONS) <= numbers.keys():
        raise invalid(name, f"expected {' and '.join(EXTENSIONS)} beside the condition")
    return Policy(value, numbers, texts, questions, answers)


def _number(path: str, text: str, low: int, high: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
        raise invalid(path, f"expected a number from {low} to {high}, found {text[:100]!r}")
    return int(text)


def known_score(answers: Mapping[str, str], key: Mapping[str, frozenset[str]]) -> tuple[int, dict[str, bool]]:
    """The percentage of questions answered as the key says, rounded down, and each question.

    >>> known_score({"a": "1", "b": "x|y"}, {"a": frozenset({"1"}), "b": frozenset({"x"})})
    (50, {'a': True, 'b': False})
    """
    right = {question: _chosen(answers, question) == wanted for question, wanted in key.items()}
    return 100 * sum(right.values()) // len(right), right


def plurality(
    given: Sequence[Mapping[str, str]], questions: Sequence[str]
) -> dict[str, tuple[frozenset[str], int]]:
    """For each question the most frequent answer and the percentage that gave it; none where two are as frequent."""
    agreed: dict[str, tuple[frozenset[str], int]] = {}
    for question in questions:
        ranked = Counter(_chosen(answers, question) for answers in given).most_common(2)
        if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]):
            agreed[question] = (ranked[0][0], 100 * ranked[0][1] // len(given))
    return agreed


def _chosen(answers: Mapping[str, str], question: str) -> frozenset[str]:
    return frozenset(filter(None, answers.get(question, "").split("|")))


@dataclass(frozen=True, slots=True)
class PolicyStore:
    """The policies of hits, and what they found and did."""

    file: MarketFile

    def of_hit(self, hit: str, now: int) -> dict[str, Policy]:
        """The policies of a hit by their level."""
        with self.file.reading(now) as db:
            return read_policies(db, hit)

    def results(self, hit: str, now: int) -> tuple[list[PolicyResult], list[PolicyAction]]:
        """What the policies of a hit found and did, in order."""
        with self.file.reading(now) as db:
            results = db.execute(
                "SELECT level, subject, subject_type, question, key, value FROM policy_results WHERE hit = ?"
                " ORDER BY number",
                [hit],
            ).fetchall()
            done = db.execute(
                "SELECT level, name, target, target_type, status, completed, result FROM policy_actions WHERE hit = ?"
                " ORDER BY number",
                [hit],
            ).fetchall()
        return [PolicyResult(*row) for row in results], [PolicyAction(*row) for row in done]


def keep_policies(db: sqlite3.Connection, hit: str, policies: Mapping[str, Policy]) -> None:
    """Inside a transaction: note the policies of a new hit."""
    for level, policy in policies.items():
        db.execute("INSERT INTO policies VALUES (?, ?, ?)", [hit, level, json.dumps(policy.request)])


def read_policies(db: sqlite3.Connection, hit: str) -> dict[str, Policy]:
    """The policies of a hit by their level."""
    names = {ASSIGNMENT: KNOWN, HIT: PLURALITY}
    rows = db.execute("SELECT level, request FROM policies WHERE hit = ?", [hit])
    return {row["level"]: read_policy(json.loads(row["request"]), names[row["level"]]) for row in rows}


def run_policies(db: sqlite3.Connection, hit: str, assignment: str, now: int) -> None:
    """Inside a transaction, after an assignment was submitted: score it, then the hit if it is complete."""
    policies = read_policies(db, hit)
    if not policies:
        return
    if known := policies.get(ASSIGNMENT):
        _score_assignment(db, known, hit, assignment, now)
    row = db.execute(
        "SELECT max_assignments - submitted - completed FROM hits WHERE id = ?", [hit]
    ).fetchone()
    if (agreement := policies.get(HIT)) and row[0] <= 0:
        _score_hit(db, agreement, hit, now)


def _score_assignment(db: sqlite3.Connection, policy: Policy, hit: str, assignment: str, now: int) -> None:
    score, right = known_score(_answers(db, assignment), policy.answers)
    for question, correct in right.items():
        _note(
            db,
            hit,
            PolicyResult(
                ASSIGNMENT, assignment, ASSIGNMENT, question, "KnownAnswerCorrect", str(int(correct))
            ),
        )
    _note(db, hit, PolicyResult(ASSIGNMENT, assignment, ASSIGNMENT, None, "KnownAnswerScore", str(score)))
    _review(db, policy, ASSIGNMENT, "KnownAnswerScore", hit, assignment, score, now)
    if score < policy.numbers.get("ExtendIfKnownAnswerScoreIsLessThan", 0):
        _extend(db, policy, ASSIGNMENT, hit, now)


def _score_hit(db: sqlite3.Connection, policy: Policy, hit: str, now: int) -> None:
    rows = db.execute(
        "SELECT id, status FROM assignments WHERE hit = ? AND submitted IS NOT NULL", [hit]
    ).fetchall()
    names = [row["id"] for row in rows if not _disregarded(db, policy, row)]
    given = {name: _answers(db, name) for name in names}
    agreed = plurality(list(given.values()), policy.questions)
    threshold = policy.numbers["QuestionAgreementThreshold"]
    clear = {question: answer for question, (answer, share) in agreed.items() if share >= threshold}
    for question in policy.questions:
        _, share = agreed.get(question, (frozenset(), 0))
        _note(db, hit, PolicyResult(HIT, hit, HIT, question, "QuestionAgreementScore", str(share)))
        if question in clear:
            text = "|".join(sorted(clear[question]))
            _note(db, hit, PolicyResult(HIT, hit, HIT, question, "AgreedAnswer", text))
    whole = 100 * len(clear) // len(policy.questions)
    _note(db, hit, PolicyResult(HIT, hit, HIT, None, "HITAgreementScore", str(whole)))
    for name in names:
        same = sum(_chosen(given[name], question) == answer for question, answer in clear.items())
        score = 100 * same // len(clear) if clear else 0
        _note(db, hit, PolicyResult(HIT, name, ASSIGNMENT, None, "WorkerAgreementScore", str(score)))
        _review(db, policy, HIT, "WorkerAgreementScore", hit, name, score, now)
    if whole < policy.numbers.get("ExtendIfHITAgreementScoreIsLessThan", 0):
        _extend(db, policy, HIT, hit, now)


def _disregarded(db: sqlite3.Connection, policy: Policy, row: sqlite3.Row) -> bool:
    """Whether an assignment does not count for the agreement: it was rejected, or knew too little."""
    if (
        policy.texts.get("DisregardAssignmentIfRejected", "").lower() == "true"
        and row["status"] == "rejected"
    ):
        return True
    least = policy.numbers.get("DisregardAssignmentIfKnownAnswerScoreIsLessThan", 0)
    sql = "SELECT value FROM policy_results WHERE subject = ? AND key = 'KnownAnswerScore' ORDER BY number DESC LIMIT 1"
    score = db.execute(sql, [row["id"]]).fetchone()
    return score is not None and int(score["value"]) < least


def _answers(db: sqlite3.Connection, assignment: str) -> dict[str, str]:
    row = db.execute("SELECT fields FROM answers WHERE assignment = ?", [assignment]).fetchone()
    answers: dict[str, str] = json.loads(row["fields"])
    return answers


def _review(
    db: sqlite3.Connection,
    policy: Policy,
    level: str,
    score_name: str,
    hit: str,
    assignment: str,
    score: int,
    now: int,
) -> None:
    """Approve or reject by a score, where the policy says so; work that was reviewed before stays."""
    approve = policy.numbers.get(f"ApproveIf{score_name}IsAtLeast")
    reject = policy.numbers.get(f"RejectIf{score_name}IsLessThan")
    wanted = (
        "approve"
        if approve is not None and score >= approve
        else "reject"
        if reject and score < reject
        else ""
    )
    if not wanted:
        return
    row = db.execute("SELECT status FROM assignments WHERE id = ?", [assignment]).fetchone()
    done = row["status"] == AssignmentStatus.SUBMITTED
    if done:
        reason = policy.texts.get("ApproveReason" if wanted == "approve" else "RejectReason")
        column, status = ("approved", "approved") if wanted == "approve" else ("rejected", "rejected")
        db.execute(
            f"UPDATE assignments SET status = ?, {column} = ?, feedback = coalesce(?, feedback) WHERE id = ?",
            [status, now, reason, assignment],
        )
    status = "Succeeded" if done else "Cancelled"
    _did(db, hit, PolicyAction(level, wanted, assignment, ASSIGNMENT, status, now, f"score {score}"))


def _extend(db: sqlite3.Connection, policy: Policy, level: str, hit: str, now: int) -> None:
    """One more place, up to the policy's maximum, and time for it."""
    most, least = policy.numbers["ExtendMaximumAssignments"], policy.numbers["ExtendMinimumTimeInSeconds"]
    changed = db.execute(
        "UPDATE hits SET max_assignments = max_assignments + 1, expiration = max(expiration, ?)"
        " WHERE id = ? AND max_assignments < ?",
        [now + least, hit, most],
    ).rowcount
    status = "Succeeded" if changed else "Cancelled"
    _did(db, hit, PolicyAction(level, "extend", hit, HIT, status, now, f"at most {most} assignments"))


def _note(db: sqlite3.Connection, hit: str, r: PolicyResult) -> None:
    db.execute(
        "INSERT INTO policy_results (hit, level, subject, subject_type, question, key, value)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [hit, r.level, r.subject, r.subject_type, r.question, r.key, r.value],
    )


def _did(db: sqlite3.Connection, hit: str, a: PolicyAction) -> None:
    db.execute(
        "INSERT INTO policy_actions (hit, level, name, target, target_type, status, completed, result)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [hit, a.level, a.name, a.target, a.target_type, a.status, a.completed, a.result],
    )
