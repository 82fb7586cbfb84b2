"""Tables with a header, and JSON records: which column is what, guessed from their names or given by the user.

A table of comparisons has two systems and a winner (or a score for each of the two, or a column for each outcome with 1
where it came out), a table of scores has a system and a score. The names of columns
are compared without case, spaces and underscores: ``System A``, ``system_a`` and ``systemA`` are the same.
"""

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hits.ranking.data import Comparisons, comparisons_of
from hits.ranking.readers.languages import pair_key
from hits.ranking.scores.data import ScoreRecord, SegmentScores, scores_of
from rypt.text import InputError, PathLike, RyptError

Lines = Sequence[tuple[int, str]]
Row = tuple[int, dict[str, str]]  # line, and the values by role
Part = tuple[str, Comparisons | SegmentScores]  # language pair, empty where it is unknown

ALIASES = {
    "a": "systema system1 sysa sys1 modela model1 mta mt1 a left first firstsystem systemleft outputa candidatea",
    "b": "systemb system2 sysb sys2 modelb model2 mtb mt2 b right second secondsystem systemright outputb candidateb",
    "winner": "winner choice preference preferred preferredsystem better bettersystem outcome result verdict judgment "
    "judgement answer vote label decision winnersystem",
    "system": "system systemid sysid sys systemname mtsystem model engine modelid mt",
    "score": "score overall rating da esa mqm scr rawscr esascore mqmscore dascore rawscore humanscore human segscore "
    "value directassessment sqm xsts penalty mqmavgscore psqmavgscore avgscore",
    "segment": "segment segmentid segid seg globalsegid globalsegmentid item itemid lineid line srcindex sentence "
    "sentenceid sourceid sid srcid id index i example exampleid question questionid promptid",
    "document": "document documentid docid doc documentname docname",
    "domain": "domain domainname domainid genre",
    "rater": "rater raterid annotator annotatorid worker workerid judge judgeid user userid username evaluator "
    "evaluatorid assessor participant",
    "source": "sourcelanguage sourcelang srclang srclanguage langsrc sl inputsrc",
    "target": "targetlanguage targetlang trglang tgtlang tgtlanguage trglanguage langtgt tl inputtrg",
    "languages": "languages languagepair langpair langs lp pair",
    "type": "itemtype segmenttype type",
    "row": "rankingid ranking row rowid group",
    "direction": "direction higherisbetter scoredirection",
    "score_a": "scorea score1 ratinga rating1 systemascore system1score modelascore model1score ascore ranka",
    "score_b": "scoreb score2 ratingb rating2 systembscore system2score modelbscore model2score bscore rankb",
    "winner_a": "winnermodela winnersystema winnera awins",
    "winner_b": "winnermodelb winnersystemb winnerb bwins",
    "tie": "winnertie tie ties tied",
    "whole": "isdocscore isdocument isdocumentscore",
}
_DECIMAL = re.compile(r"^(-?\d+),(\d+)$")  # as spreadsheets of many countries write numbers
ROLE_OF = {alias: role for role, aliases in ALIASES.items() for alias in aliases.split()}
DELIMITERS = "\t,;| "  # WMT's files of direct assessment have spaces
PENALTIES = ("mqm", "mqmscore", "mqmavgscore", "penalty")  # columns whose numbers from 0 up are penalties
SCALES = {
    "da": "DA",
    "dascore": "DA",
    "directassessment": "DA",
    "esa": "ESA",
    "esascore": "ESA",
    "mqm": "MQM",
    "mqmscore": "MQM",
    "mqmavgscore": "MQM",
    "sqm": "SQM",
    "psqmavgscore": "SQM",
    "xsts": "XSTS",
}
FIRST = {
    "a",
    "first",
    "left",
    "systema",
    "system1",
    "modela",
    "model1",
    "sysa",
    "sys1",
    ">",
    "aisbetter",
    "abetter",
}
SECOND = {
    "b",
    "second",
    "right",
    "systemb",
    "system2",
    "modelb",
    "model2",
    "sysb",
    "sys2",
    "<",
    "bisbetter",
    "bbetter",
}
TIE = {
    "tie",
    "tied",
    "ties",
    "equal",
    "same",
    "both",
    "neither",
    "none",
    "draw",
    "=",
    "==",
    "nopreference",
    "equals",
    "equallygood",
    "bothgood",
    "bothbad",
    "tiebothbad",
    "nodifference",
}
NOT_RATED = ("", "none", "nan", "null", "na", "n/a", "-")
RATED = (
    "TGT",
    "SYSTEM",
)  # types of items that do not test the rater, of Appraise and of WMT's direct assessment
BEST_RANKS = ("ranka", "rankb")  # columns of two ranks instead of two scores: the lower is better
TRUE, FALSE = ("1", "1.0", "true", "yes", "x"), ("", "0", "0.0", "false", "no")
WAYS = (
    {"winner"},
    {"score_a", "score_b"},
    {"winner_a", "winner_b"},
)  # how a table says which system is better
HOW = (
    "rypt rank reads tables with a header such as segment,system_a,system_b,winner,annotator (winner: A, B, tie or a "
    "system's name) or system,segment,document,score,rater; say which columns are which with --columns "
    "a=NAME,b=NAME,winner=NAME or --columns system=NAME,score=NAME"
)


