"""Segment scores of WMT: MQM, WMT25's JSONL, and files of two columns.

mqm       Google's TSV with a line for each error (`rypt.ratings.mqm`)
wmt25     WMT25's JSONL: a line for each segment, with the ``scores`` of its systems and a ``doc_id``
columns   system and score, without a header, as in the metrics task's data: the k-th score of a system is that of
          segment k, ``None`` where there is none
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hits.ranking.readers.columns import NOT_RATED, Part
from hits.ranking.scores.data import ScoreRecord, scores_of
from rypt.text import InputError, PathLike

Lines = Sequence[tuple[int, str]]
PLACE = "_#_"  # between the parts of WMT25's doc_id: languages, domain, document, segment
CANARY = "canary"  # the document of a line that marks test sets, at the beginning of some of WMT's files


def is_mqm(line: str) -> bool:
    """Whether a line is the header of Google's MQM files, or of one with a line for each error."""
    names = {name.strip().lower() for name in line.split("\t")}
    return {"system", "rater", "severity", "category"} <= names


def read_mqm_scores(path: PathLike, lines: Lines) -> list[Part]:
    """The penalty of each rating, 0 is best."""
    from rypt.ratings.mqm import read_mqm

    ratings = read_mqm(path, lines)
    records = (
        ScoreRecord(r.system, r.segment or r.source, r.score, r.document, r.rater)
        for r in ratings
        if r.score is not None and r.document.lower() != CANARY
    )
    return [("", scores_of(records, "MQM", higher=False))]


def is_wmt25(record: Any) -> bool:
    """Whether an object is a line of WMT25's human evaluation."""
    return (
        isinstance(record, dict)
        and isinstance(record.get("scores"), dict)
        and PLACE in str(record.get("doc_id"))
    )


def read_wmt25(path: PathLike, records: Sequence[tuple[int, Any]]) -> list[Part]:
    """The scores of each language pair; a first and a second rating of a candidate are two waves, as in the findings.

    The ratings of a system are ``{"human1": 90, "annotator1": …, "human2": …}``, or a list of ``{"score": 90,
    "annotator": …}`` (``human`` in the file of control items); a score may be NaN. A segment without scores was not
    chosen for rating. WMT23's direct assessment is published in this format, too, and names its protocol.
    """
    by_pair: dict[str, list[ScoreRecord]] = {}
    protocols: set[str] = set()
    for number, record in records:
        if not is_wmt25(record):
            raise InputError(
                path, number, "expected an object with scores and a doc_id, as WMT25's lines have"
            )
        parts = str(record["doc_id"]).split(PLACE)
        if len(parts) != 4:
            raise InputError(
                path,
                number,
                f"expected a doc_id of languages, domain, document and segment, found {record['doc_id']!r}",
            )
        pair, domain, document, segment = parts
        for system, given in record["scores"].items():
            if isinstance(given, list):
                protocols |= {
                    str(rating["protocol"])
                    for rating in given
                    if isinstance(rating, dict) and "protocol" in rating
                }
            for wave, score, rater in _wmt25_ratings(path, number, given):
                row = ScoreRecord(system, segment, score, document, rater, wave, domain)
                by_pair.setdefault(pair, []).append(row)
    if not by_pair:
        raise InputError(path, None, "expected scores, found none: no segment was rated")
    scale = "DA" if any(name.startswith("DA") for name in protocols) else "ESA"
    if all(row.score <= 0 for rows in by_pair.values() for row in rows):
        scale = "MQM"  # penalties with a minus sign
    return [(pair, scores_of(rows, scale)) for pair, rows in by_pair.items()]


def _wmt25_ratings(path: PathLike, number: int, given: Any) -> Iterator[tuple[str, float, str]]:
    """Wave, score and rater of each rating of a candidate."""
    if isinstance(given, dict):
        waves = [key.removeprefix("human") for key in given if re.fullmatch(r"human\d+", key)]
        ratings = [(wave, given[f"human{wave}"], given.get(f"annotator{wave}")) for wave in waves]
    elif isinstance(given, list) and all(isinstance(rating, dict) for rating in given):
        ratings = [
            (str(k), rating.get("human", rating.get("score")), rating.get("annotator"))
            for k, rating in enumerate(given, start=1)
        ]
    else:
        raise InputError(path, number, f"expected the ratings of a system, found {json.dumps(given)[:60]}")
    for wave, score, rater in ratings:
        if score is None or (isinstance(score, float) and math.isnan(score)):
            continue
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise InputError(path, number, f"expected a number as score, found {json.dumps(score)[:40]}")
        yield wave, float(score), str(rater or "")


def is_two_columns(line: str) -> bool:
    """Whether a line has a system and a score, and nothing else.

    >>> [is_two_columns(line) for line in ("sys-A\\t-1.5", "sys-A\\tNone", "sys-A 0.3", "system score", "a b 3")]
    [True, True, True, False, False]
    """
    fields = line.split("\t") if "\t" in line else line.split()
    return len(fields) == 2 and (fields[1].strip().lower() in NOT_RATED or _finite(fields[1]) is not None)


def read_two_columns(path: PathLike, lines: Lines) -> list[Part]:
    """Scores by their place: all systems have the same segments, in the same order."""
    records: list[ScoreRecord] = []
    places: dict[str, int] = {}
    for number, line in lines:
        if not is_two_columns(line):
            raise InputError(path, number, f"expected a system and its score, found {line.strip()[:60]!r}")
        system, score = (field.strip() for field in (line.split("\t") if "\t" in line else line.split()))
        places[system] = places.get(system, 0) + 1
        value = _finite(score)
        if value is not None:
            records.append(ScoreRecord(system, str(places[system]), value))
    if not records:
        raise InputError(path, None, "expected scores, found none")
    return [("", scores_of(records))]


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
