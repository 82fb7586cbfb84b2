"""What is wrong in a judgment database, and what is in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rypt.database.compact import LABEL_CODES
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment
from rypt.text import FormatError, plural, tokenize
from rypt.texts.phrases import phrase_key
from rypt.texts.treebank import parsed
from rypt.texts.trees import SourceTree


@dataclass(frozen=True, slots=True)
class DatabaseProblem:
    """One thing that is wrong, and how many judgments it touches."""

    kind: str
    where: str
    judgments: int

    def __str__(self) -> str:
        touched = f" ({plural(self.judgments, 'judgment')})" if self.judgments else ""
        return f"{self.kind}: {self.where}{touched}"


def check(db: JudgmentDatabase, sources: Sequence[Segment] | None = None) -> Iterator[DatabaseProblem]:
    """Look for damage, texts that changed, and judgments that no candidate can ever use.

    ``sources`` are the segments as they are now, to compare with those the workers saw; their trees count.
    """
    yield from _damage(db)
    yield from _changed_texts(db, sources or ())
    trees: dict[str, SourceTree | None] = {}
    now = {segment.id: segment for segment in sources or () if segment.tree is not None}
    for segment in db.segments():
        try:
            trees[segment.id] = parsed(now.get(segment.id, segment))
        except FormatError as error:
            trees[segment.id] = None
            yield DatabaseProblem("tree does not fit its text", str(error), 0)
    yield from _unusable(db, trees)
    yield from _contradictions(db)


def _damage(db: JudgmentDatabase) -> Iterator[DatabaseProblem]:
    with db.errors():
        for (message,) in db.db.execute("PRAGMA integrity_check"):
            if message != "ok":
                yield DatabaseProblem("damaged file", message, 0)
        foreign = "SELECT label, count(*) FROM judgments WHERE label NOT IN ('YES', 'NO', 'NOT_SURE') GROUP BY label"
        for label, count in db.db.execute(foreign):
            yield DatabaseProblem("label is none of YES, NO, NOT_SURE", repr(label), count)
        graded = "SELECT label, count(*) FROM judgments WHERE severity IS NOT NULL AND label <> 'NO' GROUP BY label"
        for label, count in db.db.execute(graded):
            yield DatabaseProblem("severity of a label that is not NO", repr(label), count)
        rows = "SELECT count(*) FROM judgment_rows WHERE phrase NOT IN (SELECT id FROM phrases)"
        if count := db.db.execute(rows).fetchone()[0]:
            yield DatabaseProblem("judgments without a phrase", "table judgment_rows", count)
        missing = "SELECT segment, count(*) FROM judgments WHERE segment NOT IN (SELECT id FROM segments) GROUP BY 1"
        for segment, count in db.db.execute(missing):
            yield DatabaseProblem("judgments without a segment", f"segment {segment}", count)


def _changed_texts(db: JudgmentDatabase, sources: Sequence[Segment]) -> Iterator[DatabaseProblem]:
    if not sources:
        return
    counts = dict(db.db.execute("SELECT segment, count(*) FROM judgments GROUP BY segment").fetchall())
    texts = {segment.id: segment.text for segment in sources}
    for segment in db.segments():
        now = texts.get(segment.id)
        if now is None:
            yield DatabaseProblem(
                "segment is not in the source", f"segment {segment.id}", counts.get(segment.id, 0)
            )
        elif tokenize(now) != segment.tokens:
            where = f"segment {segment.id} was {segment.text!r} and is now {now!r}"
            yield DatabaseProblem("segment text changed", where, counts.get(segment.id, 0))


def _unusable(db: JudgmentDatabase, trees: dict[str, SourceTree | None]) -> Iterator[DatabaseProblem]:
    spans = "SELECT segment, start, stop, count(*) FROM judgments GROUP BY segment, start, stop"
    for segment, start, stop, count in db.db.execute(spans).fetchall():
        tree = trees.get(segment)
        if tree is None:
            yield DatabaseProblem(
                "segment without a usable parse", f"segment {segment}, span {start}-{stop}", count
            )
        elif (start, stop) not in tree.index:
            yield DatabaseProblem(
                "span is not a constituent", f"segment {segment}, span {start}-{stop}", count
            )
    for segment, phrase, count in db.db.execute(
        "SELECT segment, phrase, count(*) FROM judgments GROUP BY 1, 2"
    ):
        if phrase != phrase_key(phrase, db.case):
            yield DatabaseProblem("phrase is not in normal form", f"segment {segment}, {phrase!r}", count)


def _contradictions(db: JudgmentDatabase) -> Iterator[DatabaseProblem]:
    sql = """
        SELECT segment, start, stop, phrase, worker, count(*) FROM judgments WHERE label <> 'NOT_SURE'
        GROUP BY segment, start, stop, phrase, worker, origin HAVING count(DISTINCT label) > 1
    """
    for segment, start, stop, phrase, worker, count in db.db.execute(sql):
        where = f"worker {worker}, segment {segment}, span {start}-{stop}, {phrase!r}"
        yield DatabaseProblem("worker said YES and NO in one place", where, count)


def count_contradictions(db: JudgmentDatabase) -> int:
    """In how many places, given no origin, a worker said both YES and NO, which count against each other."""
    yes, no = LABEL_CODES["YES"], LABEL_CODES["NO"]
    sql = f"""
        SELECT count(*) FROM judgment_rows AS a JOIN judgment_rows AS b USING (phrase, worker, origin)
        WHERE a.label = {yes} AND b.label = {no} AND a.repeat = 1 AND b.repeat = 1
            AND a.origin = (SELECT id FROM names WHERE name = '')
    """
    with db.errors():
        return int(db.db.execute(sql).fetchone()[0])


def summary(db: JudgmentDatabase) -> dict[str, Any]:
    """Counts of everything, agreement of workers, and the size of the file."""

    def one(sql: str) -> Any:
        return db.db.execute(sql).fetchone()[0]

    with db.errors():
        judgments = db.count()
        size = one("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        pairs = one(
            "SELECT count(*) FROM votes WHERE (yes > 0) + (no > 0) + (not_sure > 0) > 0 AND judgments > 1"
        )
        agreed = one(
            "SELECT count(*) FROM votes WHERE (yes > 0) + (no > 0) + (not_sure > 0) = 1 AND judgments > 1"
        )
        return {
            "segments": one("SELECT count(*) FROM segments"),
            "without_parse": one("SELECT count(*) FROM segments WHERE tree IS NULL"),
            "judgments": judgments,
            "of_these_count": db.count_counted(),
            "excluded_workers": len(db.excluded()),
            "keys": one("SELECT count(*) FROM votes"),
            "labels": dict(db.db.execute("SELECT label, count(*) FROM judgments GROUP BY label").fetchall()),
            "sources": db.count_by_source(),
            "workers": db.count_workers(),
            "keys_judged_twice_or_more": pairs,
            "of_these_unanimous": agreed,
            "case": db.case,
            "bytes": size,
            "bytes_per_judgment": round(size / judgments, 1) if judgments else None,
        }