def plain(name: str) -> str:
    """A name without case, spaces and punctuation."""
    return re.sub(r"[^a-z0-9<>=]", "", name.lower())


def read_columns(text: str) -> dict[str, str]:
    """What ``--columns a=first,b=second`` says: the column of each role.

    >>> read_columns("a=sys left,winner=Best")
    {'a': 'sys left', 'winner': 'Best'}
    """
    columns = {}
    for part in filter(None, text.split(",")):
        role, equals, name = part.partition("=")
        if not equals or not name or role.strip() not in ALIASES:
            raise RyptError(
                f"--columns {part}: expected ROLE=COLUMN, where the role is one of {', '.join(ALIASES)}"
            )
        columns[role.strip()] = name.strip()
    return columns


def guess(names: Sequence[str], columns: Mapping[str, str] | None = None) -> dict[str, int]:
    """The place of each role among the names of columns; those given by the user come first.

    Of several columns for one role the one whose alias stands first is taken.
    """
    places: dict[str, int] = {}
    for role, name in (columns or {}).items():
        if name not in names:
            raise RyptError(f"--columns {role}={name}: expected one of the columns {', '.join(names)}")
        places[role] = list(names).index(name)
    taken = set(places.values())
    by_alias = {plain(name): i for i, name in reversed(list(enumerate(names))) if i not in taken}
    for role, aliases in ALIASES.items():
        if role not in places:
            place = next((by_alias[alias] for alias in aliases.split() if alias in by_alias), None)
            if place is not None and place not in places.values():
                places[role] = place
    return places


def kind_of(places: Mapping[str, int]) -> str | None:
    """``pairs`` for a table of comparisons, ``scores`` for one of scores, None for neither."""
    roles = set(places)
    if {"a", "b"} <= roles and any(way <= roles for way in WAYS):
        return "pairs"
    return "scores" if {"system", "score"} <= set(places) else None


def table_kind(header: str, columns: Mapping[str, str] | None = None) -> tuple[str, str] | None:
    """The kind of table that this first line begins, and its delimiter; None where it is no header."""
    for delimiter in DELIMITERS:
        if delimiter in header:
            names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter))]
            given = {role: name for role, name in (columns or {}).items() if name in names}
            kind = kind_of(guess(names, given))
            if kind is not None:
                return kind, delimiter
    return None


def read_table(path: PathLike, lines: Lines, columns: Mapping[str, str] | None = None) -> list[Part]:
    """The comparisons or scores of a table, those of each language pair apart."""
    header = lines[0][1]
    table = table_kind(header, columns)
    delimiter = table[1] if table else next((mark for mark in DELIMITERS if mark in header), ",")
    names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter))]
    try:
        places = guess(names, columns)
    except RyptError as error:
        raise InputError(path, lines[0][0], str(error)) from None
    _check_roles(path, lines[0][0], names, places)
    rows = list(_table_rows(path, lines, delimiter, len(names), places))
    if not rows:
        raise InputError(path, None, "expected rows, found only a header")
    measure = next((names[places[role]] for role in ("score", "score_a") if role in places), "")
    return _parts(path, rows, plain(measure))


