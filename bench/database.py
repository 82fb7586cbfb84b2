"""Millions of judgments: import, file size, memory, look-ups; beside a plain sqlite-utils table with that key.

    python bench/database.py [--judgments 1000000]

JSONL as hits give it: 2,000 segments, about 15 constituents each asked about, phrases of one to six words, three
workers a key, times, and an origin such as a hit id. All is made up from a seed; times are CPU seconds.
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

SEGMENTS = 2000
WORKERS = 115
WORDS = 4000
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
    ours = seconds, lookup, database.stat().st_size / result.added
    print("                          rypt     plain sqlite-utils    ratio")
    names = ("import, CPU s", "look-up, ms a segment", "bytes a judgment")
    for name, scale, mine, theirs in zip(names, (1, 1e3, 1), ours, other, strict=True):
        print(f"{name:22}{mine * scale:8.2f} {theirs * scale:22.2f} {theirs / mine:8.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measure_hits(Path(scratch), options.judgments, options.seed)


if __name__ == "__main__":
    main()
