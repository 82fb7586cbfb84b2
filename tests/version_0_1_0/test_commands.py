"""Every command prints the JSON that version 0.1.0 printed, but for what was added since."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CHANGED = (  # in words for people, and in names that were added, since 0.1.0
    (re.compile(r"\b1 segments "), "1 segment "),
    (re.compile(r'"(good|too few)", "reasons": \["(nothing against it, but )?only'), '"", "reasons": ["only'),
    (re.compile(r" of work, all people together, at"), " of work at"),
    (re.compile(r', "rejected": \d+, "pay": "[\d.]+"'), ""),  # by `hits workers`
    (re.compile(r' so far"\]'), '"]'),  # of few answers or controls
    (re.compile(r" \(\d+ \+ \d+ controls?\)| \(\d+ of them to controls\)"), ""),
    (re.compile(r', "decisions": \{[^}]*\}|, "number": \d+(?=\})'), ""),  # by `score`
    (re.compile(r'"compared": \{[^}]*\}, |"waiting": \d+, '), ""),  # by `status`, where there are answers
)
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, object]]]:
    path = tmp_path_factory.mktemp("recorded") / "commands.jsonl"
    subprocess.run([sys.executable, HERE / "record.py", path], check=True, cwd=path.parent)
    return by_command(path)


def by_command(path: Path) -> dict[str, list[dict[str, object]]]:
    """What was printed; a command that is run again has more than one record."""
    records: dict[str, list[dict[str, object]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        records.setdefault(record["command"], []).append(record)
    return records


def same_words(text: str) -> str:
    """A text without what was changed on purpose."""
    for pattern, words in CHANGED:
        text = pattern.sub(words, text)
    return text


def test_all_commands_print_what_they_printed(printed: dict[str, list[dict[str, object]]]) -> None:
    expected = by_command(HERE / "commands.jsonl")
    assert list(printed) == list(expected)
    for command, records in expected.items():
        for record, now in zip(records, printed[command], strict=True):
            assert now["code"] == record["code"] == 0, now
            before, after = same_words(str(record["out"])), same_words(str(now["out"]))
            if "--format csv" in command:  # phrases have the case of the example now
                before, after = before.lower(), after.lower()
            assert NUMBER.sub("#", after) == NUMBER.sub("#", before), command
            numbers = [[float(number) for number in NUMBER.findall(text)] for text in (after, before)]
            assert numbers[0] == pytest.approx(numbers[1], rel=1e-6, abs=1e-9), command