def _check_roles(path: PathLike, line: int | None, names: Sequence[str], places: Mapping[str, int]) -> None:
    if kind_of(places) is not None:
        return
    shown = ", ".join(names[:12])
    if {"a", "b"} <= set(places):
        problem = "a column that says which of the two systems is better (winner, choice, preference)"
    elif "system" in places:
        problem = "a column of scores (score, rating, ESA, MQM), or a second system and a winner"
    else:
        problem = "columns of two systems and a winner, or of a system and a score"
    raise InputError(path, line, f"expected {problem}, found {shown}. {HOW}")


def _table_rows(
    path: PathLike, lines: Lines, delimiter: str, size: int, places: Mapping[str, int]
) -> Iterator[Row]:
    numbers = [number for number, _ in lines]
    reader = csv.reader((line for _, line in lines), delimiter=delimiter, strict=True)
    try:
        next(reader)
        for fields in reader:
            number = numbers[min(reader.line_num, len(numbers)) - 1]
            if len(fields) != size:
                raise InputError(
                    path, number, f"expected {size} fields as in the header, found {len(fields)}"
                )
            yield number, {role: fields[place].strip() for role, place in places.items()}
    except csv.Error as error:
        raise InputError(
            path, numbers[min(reader.line_num, len(numbers)) - 1], f"expected CSV: {error}"
        ) from None


def read_records(
    path: PathLike, records: Sequence[tuple[int, Any]], columns: Mapping[str, str] | None = None
) -> list[Part]:
    """JSON objects, one for each comparison or score; all have the keys that the first one has, or fewer."""
    names = list(
        dict.fromkeys(name for _, record in records[:1000] if isinstance(record, dict) for name in record)
    )
    try:
        places = guess(names, columns)
    except RyptError as error:
        raise InputError(path, records[0][0], str(error)) from None
    _check_roles(path, records[0][0], names, places)
    keys = {role: names[place] for role, place in places.items()}
    rows = []
    for number, record in records:
        if not isinstance(record, dict):
            raise InputError(path, number, f"expected a JSON object, found {json.dumps(record)[:60]}")
        rows.append((number, {role: _text(path, number, key, record.get(key)) for role, key in keys.items()}))
    return _parts(path, rows, plain(keys.get("score", keys.get("score_a", ""))))


