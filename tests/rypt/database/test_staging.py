"""Staged judgments: in parts, each key whole, whatever their number."""

from pathlib import Path

import pytest

from rypt.database import exchange, staging
from rypt.database.columns import JudgmentColumns
from rypt.database.exchange import import_file
from rypt.database.judgments import DatabaseError, JudgmentDatabase
from rypt.database.staging import StagedJudgments
from rypt.records import Segment


def columns(first: int, count: int, segments: int) -> JudgmentColumns:
    return JudgmentColumns.from_rows(
        [
            (
                first + i,
                f"s{i % segments}",
                0,
                1 + i % 2,
                f"p{i % 7}",
                "w",
                "",
                "YES",
                1,
                "hit",
                None,
                1.0,
                None,
            )
            for i in range(count)
        ]
    )


@pytest.mark.parametrize("segments", [1, 50])
def test_all_judgments_of_a_key_come_in_one_part_in_the_order_of_the_file(
    segments: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "LARGEST", 40)
    monkeypatch.setattr(staging, "IN_MEMORY", 1000)
    keys: set[tuple[str, int, str]] = set()
    lines: list[int] = []
    with StagedJudgments() as staged:
        for first in (1, 301):
            staged.add(columns(first, 300, segments))
        assert len(staged) == 600
        for part in staged.parts():
            texts = part.segment.texts, part.phrase.texts
            codes = zip(part.segment.codes, part.stop.tolist(), part.phrase.codes, strict=True)
            here = {(texts[0][s], stop, texts[1][p]) for s, stop, p in codes}
            assert not here & keys
            assert (part.line[1:] > part.line[:-1]).all()
            keys |= here
            lines += part.line.tolist()
    assert sorted(lines) == list(range(1, 601))
    assert len(keys) == len({(i % segments, i % 2, i % 7) for i in range(300)})


def test_a_full_disk_changes_nothing_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: StagedJudgments, columns: JudgmentColumns) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exchange.StagedJudgments, "add", full)
    with JudgmentDatabase(tmp_path / "j.db") as db:
        db.add_segments([Segment("s", "ja")])
        line = b'{"segment": "s", "start": 0, "stop": 1, "phrase": "yes", "label": "YES", "worker": "w"}\n'
        with pytest.raises(
            DatabaseError, match=r"temporary file: No space left on device .nothing was changed"
        ):
            import_file(db, "file", blocks=[(1, [line])])
        assert db.count() == 0
