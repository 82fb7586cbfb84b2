"""The public MQM annotation of TED talks, through our own import: the same judgments and scores as others derived.

An MQM file is written from the character offsets of the annotation, imported with ``rypt import mqm``, and compared
with the judgments and scores that come with the data, which other code made. From the file alone, `--texts` and the
commands it names lead to a comparison of picks.
"""

import gzip
import importlib.util
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from commands import run

from rypt.analysis.curve import percolation_curve
from rypt.campaign.folder import Campaign
from rypt.texts.alignment import Links, parse_links
from rypt.texts.tokenizer import tokens_of
from rypt.tools import aligners
from rypt.tools.aligners import Pair, align

pytestmark = pytest.mark.real
CANDIDATES = "candidates.jsonl.gz"
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
        (r["seg_id"], int(r["j"]), int(r["k"]) + 1, r["candidate_substring"], r["rater"], r["system"]): r[
            label
        ]
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
        one, four = percolation_curve(disjoint, [1, 4], splits=2, judging=7, seed=3, ties="no", models=False)
    assert 100 * one.percolated.percolation == pytest.approx(30.7, abs=3)
    assert 100 * four.percolated.percolation == pytest.approx(78.5, abs=2)


def test_our_tokens_are_like_those_of_the_data(bench: Bench, ted_data: Path) -> None:
    """Theirs are Penn-style, made by another tokeniser."""
    for name in ("sources.jsonl.gz", CANDIDATES):
        texts = bench("fallback").read_jsonl(ted_data / name)
        assert sum(tokens_of(text["raw"]) == text["tokens"].split(" ") for text in texts) / len(texts) > 0.99


def test_the_file_alone_leads_to_a_comparison(
    bench: Bench,
    small_ted_data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The commands that --texts names, one after the other, on the first segments; links are those of the data."""
    monkeypatch.chdir(tmp_path)
    links = {
        c["tokens"]: parse_links(c["align"])
        for c in bench("fallback").read_jsonl(small_ted_data / CANDIDATES)
    }
    monkeypatch.setattr(aligners, "is_installed", lambda name: True)
    monkeypatch.setattr(
        aligners, "align", lambda pairs, **options: [links[" ".join(pair[1])] for pair in pairs]
    )
    bench("fallback").write_mqm(small_ted_data, Path("mqm.tsv"))
    code, out, err = run(capsys, "import", "mqm", "mqm.tsv", "--texts", "ted", "--reference", "ref")
    people = "  human translations, to be judged and never picked: ref\n"
    assert (code, out) == (0, f"ted: 60 segments, 840 outputs of 14 systems\n{people}")
    for line in err.removeprefix("next: ").splitlines():
        command = shlex.split(line.replace("--language LANGUAGE", "--tool fallback"))[1:]
        code, out, said = run(
            capsys, *command, *(["--splits", "5", "-q"] if command[0] == "compare" else ["-q"])
        )
        assert code == 0, said
        if command[0] == "import":
            assert "from 840 of 840 ratings (4 raters, 14 systems)" in out
    assert out.startswith(
        "The picks of rypt:severity+0.2*chrf+2*system (people's labels, chrF and the mean of each"
    )
    assert out.splitlines()[6].split()[:2] == ["rypt:severity+0.2*chrf+2*system", "rypt:severity+0.2*chrf"]


@pytest.mark.skipif(
    importlib.util.find_spec("eflomal") is None, reason="eflomal is not installed (pip install eflomal)"
)
def test_our_links_are_like_those_of_the_data(bench: Bench, ted_data: Path) -> None:
    """Theirs were learned from 125,000 further pairs, ours from a quarter of these alone."""
    read_jsonl = bench("fallback").read_jsonl
    sources = {s["seg_id"]: tuple(s["tokens"].split(" ")) for s in read_jsonl(ted_data / "sources.jsonl.gz")}
    candidates = read_jsonl(ted_data / "candidates.jsonl.gz")[::4]
    pairs = [(sources[c["seg_id"]], tuple(c["tokens"].split(" "))) for c in candidates]
    found = align(pairs, aligner="eflomal", unaligned="leave")
    wanted = [set(parse_links(c["align"])) for c in candidates]
    both = sum(len(set(ours) & theirs) for ours, theirs in zip(found, wanted, strict=True))
    assert both / sum(map(len, found)) > 0.76
    assert both / sum(map(len, wanted)) > 0.76


@pytest.mark.skipif(
    importlib.util.find_spec("eflomal") is None, reason="eflomal is not installed (pip install eflomal)"
)
def test_a_new_system_is_aligned_with_what_the_others_teach(
    bench: Bench, small_ted_data: Path, tmp_path: Path
) -> None:
    """Paragraphs of three segments: the links of 13 systems stay, those of the 14th are as good."""
    read_jsonl = bench("fallback").read_jsonl
    sources = {
        s["seg_id"]: tuple(s["tokens"].split(" ")) for s in read_jsonl(small_ted_data / "sources.jsonl.gz")
    }
    systems: dict[str, list[tuple[Pair, Links]]] = {}
    for c in read_jsonl(small_ted_data / CANDIDATES):
        pair = (sources[c["seg_id"]], tuple(c["tokens"].split(" ")))
        systems.setdefault(c["system"], []).append((pair, parse_links(c["align"])))
    paragraphs = {
        name: [joined(segments[i : i + 3]) for i in range(0, 60, 3)] for name, segments in systems.items()
    }
    new = paragraphs.pop("Online-W")
    old = [pair for of_system in paragraphs.values() for pair, _ in of_system]
    first = align(old, cache=tmp_path / "cache.gz")
    found = align([*old, *(pair for pair, _ in new)], cache=tmp_path / "cache.gz")
    assert found[: len(old)] == first
    both = sum(len(set(ours) & set(theirs)) for ours, (_, theirs) in zip(found[len(old) :], new, strict=True))
    assert 2 * both / (sum(map(len, found[len(old) :])) + sum(len(links) for _, links in new)) > 0.7


def joined(segments: list[tuple[Pair, Links]]) -> tuple[Pair, Links]:
    source, target, links = (), (), ()
    for (one, other), of_pair in segments:
        links += tuple((i + len(source), j + len(target)) for i, j in of_pair)
        source, target = source + one, target + other
    return (source, target), links
