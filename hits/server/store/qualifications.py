"""Qualifications: their types, workers' values of them, and tests with an answer key, which are scored at once.

Where workers live and how much of their work was approved are qualifications that the market itself keeps. The hit
that requires a test decides whether its score is enough. A type with a retry delay allows a second try, and no more,
so that nobody learns a test by heart.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from operator import eq, ge, gt, le, lt, ne

from hits.batch.question_xml import XmlError, child_text, parse_xml
from hits.qualifications import LOCALE, PERCENT_APPROVED
from hits.server.store.base import Part
from hits.server.store.people import find_worker, leave_message
from hits.server.store.records import Record, RefusedError, Request, Worker, insert, new_id

MAX_TRIES = 2
LATE_SECONDS = 60  # for a test's answers on their way
TYPE_COLUMNS = {  # and what a request that leaves one out means
    "Name": None,
    "Description": None,
    "Keywords": None,
    "QualificationTypeStatus": None,
    "RetryDelayInSeconds": None,
    "Test": None,
    "AnswerKey": None,
    "TestDurationInSeconds": None,
    "AutoGranted": False,
    "AutoGrantedValue": 1,
}
COMPARATORS = {
    "LessThan": lt,
    "LessThanOrEqualTo": le,
    "GreaterThan": gt,
    "GreaterThanOrEqualTo": ge,
    "EqualTo": eq,
    "NotEqualTo": ne,
}
SYSTEM_TYPES: dict[str, Record] = {  # those that the market itself keeps
    kind: {
        "number": 0,
        "QualificationTypeId": kind,
        "Name": name,
        "Description": description,
        "QualificationTypeStatus": "Active",
        "CreationTime": 0,
        "IsRequestable": False,
        "AutoGranted": False,
    }
    for kind, name, description in (
        (LOCALE, "Worker_Locale", "The country in which the worker lives"),
        (
            PERCENT_APPROVED,
            "Worker_PercentAssignmentsApproved",
            "The share of the worker's reviewed assignments that were approved, in percent, rounded down",
        ),
    )
}


def find_type(db: sqlite3.Connection, kind: str) -> Record:
    if kind in SYSTEM_TYPES:
        return SYSTEM_TYPES[kind]
    row = db.execute("SELECT * FROM qualification_types WHERE QualificationTypeId = ?", [kind]).fetchone()
    if row is None:
        raise RefusedError("QualificationTypeDoesNotExist", f"QualificationType {kind} does not exist.")
    return read_type(row)


def read_type(row: sqlite3.Row) -> Record:
    record = dict(row) | {"AutoGranted": bool(row["AutoGranted"])}
    return record | {"IsRequestable": bool(row["Test"] or row["AutoGranted"])}


def meets(rule: Record, value: int | str | None) -> bool:
    """Whether a worker's value (a country, for `LOCALE`) passes; without a value only DoesNotExist passes.

    >>> rule = {"Comparator": "In", "LocaleValues": [{"Country": "US"}, {"Country": "DE"}]}
    >>> meets(rule, "DE"), meets(rule, "FR"), meets(rule, None)
    (True, False, False)
    >>> meets({"Comparator": "GreaterThanOrEqualTo", "IntegerValues": [80]}, 80)
    True
    """
    comparator = rule["Comparator"]
    if comparator in ("Exists", "DoesNotExist"):
        return (value is None) is (comparator == "DoesNotExist")
    expected = rule.get("IntegerValues") or [place["Country"] for place in rule["LocaleValues"]]
    if value is None:
        return False
    if comparator in ("In", "NotIn"):
        return (value in expected) is (comparator == "In")
    return bool(COMPARATORS[comparator](value, expected[0]))


def unmet(db: sqlite3.Connection, worker: Worker, rules: Iterable[Record]) -> list[Record]:
    """The requirements that keep a worker from accepting a hit."""
    return [rule for rule in rules if not meets(rule, _value(db, worker, rule["QualificationTypeId"]))]


def _value(db: sqlite3.Connection, worker: Worker, kind: str) -> int | str | None:
    """The approval rate of a worker without reviewed work is 100, so that beginners may begin."""
    if kind == LOCALE:
        return worker.country
    if kind == PERCENT_APPROVED:
        sql = "SELECT count(*) FROM assignments WHERE WorkerId = ? AND AssignmentStatus = ?"
        approved, rejected = (
            int(db.execute(sql, [worker.id, status]).fetchone()[0]) for status in ("Approved", "Rejected")
        )
        return 100 * approved // (approved + rejected) if approved + rejected else 100
    sql = "SELECT IntegerValue FROM qualifications WHERE QualificationTypeId = ? AND WorkerId = ?"
    row = db.execute(sql, [kind, worker.id]).fetchone()
    return None if row is None else int(row[0])


def _give(db: sqlite3.Connection, kind: str, worker: str, value: int, now: int) -> None:
    db.execute("INSERT OR REPLACE INTO qualifications VALUES (?, ?, ?, ?)", [kind, worker, value, now])


class QualificationStore(Part):
    def create_type(self, request: Request, now: int) -> Record:
        kind = new_id()
        values = {name: request.get(name, default) for name, default in TYPE_COLUMNS.items()}
        with self.file.writing(now) as db:
            sql = "SELECT QualificationTypeId FROM qualification_types WHERE Name = ?"
            row = db.execute(sql, [values["Name"]]).fetchone()
            if row is not None:
                message = f"You have already created a QualificationType with this name: {row[0]}."
                raise RefusedError("QualificationTypeAlreadyExists", message)
            insert(db, "qualification_types", {"QualificationTypeId": kind, "CreationTime": now, **values})
            return find_type(db, kind)

    def find_type(self, kind: str) -> Record:
        with self.file.reading(0) as db:
            return find_type(db, kind)

    def types(
        self, query: str = "", *, requestable: bool = False, after: int = 0, limit: int = -1
    ) -> list[Record]:
        """The requester's own types whose name, description or keywords contain the query."""
        sql = """
            SELECT * FROM qualification_types WHERE number > ? AND (Test IS NOT NULL OR AutoGranted OR NOT ?)
                AND instr(lower(Name || char(10) || Description || char(10) || coalesce(Keywords, '')), lower(?))
            ORDER BY number LIMIT ?
        """
        with self.file.reading(0) as db:
            return [read_type(row) for row in db.execute(sql, [after, requestable, query, limit])]

    def give(self, kind: str, worker: str, value: int, now: int, *, notify: bool = False) -> None:
        with self.file.writing(now) as db:
            record = self._own_type(db, kind)
            _give(db, kind, find_worker(db, worker).id, value, now)
            if notify:
                subject = f"You have a new qualification: {record['Name']}"
                leave_message(db, worker, subject, record["Description"], now)

    def take_back(self, kind: str, worker: str, reason: str | None, now: int) -> None:
        """Take a qualification back; the worker finds the reason among the messages."""
        with self.file.writing(now) as db:
            record = self._own_type(db, kind)
            sql = "DELETE FROM qualifications WHERE QualificationTypeId = ? AND WorkerId = ?"
            if not db.execute(sql, [kind, find_worker(db, worker).id]).rowcount:
                message = f"The worker {worker} does not have the qualification {kind}."
                raise RefusedError("QualificationDoesNotExist", message)
            if reason:
                subject = f"Your qualification {record['Name']} was revoked"
                leave_message(db, worker, subject, reason, now)

    def ask(self, worker: str, kind: str, now: int) -> None:
        """What a worker does to get a qualification: it is granted at once, or its test begins."""
        with self.file.writing(now) as db:
            person, record = find_worker(db, worker), self._own_type(db, kind)
            if person.blocked is not None or record["QualificationTypeStatus"] != "Active":
                message = f"{record['Name']} cannot be requested now."
                raise RefusedError("InvalidQualificationTypeState", message)
            if record["AutoGranted"]:
                _give(db, kind, worker, record["AutoGrantedValue"], now)
            elif record["Test"]:
                self._start_test(db, worker, record, now)
            else:
                message = f"{record['Name']} is given by the requester alone."
                raise RefusedError("PermissionDeniedException", message)

    @staticmethod
    def _own_type(db: sqlite3.Connection, kind: str) -> Record:
        record = find_type(db, kind)
        if kind in SYSTEM_TYPES:
            message = f"{record['Name']} is kept by the market and cannot be changed."
            raise RefusedError("PermissionDeniedException", message)
        return record

    @staticmethod
    def _start_test(db: sqlite3.Connection, worker: str, kind: Record, now: int) -> None:
        name, kind_id, delay = kind["Name"], kind["QualificationTypeId"], kind["RetryDelayInSeconds"]
        tries = _tries(db, worker, kind, now)
        if tries and tries[-1]["open"]:
            return
        if tries and (delay is None or len(tries) >= MAX_TRIES):
            raise RefusedError("QualificationTypeDoesNotAllowRetake", f"{name} cannot be requested again.")
        if tries and (wait := (tries[-1]["submitted"] or tries[-1]["started"]) + delay - now) > 0:
            message = f"Try {name} again in {wait} seconds."
            raise RefusedError("QualificationTypeRetryDelayNotElapsed", message)
        values = {"id": new_id(), "QualificationTypeId": kind_id, "WorkerId": worker, "started": now}
        insert(db, "test_tries", values)

    def tries(self, worker: str, kind: str, now: int) -> list[Record]:
        """A worker's tries at a test, the oldest first; the last one may be ``open``."""
        with self.file.reading(now) as db:
            return _tries(db, worker, find_type(db, kind), now)

    def submit_test(self, try_id: str, worker: str, answers: Mapping[str, str], now: int) -> None:
        """Score a test's answers (question → selections, joined with ``|``); the score is the worker's value."""
        with self.file.writing(now) as db:
            sql = "SELECT * FROM test_tries WHERE id = ? AND WorkerId = ?"
            row = db.execute(sql, [try_id, worker]).fetchone()
            if row is None:
                message = f"There is no try {try_id} at a test."
                raise RefusedError("QualificationRequestDoesNotExist", message)
            kind = find_type(db, row["QualificationTypeId"])
            stored = json.dumps(dict(answers), ensure_ascii=False)
            if row["answers"] == stored:
                return
            if not _is_open(row, kind, now):
                message = "The test was handed in before, or its time is over."
                raise RefusedError("InvalidQualificationRequestState", message)
            value = score_test(kind["AnswerKey"], answers)
            sql = "UPDATE test_tries SET submitted = ?, answers = ?, value = ? WHERE id = ?"
            db.execute(sql, [now, stored, value, try_id])
            _give(db, kind["QualificationTypeId"], worker, value, now)


