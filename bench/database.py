"""A million judgments: import, file size, memory, look-ups; beside a plain sqlite-utils table with the same key.

    python bench/database.py [--judgments 1000000]

Judgments are made up from a seed: 2,000 segments, about 15 constituents each asked about, phrases of one to six words,
three workers a key, times, and an origin such as a hit id.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

SEGMENTS = 2000
WORKERS = 115
WORDS = 4000


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
                "segment": segment, "start": start, "stop": stop, "phrase": phrase.strip(),
                "label": ("YES", "NO", "NOT_SURE")[int(rng.choice(3, p=(0.35, 0.6, 0.05)))],
                "worker": f"A{(key * 7 + vote * 31) % WORKERS:013d}", "origin": f"h{key // 4:06d}", "source": "hit",
                "time": 1240000000 + key,
            }  # fmt: skip


def write_files(folder: Path, count: int, seed: int) -> Path:
    path = folder / "judgments.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for i in range(SEGMENTS):
            file.write(json.dumps({"id": f"news-{i}", "text": " ".join(["wort"] * 25)}) + "\n")
        for record in records(count, seed):
            file.write(json.dumps(record) + "\n")
    return path


def ours(path: Path, database: Path) -> tuple[float, float, float, float]:
    from rypt.database.exchange import import_file
    from rypt.database.judgments import JudgmentDatabase

    with JudgmentDatabase(database) as db:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        result = import_file(db, path)
        seconds = time.perf_counter() - start
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"rypt: {result.added} judgments added, {result.already} already there, {result.refused} refused")
        start = time.perf_counter()
        again = import_file(db, path)
        repeated = time.perf_counter() - start
        assert again.added == 0
        start = time.perf_counter()
        for i in range(SEGMENTS):
            db.votes(f"news-{i}")
        lookup = (time.perf_counter() - start) / SEGMENTS
    print(f"rypt: memory grew by {grown:.0f} MB during the import; importing again {repeated:.1f} s, nothing added")
    return seconds, lookup, database.stat().st_size / result.added, result.added


def plain(path: Path, database: Path) -> tuple[float, float, float]:
    """The same records with sqlite-utils alone: one table, the same primary key."""
    from sqlite_utils import Database

    key = ("segment", "start", "stop", "phrase", "worker", "origin", "label")
    db = Database(database)
    db.enable_wal()
    start = time.perf_counter()
    with open(path, encoding="utf-8") as file, db.atomic():
        lines = (json.loads(line) for line in file)
        rows = (record for record in lines if "label" in record)
        db.table("judgments").insert_all(rows, pk=key, ignore=True, batch_size=5000)
    seconds = time.perf_counter() - start
    count = db.table("judgments").count
    start = time.perf_counter()
    for i in range(SEGMENTS):
        list(db.query("SELECT * FROM judgments WHERE segment = ?", [f"news-{i}"]))
    lookup = (time.perf_counter() - start) / SEGMENTS
    db.close()
    return seconds, lookup, database.stat().st_size / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = write_files(Path(scratch), options.judgments, options.seed)
        print(f"{path.stat().st_size / 1e6:.0f} MB of JSONL")
        seconds, lookup, size, _ = ours(path, Path(scratch) / "rypt.db")
        other_seconds, other_lookup, other_size = plain(path, Path(scratch) / "plain.db")
    print("                          rypt     plain sqlite-utils    ratio")
    print(f"import, s             {seconds:8.1f} {other_seconds:22.1f} {other_seconds / seconds:8.1f}")
    print(f"bytes a judgment      {size:8.1f} {other_size:22.1f} {other_size / size:8.1f}")
    print(f"look-up, ms a segment {lookup * 1e3:8.2f} {other_lookup * 1e3:22.2f} {other_lookup / lookup:8.1f}")


if __name__ == "__main__":
    main()
