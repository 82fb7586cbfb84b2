"""The public MQM annotation of TED talks, through our own import: the same judgments and scores as others derived.

An MQM file is written from the character offsets of the annotation, imported with ``rypt import mqm``, and compared
with the judgments and scores that come with the data, which other code made.
"""

import gzip
import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from commands import run

from rypt.aligners import align
from rypt.alignment import parse_links
from rypt.campaign import Campaign

pytestmark = pytest.mark.real
BENCH = Path(__file__).resolve().parents[2] / "bench" / "fallback.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_fallback", BENCH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(real_data: Callable[[str], Path]) -> Path:
    return real_data("mqm-ted-ende")


@pytest.fixture(scope="module")
def campaign(bench: ModuleType, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A campaign without judgments; tests copy its folder."""
    made: Campaign = bench.make_campaign(folder, tmp_path_factory.mktemp("mqm") / "ted", bench.parser_tree)
    bench.write_mqm(folder, made.folder.parent / "mqm.tsv")
    return made


def read_tsv(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        names = next(file).rstrip("\n").split("\t")
        return [dict(zip(names, line.rstrip("\n").split("\t"), strict=True)) for line in file]


@pytest.mark.parametrize("label", ["any", "major", "dens"])
def test_import_gives_the_judgments_of_the_data(
    bench: ModuleType, folder: Path, campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str], label: str
) -> None:
    own = Campaign.open(shutil.copytree(campaign.folder, campaign.folder.with_name(label)))
    command = ["import", "mqm", own.folder.parent / "mqm.tsv", "-C", own.folder, "--label", label, "--json"]
    code, out, _ = run(capsys, *command, "--scores", tmp_path / "scores.jsonl")
    assert code == 0
    facts = json.loads(out)
    assert (facts["added"], facts["matched"], facts["unmatched"], facts["scores"]) == (218_050, 7_406, {}, 7_406)
    wanted = {
        (r["seg_id"], int(r["j"]), int(r["k"]) + 1, r["candidate_substring"], r["rater"], r["system"]): r[label]
        for r in read_tsv(folder / "judgments.tsv.gz")
    }
    with own.database() as db:
        found = {(j.segment, *j.span, j.phrase, j.worker, j.origin): str(j.label) for j in db.judgments()}
    assert len(wanted) == 218_050
    assert found == wanted
    scores = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    mine = {(s["segment"], s["system"], s["rater"]): s["score"] for s in scores}
    theirs = {
        (str(c["seg_id"]), c["system"], rating["rater"]): rating["score"]
        for c in bench.read_jsonl(folder / "candidates.jsonl.gz")
        for rating in c["ratings"]
    }
    assert len(theirs) == 7_406
    assert mine == pytest.approx(theirs)


@pytest.mark.skipif(
    importlib.util.find_spec("eflomal") is None, reason="eflomal is not installed (pip install eflomal)"
)
def test_our_links_are_like_those_of_the_data(bench: ModuleType, folder: Path) -> None:
    """Theirs were learned from 125,000 further pairs, ours from these alone."""
    sources = {s["seg_id"]: tuple(s["tokens"].split(" ")) for s in bench.read_jsonl(folder / "sources.jsonl.gz")}
    candidates = bench.read_jsonl(folder / "candidates.jsonl.gz")
    found = align([(sources[c["seg_id"]], tuple(c["tokens"].split(" "))) for c in candidates], aligner="eflomal")
    wanted = [set(parse_links(c["align"])) for c in candidates]
    both = sum(len(set(ours) & theirs) for ours, theirs in zip(found, wanted, strict=True))
    assert both / sum(map(len, found)) > 0.82
    assert both / sum(map(len, wanted)) > 0.85