def _tries(db: sqlite3.Connection, worker: str, kind: Record, now: int) -> list[Record]:
    sql = "SELECT * FROM test_tries WHERE WorkerId = ? AND QualificationTypeId = ? ORDER BY number"
    rows = db.execute(sql, [worker, kind["QualificationTypeId"]])
    return [dict(row) | {"open": _is_open(row, kind, now)} for row in rows]


def _is_open(row: sqlite3.Row, kind: Record, now: int) -> bool:
    in_time = now <= row["started"] + kind["TestDurationInSeconds"] + LATE_SECONDS
    return row["submitted"] is None and in_time


def score_test(answer_key: str, answers: Mapping[str, str]) -> int:
    """The qualification's value for a worker's answers (question → selection): the scores of the options chosen.

    An answer key with a maximum makes it a percentage of that.

    >>> key = '''<AnswerKey><Question><QuestionIdentifier>q1</QuestionIdentifier><AnswerOption>
    ... <SelectionIdentifier>a</SelectionIdentifier><AnswerScore>1</AnswerScore></AnswerOption></Question>
    ... <QualificationValueMapping><PercentageMapping><MaximumSummedScore>3</MaximumSummedScore></PercentageMapping>
    ... </QualificationValueMapping></AnswerKey>'''
    >>> score_test(key, {"q1": "a"}), score_test(key, {"q1": "b"})
    (33, 0)
    """
    root = parse_xml(answer_key)
    options = [
        (child_text(question, "QuestionIdentifier"), child_text(option, "SelectionIdentifier"), option)
        for question in root.findall("{*}Question")
        for option in question.findall("{*}AnswerOption")
    ]
    if not options or root.find("{*}Question/{*}DefaultScore") is not None:
        raise XmlError(
            "expected an AnswerKey of questions with an AnswerOption each and without a DefaultScore"
        )
    scores = {(name, choice): _whole(child_text(option, "AnswerScore")) for name, choice, option in options}
    total = sum(score for (name, choice), score in scores.items() if answers.get(name) == choice)
    if root.find("{*}QualificationValueMapping") is None:
        return total
    maximum = _whole(
        root.findtext("{*}QualificationValueMapping/{*}PercentageMapping/{*}MaximumSummedScore") or ""
    )
    if maximum <= 0:
        raise XmlError(f"expected a MaximumSummedScore above 0, got {maximum}")
    return (200 * total + maximum) // (2 * maximum)  # halves are rounded up


def _whole(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,9}", text.strip()):
        raise XmlError(f"expected a whole number as a score, got {text!r}")
    return int(text)
