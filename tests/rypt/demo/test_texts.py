"""The demo's texts: parts of the corpus put together, with their truth; folders that are not the demo's."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rypt.demo.texts import DECODER, Plan, begin, write_texts
from rypt.text import InputError


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_parts_are_joined_and_numbered_through(tmp_path: Path) -> None:
    plan = Plan(segments=7, tune=("dev", "test"), unseen=("heldout",))
    write_texts(tmp_path, plan)
    for ending in ("de", "en", "trees"):
        own = lines(tmp_path / f"texts/tune.{ending}")
        assert own == [
            line for part in ("dev", "test") for line in lines(DECODER / f"corpus/{part}.{ending}")[:7]
        ]
    truth = [json.loads(line) for line in lines(tmp_path / "texts/tune.truth.jsonl")]
    sources = {record["segment"]: record["source"] for record in truth if "source" in record}
    assert sources == {str(i): text for i, text in enumerate(lines(tmp_path / "texts/tune.de"))}
    spans = [record for record in truth if "patterns" in record]
    before = [json.loads(line) for line in lines(DECODER / "corpus/test.truth.jsonl")]
    wanted = [r["patterns"] for r in before if "patterns" in r and r["segment"] == "3"]
    assert [record["patterns"] for record in spans if record["segment"] == "10"] == wanted


def test_what_is_tuned_on_and_what_is_unseen_do_not_meet(tmp_path: Path) -> None:
    write_texts(tmp_path, Plan())
    tune, unseen = (set(lines(tmp_path / f"texts/{name}.de")) for name in ("tune", "unseen"))
    assert len(lines(tmp_path / "texts/tune.de")) == 120
    assert len(lines(tmp_path / "texts/unseen.de")) == 120
    assert not tune & unseen


def test_the_start_has_all_weights_1(tmp_path: Path) -> None:
    write_texts(tmp_path, Plan(segments=1))
    before, start = lines(DECODER / "weights.init"), lines(tmp_path / "texts/start.weights")
    assert [line.split()[0] for line in start] == [line.split()[0] for line in before]
    assert [len(line.split()) for line in start] == [len(line.split()) for line in before]
    assert {number for line in start for number in line.split()[1:]} == {"1"}


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    assert begin(tmp_path / "new", Plan())
    assert begin(tmp_path, Plan())
    (tmp_path / "rypt.toml").touch()
    with pytest.raises(InputError, match="expected a new or empty folder for the demo"):
        begin(tmp_path, Plan())


def test_a_folder_of_another_plan_says_what_differs(tmp_path: Path) -> None:
    write_texts(tmp_path, Plan(segments=1))
    assert not begin(tmp_path, Plan(segments=1))
    with pytest.raises(
        InputError, match="begun here with labels 200: give the same options to go on, or another"
    ):
        begin(tmp_path, replace(Plan(segments=1), labels=3))
    (tmp_path / "demo.json").write_text("{}")
    with pytest.raises(InputError, match="expected the plan of a demo"):
        begin(tmp_path, Plan())
