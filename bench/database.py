"""Millions of judgments: import, adding, file size, memory, look-ups; beside a plain sqlite-utils table with that key.

    python bench/database.py [--only hits|ratings] [--judgments 1000000] [--segments 1418]

``hits`` imports JSONL as hits give it: 2,000 segments, about 15 constituents each asked about, phrases of one to six
words, three workers a key, times, and an origin such as a hit id. ``ratings`` adds objects as `rypt import mqm` does,
in the shape of newstest2020 en-de: each segment's outputs of ten systems, judged by three of six raters in about 62
constituents, severities included; systems share most words. All is made up from a seed; times are CPU seconds.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from rypt.database.exchange import import_file
from rypt.database.judgments import JudgmentDatabase
from rypt.database.votes import read_votes
from rypt.records import Judgment, Label, Segment, Span

SEGMENTS = 2000
WORKERS = 115
WORDS = 4000
SYSTEMS = [f"system-{i}.{1000 + i}" for i in range(10)]
KEY = ("segment", "start", "stop", "phrase", "worker", "origin", "label")


def records(count: int, seed: int) -> Iterator[dict[str, object]]:
    """Judgments in the order in which hits come back: not sorted."""
    rng = np.random.default_rng(seed)
    words = [f"w{i:x}" + "aeiou"[i % 5] * (i % 6) for i in range(WORDS)]
    keys = count // 3
    for key in range(keys):
        start = int(rng.integers(0, 20))
        stop = start + int(rng.integers(1, 5))
        size = int(rng.integers(1, 7))
        phrase = f"{words[key % WORDS]} " + " ".join(words[i] for i in rng.integers(0, WORDS, size - 1))
        segment = f"news-{int(rng.integers(0, SEGMENTS))}"
        for vote in range(3):
            yield {
                "segment": segment,
                "start": start,
                "stop": stop,
                "phrase": phrase.strip(),
                "label": ("YES", "NO", "NOT_SURE")[int(rng.choice(3, p=(0.35, 0.6, 0.05)))],
                "worker": f"A{(key * 7 + vote * 31) % WORKERS:013d}",
                "origin": f"h{key // 4:06d}",
                "source": "hit",
                "time": 1240000000 + key,
            }


def write_files(folder: Path, count: int, seed: int) -> Path:
    path = folder / "judgments.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for i in range(SEGMENTS):
            file.write(json.dumps({"id": f"news-{i}", "text": " ".join(["wort"] * 25)}) + "\n")
        for record in records(count, seed):
            file.write(json.dumps(record) + "\n")
    return path


def constituents(size: int, rng: np.random.Generator) -> list[Span]:
    """The spans of a binary tree that branches to the right half of the time."""
    spans, open_spans = [], [(0, size)]
    while open_spans:
        start, stop = open_spans.pop()
        spans.append(Span(start, stop))
        if stop - start > 1:
            cut = start + 1 if rng.random() < 0.5 else int(rng.integers(start + 1, stop))
            open_spans += [(start, cut), (cut, stop)]
    return spans


def ratings(segments: int, seed: int) -> Iterator[Judgment]:
    """Judgments in the order of a file of ratings: by segment, system and rater."""
    rng = np.random.default_rng(seed)
    words = [
        "".join("etaoinshrdlu"[k] for k in rng.integers(0, 12, int(1 + rng.gamma(4, 1.4))))
        for _ in range(20_000)
    ]
    for number in range(1, segments + 1):
        size = max(3, int(rng.normal(31, 12)))
        spans = constituents(size, rng)
        choices = rng.integers(0, len(words), (size, 4))
        raters = rng.choice(6, 3, replace=False)
        for system in SYSTEMS:
            chosen = np.where(rng.random(size) < 0.75, 0, rng.integers(1, 4, size))
            tokens = [words[i] for i in choices[np.arange(size), chosen]]
            phrases = [" ".join(tokens[start:stop]) for start, stop in spans]
            for rater in raters:
                marked = np.flatnonzero(rng.random(size) < 0.05)
                for span, phrase in zip(spans, phrases, strict=True):
                    errors = np.searchsorted(marked, span.stop) - np.searchsorted(marked, span.start)
                    label, severity = (Label.NO, float(errors)) if errors else (Label.YES, None)
                    yield Judgment(
                        str(number), span, phrase, label, f"rater{rater + 1}", system, severity=severity
                    )


def plain_table(
    path: Path, rows: Iterable[dict[str, object]], segments: list[str]
) -> tuple[float, float, float]:
    """The same records with sqlite-utils alone, one table: seconds, seconds a look-up, bytes a judgment."""
    from sqlite_utils import Database

    db = Database(path)
    db.enable_wal()
    start = time.process_time()
    with db.atomic():
        db.table("judgments").insert_all(rows, pk=KEY, ignore=True, batch_size=5000)
    seconds = time.process_time() - start
    count = db.table("judgments").count
    start = time.process_time()
    for name in segments:
        list(db.query("SELECT * FROM judgments WHERE segment = ?", [name]))
    lookup = (time.process_time() - start) / len(segments)
    db.close()
    return seconds, lookup, path.stat().st_size / count


def seconds_of_lookup(db: JudgmentDatabase, segments: list[str]) -> float:
    start = time.process_time()
    for name in segments:
        db.votes(name)
    return (time.process_time() - start) / len(segments)


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(action: str, ours: tuple[float, float, float], other: tuple[float, float, float]) -> None:
    print("                          rypt     plain sqlite-utils    ratio")
    names = (f"{action}, CPU s", "look-up, ms a segment", "bytes a judgment")
    for name, scale, mine, theirs in zip(names, (1, 1e3, 1), ours, other, strict=True):
        print(f"{name:22}{mine * scale:8.2f} {theirs * scale:22.2f} {theirs / mine:8.1f}")


def measure_hits(folder: Path, count: int, seed: int) -> None:
    """Import JSONL."""
    file, database = write_files(folder, count, seed), folder / "hits.db"
    segments = [f"news-{i}" for i in range(SEGMENTS)]
    print(f"hits: {file.stat().st_size / 1e6:.0f} MB of JSONL")
    with JudgmentDatabase(database) as db:
        before, start = peak_megabytes(), time.process_time()
        result = import_file(db, file)
        seconds = time.process_time() - start
        print(f"rypt: {result.added} added, {result.already} already there, {result.refused} refused")
        start, grown = time.process_time(), peak_megabytes() - before
        assert import_file(db, file).added == 0
        print(
            f"rypt: memory grew by {grown:.0f} MB; importing again {time.process_time() - start:.1f} s, nothing added"
        )
        lookup = seconds_of_lookup(db, segments)
    with open(file, encoding="utf-8") as lines:
        rows = (record for record in map(json.loads, lines) if "label" in record)
        other = plain_table(folder / "plain.db", rows, segments)
    show("import", (seconds, lookup, database.stat().st_size / result.added), other)


def measure_ratings(folder: Path, segments: int, seed: int) -> None:
    """Add objects, read all of them and their votes."""
    judgments, database = list(ratings(segments, seed)), folder / "ratings.db"
    names = [str(number) for number in range(1, segments + 1)]
    print(
        f"ratings: {len(judgments)} judgments of {len({(j.segment, j.span, j.phrase) for j in judgments})} keys"
    )
    with JudgmentDatabase(database) as db:
        db.add_segments(Segment(name, " ".join(["wort"] * 90)) for name in names)
        before, start = peak_megabytes(), time.process_time()
        added = db.add(iter(judgments))
        seconds, grown = time.process_time() - start, peak_megabytes() - before
        start = time.process_time()
        assert db.add(judgments) == 0
        again = time.process_time() - start
        lookup = seconds_of_lookup(db, names)
        print(f"rypt: {added} added, memory grew by {grown:.0f} MB; again {again:.1f} s, nothing added")
        readers = {
            "votes": db.votes,
            "arrays of votes": lambda: read_votes(db).key,
            "judgments": db.judgments,
        }
        for name, read in readers.items():
            start = time.process_time()
            count = sum(1 for _ in read())
            print(f"rypt: {name}: {count} in {time.process_time() - start:.1f} CPU s")
    rows = (
        dict(
            zip(
                (*KEY, "severity"),
                (j.segment, *j.span, j.phrase, j.worker, j.origin, str(j.label), j.severity),
                strict=True,
            )
        )
        for j in judgments
    )
    other = plain_table(folder / "plain-ratings.db", rows, names)
    print(f"rypt: {database.stat().st_size / 1e6:.0f} MB")
    show("add", (seconds, lookup, database.stat().st_size / added), other)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("hits", "ratings"))
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--segments", type=int, default=1418)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if options.only != "ratings":
            measure_hits(Path(scratch), options.judgments, options.seed)
        if options.only != "hits":
            measure_ratings(Path(scratch), options.segments, options.seed)


if __name__ == "__main__":
    main()
