"""What a judgment database holds, and what is wrong in it."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment
from rypt.text import FormatError, plural, tokenize
from rypt.texts.phrases import phrase_key
from rypt.texts.treebank import parsed


class DatabaseProblem(NamedTuple):
    """One thing that is wrong, and how many judgments it touches."""

    kind: str
    where: str
    judgments: int = 0

    def __str__(self) -> str:
        touched = f" ({plural(self.judgments, 'judgment')})" if self.judgments else ""
        return f"{self.kind}: {self.where}{touched}"


def check(db: JudgmentDatabase, sources: Sequence[Segment] | None = None) -> Iterator[DatabaseProblem]:
    """Look for damage, texts that changed, and judgments that no candidate can ever use.

    ``sources`` are the segments as they are now, to compare with those the workers saw; their trees count.
    """
    for (message,) in db.rows("PRAGMA integrity_check"):
        if message != "ok":
            yield DatabaseProblem("damaged file", message)
    for table, _, parent, _ in db.rows("PRAGMA foreign_key_check"):
        yield DatabaseProblem("damaged file", f"a row of {table} without its row of {parent}")
    now = {segment.id: segment for segment in sources or ()}
    counts = dict(db.rows("SELECT segment, count(*) FROM judgments GROUP BY segment"))
    for segment in db.segments():
        current = now.get(segment.id)
        judgments = counts.get(segment.id, 0)
        if sources and current is None:
            yield DatabaseProblem("segment is not in the source", f"segment {segment.id}", judgments)
        elif current and tokenize(current.text) != segment.tokens:
            where = f"segment {segment.id} was {segment.text!r} and is now {current.text!r}"
            yield DatabaseProblem("segment text changed", where, judgments)
        yield from _unusable(db, current if current and current.tree is not None else segment)
    sql = """
        SELECT segment, start, stop, phrase, worker, count(*) FROM judgments WHERE label <> 'NOT_SURE'
        GROUP BY segment, start, stop, phrase, worker, origin HAVING count(DISTINCT label) > 1
    """
    for identifier, start, stop, phrase, worker, count in db.rows(sql):
        where = f"worker {worker}, segment {identifier}, span {start}-{stop}, {phrase!r}"
        yield DatabaseProblem("worker said YES and NO in one place", where, count)


def _unusable(db: JudgmentDatabase, segment: Segment) -> Iterator[DatabaseProblem]:
    try:
        tree = parsed(segment)
    except FormatError as error:
        tree = None
        yield DatabaseProblem("tree does not fit its text", str(error))
    sql = "SELECT start, stop, phrase, count(*) FROM judgments WHERE segment = ? GROUP BY 1, 2, 3"
    rows = db.rows(sql, segment.id)
    spans: dict[tuple[int, int], int] = {}
    for start, stop, phrase, count in rows:
        spans[start, stop] = spans.get((start, stop), 0) + count
        if phrase != phrase_key(phrase, db.case):
            yield DatabaseProblem("phrase is not in normal form", f"segment {segment.id}, {phrase!r}", count)
    for (start, stop), count in spans.items():
        where = f"segment {segment.id}, span {start}-{stop}"
        if tree is None:
            yield DatabaseProblem("segment without a usable parse", where, count)
        elif (start, stop) not in tree.index:
            yield DatabaseProblem("span is not a constituent", where, count)


def summary(db: JudgmentDatabase) -> dict[str, Any]:
    """Counts of everything, agreement of workers, and the size of the file."""
    segments, without_parse = db.rows("SELECT count(*), count(*) - count(tree) FROM segments")[0]
    keys, several, unanimous = db.rows("""
        SELECT count(*), total(judgments > 1), total(judgments > 1 AND (yes > 0) + (no > 0) + (not_sure > 0) = 1)
        FROM votes
    """)[0]
    ((size,),) = db.rows("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    judgments = db.count()
    return {
        "segments": segments,
        "without_parse": without_parse,
        "judgments": judgments,
        "of_these_count": db.count_counted(),
        "excluded_workers": len(db.excluded()),
        "keys": keys,
        "labels": dict(db.rows("SELECT label, count(*) FROM judgments GROUP BY label")),
        "sources": db.count_by_source(),
        "workers": db.count_workers(),
        "keys_judged_twice_or_more": int(several),
        "of_these_unanimous": int(unanimous),
        "case": db.case,
        "bytes": size,
        "bytes_per_judgment": round(size / judgments, 1) if judgments else None,
    }
