"""The public MQM annotation of TED talks, through our own import: the same judgments and scores as others derived.

An MQM file is written from the character offsets of the annotation, imported with ``rypt import mqm``, and compared
with the judgments and scores that come with the data, which other code made.
"""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from commands import run
from ted_campaign import make_campaign, read_jsonl

from rypt.texts.tokenizer import tokens_of

pytestmark = pytest.mark.real
COLUMNS = ("system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity")


def marked(text: str, error: dict[str, Any], side: str) -> str:
    if error.get("side") != side:
        return text
    start, stop = error["char"]
    return f"{text[:start]}<v>{text[start:stop]}</v>{text[stop:]}"


def write_mqm(data: Path, target: Path) -> None:
    """The annotation of the data as a file like those of google/wmt-mqm-human-evaluation."""
    sources = {s["seg_id"]: s for s in read_jsonl(data / "sources.jsonl.gz")}
    none = {"category": "No-error", "severity": "No-error"}
    with open(target, "w", encoding="utf-8") as file:
        file.write("\t".join(COLUMNS) + "\n")
        for c in read_jsonl(data / "candidates.jsonl.gz"):
            source = sources[c["seg_id"]]
            for rating in c["ratings"]:
                for error in rating["errors"] or [none]:
                    texts = marked(source["raw"], error, "source"), marked(c["raw"], error, "target")
                    ids = c["system"], source["doc"], str(c["seg_id"]), str(c["seg_id"]), rating["rater"]
                    file.write("\t".join((*ids, *texts, error["category"], error["severity"])) + "\n")


@pytest.mark.parametrize(("label", "severity"), [("any", "minor"), ("major", "major")])
def test_import_gives_the_judgments_of_the_data(
    small_ted_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], label: str, severity: str
) -> None:
    campaign = make_campaign(small_ted_data, tmp_path / "ted")
    write_mqm(small_ted_data, tmp_path / "mqm.tsv")
    command = ["import", tmp_path / "mqm.tsv", "-C", campaign.folder, "--severity", severity, "--json"]
    code, out, _ = run(capsys, *command, "--scores", tmp_path / "scores.jsonl")
    assert code == 0
    with gzip.open(small_ted_data / "judgments.tsv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    wanted = {
        (r["seg_id"], int(r["j"]), int(r["k"]) + 1, r["candidate_substring"], r["rater"], r["system"]): r[
            label
        ]
        for r in rows
    }
    with campaign.database() as db:
        found = {(j.segment, *j.span, j.phrase, j.worker, j.origin): str(j.label) for j in db.judgments()}
    assert found == wanted
    scores = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    theirs = {
        (str(c["seg_id"]), c["system"], rating["rater"]): rating["score"]
        for c in read_jsonl(small_ted_data / "candidates.jsonl.gz")
        for rating in c["ratings"]
    }
    assert {(s["segment"], s["system"], s["rater"]): s["score"] for s in scores} == pytest.approx(theirs)
    (facts,) = json.loads(out)
    assert (facts["added"], facts["matched"], facts["unmatched"]) == (len(wanted), len(theirs), {})


def test_our_tokens_are_like_those_of_the_data(ted_data: Path) -> None:
    """Theirs are Penn-style, made by another tokeniser."""
    for name in ("sources.jsonl.gz", "candidates.jsonl.gz"):
        texts = read_jsonl(ted_data / name)
        assert sum(tokens_of(text["raw"]) == text["tokens"].split(" ") for text in texts) / len(texts) > 0.99
