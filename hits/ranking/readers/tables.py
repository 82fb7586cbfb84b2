"""Tables with a header, or JSON objects with the same keys, and files of two columns without a header.

A table of comparisons has two systems and a winner (or a score for each of the two, or a column for each outcome with 1
where it came out), a table of scores has a system and a score. Columns are recognised by their names without
case, spaces and underscores: ``System A``, ``system_a`` and ``systemA`` are the same.
"""

import math
from collections.abc import Mapping, Sequence

from hits.ranking.data import Comparisons, comparisons_of
from hits.ranking.readers.languages import pair_key
from hits.ranking.readers.text_file import Part, TextFile, as_number, plain
from hits.ranking.scores.data import ScoreRecord, SegmentScores, scores_of

Row = tuple[int, dict[str, str]]  # line, and the values by role
PENALTIES = ("mqm", "mqmscore", "mqmavgscore", "penalty")  # columns whose numbers from 0 up are penalties
SCALES = {"DA": "da dascore directassessment", "ESA": "esa esascore", "MQM": "mqm mqmscore mqmavgscore"}
SCALES |= {"SQM": "sqm psqmavgscore", "XSTS": "xsts"}
OUTCOMES = {
    1: "a first left systema system1 modela model1 sysa sys1 > aisbetter abetter",
    -1: "b second right systemb system2 modelb model2 sysb sys2 < bisbetter bbetter",
    0: "tie tied ties equal same both neither none draw = == nopreference equals equallygood bothgood bothbad "
    "tiebothbad nodifference",
}  # 1: the first system is better
OUTCOME_OF = {word: outcome for outcome, words in OUTCOMES.items() for word in words.split()}
NOT_RATED = ("", "none", "nan", "null", "na", "n/a", "-")
RATED = ("TGT", "SYSTEM")  # the type of items that do not test the rater, of Appraise and of WMT21
TRUE, FALSE = ("1", "1.0", "true", "yes", "x"), ("", "0", "0.0", "false", "no")
LOWER = ("lower", "false", "ascending", "0")
WAYS = ({"winner"}, {"score_a", "score_b"}, {"winner_a", "winner_b"})  # to say which system is better
HOW = (
    "rypt rank reads tables with a header such as segment,system_a,system_b,winner,annotator (winner: A, B, tie or a "
    "system's name) or system,segment,document,score,rater; say which columns are which with --columns "
    "a=NAME,b=NAME,winner=NAME or --columns system=NAME,score=NAME"
)


def _are_comparisons(roles: Mapping[str, str]) -> bool:
    return {"a", "b"} <= roles.keys() and any(way <= roles.keys() for way in WAYS)


def is_table(file: TextFile) -> bool:
    return _are_comparisons(file.roles) or {"system", "score"} <= file.roles.keys()


def read_table(file: TextFile) -> list[Part]:
    """The comparisons or the scores of each language pair."""
    _check_roles(file)
    rows = list(file.records())
    if not rows:
        raise file.error("expected rows, found only a header")
    by_pair: dict[str, tuple[str, list[Row]]] = {}
    for row in rows:
        values = row[1]
        pair = values.get("languages", "")
        if values.get("source") and values.get("target"):
            pair = f"{values['source']}-{values['target']}"
        by_pair.setdefault(pair_key(pair), (pair, []))[1].append(row)
    read = _comparisons if _are_comparisons(file.roles) else _scores
    return [(pair, read(file, some)) for pair, some in by_pair.values()]


def _check_roles(file: TextFile) -> None:
    if is_table(file):
        return
    if {"a", "b"} <= file.roles.keys():
        problem = "a column that says which of the two systems is better (winner, choice, preference)"
    elif "system" in file.roles:
        problem = "a column of scores (score, rating, ESA, MQM), or a second system and a winner"
    else:
        problem = "columns of two systems and a winner, or of a system and a score"
    columns = ", ".join((file.keys if file.is_json else file.header)[:12])
    raise file.error(f"expected {problem}, found {columns}. {HOW}", file.lines[0][0])


def _comparisons(file: TextFile, rows: Sequence[Row]) -> Comparisons:
    winners = {values.get("winner", "") for _, values in rows}
    records, groups = [], []
    for k, (number, values) in enumerate(rows):
        a, b = values["a"], values["b"]
        if not a or not b:
            raise file.error("expected the names of two systems, found nothing", number)
        if a == b:
            raise file.error(f"the system {a} is compared with itself", number)
        if "winner" in values:
            outcome = _outcome(file, number, a, b, values["winner"], winners)
        elif "score_a" in values:
            gap = file.number(number, values["score_a"]) - file.number(number, values["score_b"])
            are_ranks = plain(file.roles["score_a"]).startswith("rank")  # of which the lower is better
            outcome = int(gap < 0) - int(gap > 0) if are_ranks else int(gap > 0) - int(gap < 0)
        else:
            outcome = _marked(file, number, values)
        segment = " ".join(filter(None, (values.get("document", ""), values.get("segment", ""))))
        records.append((segment, a, b, outcome, values.get("rater", "")))
        groups.append(values.get("row") or f" {k}")
    return comparisons_of(records, rows=groups)