def _text(path: PathLike, number: int, key: str, value: Any) -> str:
    """A value as a table would have it."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(
            path, number, f"expected {key} as a name or a number, found {json.dumps(value)[:40]}"
        )
    return str(value).strip()


def _parts(path: PathLike, rows: Sequence[Row], score: str) -> list[Part]:
    """Comparisons or scores of each language pair."""
    make = _comparisons if kind_of(dict.fromkeys(rows[0][1], 0)) == "pairs" else _scores
    by_pair: dict[str, list[Row]] = {}
    for row in rows:
        by_pair.setdefault(_pair(row[1]), []).append(row)
    joined: dict[str, tuple[str, list[Row]]] = {}
    for pair, some in by_pair.items():
        joined.setdefault(pair_key(pair), (pair, []))[1].extend(some)
    return [(pair, make(path, some, score)) for pair, some in joined.values()]


def _pair(values: Mapping[str, str]) -> str:
    if values.get("source") and values.get("target"):
        return f"{values['source']}-{values['target']}"
    return values.get("languages", "")


def _comparisons(path: PathLike, rows: Sequence[Row], column: str) -> Comparisons:
    import numpy as np

    numbered = {values.get("winner", "") for _, values in rows}
    records, groups = [], []
    for number, values in rows:
        a, b = values["a"], values["b"]
        if not a or not b:
            raise InputError(path, number, "expected the names of two systems, found nothing")
        if a == b:
            raise InputError(path, number, f"the system {a} is compared with itself")
        if "winner" in values:
            outcome = _outcome(path, number, a, b, values["winner"], numbered)
        elif "score_a" in values:
            first, second = (_number(path, number, values[role]) for role in ("score_a", "score_b"))
            outcome = int(first > second) - int(first < second)
            outcome = -outcome if column in BEST_RANKS else outcome
        else:
            outcome = _marked(path, number, values)
        segment = " ".join(filter(None, (values.get("document", ""), values.get("segment", ""))))
        records.append((segment, a, b, outcome, values.get("rater", "")))
        groups.append(values.get("row", ""))
    made = comparisons_of(records)
    if not any(groups):
        return made
    place: dict[str, int] = {}
    row = [place.setdefault(group or f" {i}", len(place)) for i, group in enumerate(groups)]
    return Comparisons(
        made.systems,
        made.a,
        made.b,
        made.outcome,
        np.array(row, np.int32),
        made.segment,
        made.worker,
        made.segments,
        made.workers,
    )


def _outcome(path: PathLike, number: int, a: str, b: str, winner: str, all_winners: set[str]) -> int:
    """1 where a is better, -1 where b is, 0 where they are equal."""
    if winner in (a, b):
        return 1 if winner == a else -1
    word = plain(winner)
    if winner in ("-1", "0", "1", "2"):
        by_number = {"-1": -1, "0": 0, "1": 1} if "-1" in all_winners else {"0": 0, "1": 1, "2": -1}
        if winner in by_number and ("-1" in all_winners or "2" in all_winners):
            return by_number[winner]
        raise InputError(
            path, number, "expected a winner that is A, B, tie or a system's name; 0 and 1 may mean either"
        )
    for words, outcome in ((FIRST, 1), (SECOND, -1), (TIE, 0)):
        if word in words:
            return outcome
    raise InputError(path, number, f"expected a winner that is A, B, tie, {a} or {b}, found {winner!r}")


def _marked(path: PathLike, number: int, values: Mapping[str, str]) -> int:
    """The outcome where each has a column: 1 in that of the system that won, or in none for a tie."""
    marks = [values.get(role, "").lower() for role in ("winner_a", "winner_b", "tie")]
    if any(mark not in (*TRUE, *FALSE) for mark in marks) or sum(mark in TRUE for mark in marks) > 1:
        shown = ", ".join(map(repr, marks))
        raise InputError(
            path, number, f"expected 1 for the system that is better and 0 for the other, found {shown}"
        )
    return int(marks[0] in TRUE) - int(marks[1] in TRUE)


def _scores(path: PathLike, rows: Sequence[Row], column: str) -> SegmentScores:
    records = []
    typed = next(
        (kind for kind in RATED if any(values.get("type", "").upper() == kind for _, values in rows)), None
    )
    for number, values in rows:
        if typed is not None and values["type"].upper() != typed:
            continue  # items that test the rater
        if values.get("whole", "").lower() in TRUE:
            continue  # the score of a whole document
        if not values["system"]:
            raise InputError(path, number, "expected the name of a system, found nothing")
        rated = values["score"].lower() not in NOT_RATED
        records.append(
            ScoreRecord(
                values["system"],
                values.get("segment", ""),
                _number(path, number, values["score"]) if rated else math.nan,
                values.get("document", ""),
                values.get("rater", ""),
                "",
                values.get("domain", ""),
            )
        )
    if "segment" not in rows[0][1]:
        records = _numbered(records)
    records = [record for record in records if not math.isnan(record.score)]
    if not records:
        raise InputError(path, None, "expected scores, found none")
    first = rows[0][
        1
    ]  # rypt's files of scores have "better": "lower", which the table of comparisons has as winner
    lower = (first.get("direction") or first.get("winner", "")).lower() in (
        "lower",
        "false",
        "ascending",
        "0",
    )
    penalties = column in PENALTIES and all(record.score >= 0 for record in records)
    return scores_of(records, SCALES.get(column, "score"), higher=not (lower or penalties))


def _numbered(records: Sequence[ScoreRecord]) -> list[ScoreRecord]:
    """Without a column of segments the k-th score of a system, of a rater on a document, is that of segment k."""
    seen: dict[tuple[str, str, str], int] = {}
    made = []
    for record in records:
        key = record.system, record.document, record.rater
        seen[key] = seen.get(key, 0) + 1
        made.append(record._replace(segment=str(seen[key])))
    return made


def _number(path: PathLike, number: int, text: str) -> float:
    try:
        value = float(_DECIMAL.sub(r"\1.\2", text))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(path, number, f"expected a number as score, found {text!r}")
    return value
