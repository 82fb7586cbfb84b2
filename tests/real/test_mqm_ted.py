"""The public MQM annotation of TED talks, through our own import: the same judgments and scores as others derived.

An MQM file is written from the character offsets of the annotation, imported with ``rypt import mqm``, and compared
with the judgments and scores that come with the data, which other code made.
"""

import gzip
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from commands import run

from rypt.aligners import align
from rypt.alignment import parse_links
from rypt.analysis_curve import percolation_curve
from rypt.campaign import Campaign

pytestmark = pytest.mark.real
Bench = Callable[[str], ModuleType]


def read_tsv(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        names = next(file).rstrip("\n").split("\t")
        return [dict(zip(names, line.rstrip("\n").split("\t"), strict=True)) for line in file]


def check_import(
    fallback: ModuleType, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], label: str
) -> Campaign:
    """Import the annotation of a folder, and compare judgments and scores with those of the folder."""
    own: Campaign = fallback.make_campaign(folder, tmp_path / "ted", fallback.parser_tree)
    fallback.write_mqm(folder, tmp_path / "mqm.tsv")
    command = ["import", "mqm", tmp_path / "mqm.tsv", "-C", own.folder, "--label", label, "--json"]
    code, out, _ = run(capsys, *command, "--scores", tmp_path / "scores.jsonl")
    assert code == 0
    facts = json.loads(out)
    wanted = {
        (r["seg_id"], int(r["j"]), int(r["k"]) + 1, r["candidate_substring"], r["rater"], r["system"]): r[label]
        for r in read_tsv(folder / "judgments.tsv.gz")
    }
    with own.database() as db:
        found = {(j.segment, *j.span, j.phrase, j.worker, j.origin): str(j.label) for j in db.judgments()}
    assert found == wanted
    scores = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    mine = {(s["segment"], s["system"], s["rater"]): s["score"] for s in scores}
    theirs = {
        (str(c["seg_id"]), c["system"], rating["rater"]): rating["score"]
        for c in fallback.read_jsonl(folder / "candidates.jsonl.gz")
        for rating in c["ratings"]
    }
    assert mine == pytest.approx(theirs)
    assert (facts["added"], facts["matched"], facts["unmatched"]) == (len(wanted), len(theirs), {})
    return own


@pytest.mark.parametrize("label", ["any", "major"])
def test_import_gives_the_judgments_of_the_data(
    bench: Bench, small_ted_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], label: str
) -> None:
    check_import(bench("fallback"), small_ted_data, tmp_path, capsys, label)


def test_all_of_it_with_labels_that_do_not_percolate_by_construction(
    bench: Bench, ted_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The accuracy of percolation is that of the replication."""
    campaign = check_import(bench("fallback"), ted_data, tmp_path, capsys, "dens")
    with campaign.database() as db:
        assert db.count() == 218_050
        disjoint = bench("ted").disjoint_systems(campaign, db)
        one, four = percolation_curve(disjoint, [1, 4], splits=3, judging=7, seed=3, ties="no", models=False)
    assert 100 * one.percolated.percolation == pytest.approx(30.7, abs=3)
    assert 100 * four.percolated.percolation == pytest.approx(78.5, abs=2)


@pytest.mark.skipif(
    importlib.util.find_spec("eflomal") is None, reason="eflomal is not installed (pip install eflomal)"
)
def test_our_links_are_like_those_of_the_data(bench: Bench, ted_data: Path) -> None:
    """Theirs were learned from 125,000 further pairs, ours from a quarter of these alone."""
    read_jsonl = bench("fallback").read_jsonl
    sources = {s["seg_id"]: tuple(s["tokens"].split(" ")) for s in read_jsonl(ted_data / "sources.jsonl.gz")}
    candidates = read_jsonl(ted_data / "candidates.jsonl.gz")[::4]
    found = align([(sources[c["seg_id"]], tuple(c["tokens"].split(" "))) for c in candidates], aligner="eflomal")
    wanted = [set(parse_links(c["align"])) for c in candidates]
    both = sum(len(set(ours) & theirs) for ours, theirs in zip(found, wanted, strict=True))
    assert both / sum(map(len, found)) > 0.76
    assert both / sum(map(len, wanted)) > 0.76