def _outcome(file: TextFile, number: int, a: str, b: str, winner: str, winners: set[str]) -> int:
    """1 where a is better, -1 where b is, 0 where they are equal; a ``choice`` is a side, whatever systems are called."""
    if winner in (a, b) and plain(file.roles["winner"]) != "choice":
        return 1 if winner == a else -1
    if winner in ("-1", "0", "1", "2"):
        by_number = {"-1": -1, "0": 0, "1": 1} if "-1" in winners else {"0": 0, "1": 1, "2": -1}
        if winner in by_number and winners & {"-1", "2"}:
            return by_number[winner]
        problem = "expected a winner that is A, B, tie or a system's name; 0 and 1 may mean either"
        raise file.error(problem, number)
    if plain(winner) in OUTCOME_OF:
        return OUTCOME_OF[plain(winner)]
    if winner in (a, b):
        return 1 if winner == a else -1
    raise file.error(f"expected a winner that is A, B, tie, {a} or {b}, found {winner!r}", number)


def _marked(file: TextFile, number: int, values: Mapping[str, str]) -> int:
    """The outcome where each has a column: 1 in that of the system that won, or in none for a tie."""
    marks = [values.get(role, "").lower() for role in ("winner_a", "winner_b", "tie")]
    if any(mark not in (*TRUE, *FALSE) for mark in marks) or sum(mark in TRUE for mark in marks) > 1:
        cells = ", ".join(map(repr, marks))
        raise file.error(
            f"expected 1 for the system that is better and 0 for the other, found {cells}", number
        )
    return int(marks[0] in TRUE) - int(marks[1] in TRUE)


def _scores(file: TextFile, rows: Sequence[Row]) -> SegmentScores:
    kinds = {values.get("type", "").upper() for _, values in rows}
    rated_type = next((kind for kind in RATED if kind in kinds), None)
    places: dict[tuple[str, str, str], int] = {}
    records = []
    for number, values in rows:
        is_test = rated_type is not None and values["type"].upper() != rated_type
        if is_test or values.get("whole", "").lower() in TRUE:  # or the score of a whole document
            continue
        system, document, rater = values["system"], values.get("document", ""), values.get("rater", "")
        if not system:
            raise file.error("expected the name of a system, found nothing", number)
        place = places[system, document, rater] = places.get((system, document, rater), 0) + 1
        if values["score"].lower() in NOT_RATED:
            continue
        # without a column of segments the k-th score of a system by a rater in a document is that of segment k
        segment = values.get("segment", str(place))
        score = file.number(number, values["score"])
        records.append(ScoreRecord(system, segment, score, document, rater, domain=values.get("domain", "")))
    if not records:
        raise file.error("expected scores, found none")
    column, first = plain(file.roles["score"]), rows[0][1]
    # files of `rypt import --scores` have "better": "lower", which the table of comparisons takes as the winner
    is_lower_better = (first.get("direction") or first.get("winner", "")).lower() in LOWER
    are_penalties = column in PENALTIES and all(record.score >= 0 for record in records)
    scale = next((scale for scale, names in SCALES.items() if column in names.split()), "score")
    return scores_of(records, scale, higher=not (is_lower_better or are_penalties))


def is_two_columns(file: TextFile) -> bool:
    """Whether the first line has a system and a score, and nothing else."""
    return _system_and_score(file.first) is not None


def _system_and_score(line: str) -> tuple[str, float | None] | None:
    """What a line has; the score is None where the segment was not rated.

    >>> [_system_and_score(line) for line in ("sys-A\\t-1.5", "sys-A None", "system score", "a b 3")]
    [('sys-A', -1.5), ('sys-A', None), None, None]
    """
    fields = line.split("\t") if "\t" in line else line.split()
    if len(fields) != 2:
        return None
    score = as_number(fields[1])
    return (fields[0].strip(), score) if score is not None or fields[1].strip().lower() in NOT_RATED else None


def read_two_columns(file: TextFile) -> list[Part]:
    """Scores by their place, as in the metrics task's data: all systems have the same segments, in the same order."""
    records: list[ScoreRecord] = []
    places: dict[str, int] = {}
    for number, line in file.lines:
        fields = _system_and_score(line)
        if fields is None:
            raise file.error(f"expected a system and its score, found {line.strip()[:60]!r}", number)
        system, score = fields
        places[system] = places.get(system, 0) + 1
        records.append(ScoreRecord(system, str(places[system]), math.nan if score is None else score))
    rated = [record for record in records if not math.isnan(record.score)]
    if not rated:
        raise file.error("expected scores, found none")
    return [("", scores_of(rated))]
