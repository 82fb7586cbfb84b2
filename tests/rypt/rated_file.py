"""A small file of MQM ratings, and an aligner that links words at the same place."""

import json
from pathlib import Path

import pytest

from rypt.campaign import create

COLUMNS = ("system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity")
SOURCES = ("The house is red .", "We go home .")
TARGETS = {
    "A": ("Das Haus ist rot .", "Wir gehen heim ."),
    "B": ("Das Heim ist rot .", "Wir gehen Haus ."),
    "Human-A": ("Das Haus ist rot .", "Wir gehen nach Hause ."),
    "ref": ("Das Haus ist rot .", "Wir gehen heim ."),
}


def ratings_file(path: Path, raters: tuple[str, ...] = ("r1", "r2")) -> Path:
    """Each rater marks one word of each output of B, and nothing else."""
    rows: list[tuple[str, ...]] = [COLUMNS]
    for system, texts in TARGETS.items():
        for i, text in enumerate(texts):
            words = text.split()
            if system == "B":
                words[1 + i] = f"<v>{words[1 + i]}</v>"
            kind = ("Accuracy/Mistranslation", "Major") if system == "B" else ("No-error", "No-error")
            rows += [
                (system, "d", "d", str(i + 1), rater, SOURCES[i], " ".join(words), *kind) for rater in raters
            ]
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


def align_in_order(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Put the aligner in place; the list gets the segments of each call."""
    calls = []

    def align_lists(segments, lists, outputs, watch):
        calls.append(sorted(segments))
        for path, output in zip(lists, outputs, strict=True):
            lines = [json.loads(line)["candidate"].split() for line in Path(path).read_text().splitlines()]
            links = [" ".join(f"{i}-{i}" for i in range(min(4, len(words)))) for words in lines]
            Path(output).write_text("".join(f"{line}\n" for line in links))
        return 1

    monkeypatch.setattr(create, "align_lists", align_lists)
    return calls
