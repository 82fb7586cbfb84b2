"""The commands on the pages run as they stand: each page from top to bottom, after those of the README.

A block that begins with ``# example only: REASON`` is not run; ``tests/test_docs.py`` checks its commands and options.
"""

import csv
import gzip
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest

from hits.results.answers import Results
from rypt.campaign.folder import Campaign

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "rypt" / "demo" / "data"
EXAMPLE = "# example only: "
PAGES = sorted((ROOT / "docs").glob("*.md"))
PEOPLE = "rypt simulate --market two/market --truth judgments.jsonl -C two --workers 5"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[str]:
    """The blocks of a page that are run, in order."""
    return [
        block for block in BLOCK.findall(page.read_text(encoding="utf-8")) if not block.startswith(EXAMPLE)
    ]


def run(script: str, folder: Path, people: str = "") -> None:
    """Run a script in a group of its own, which ends with it; every question is answered by yes.

    ``people`` is run after every invitation, in the place of those who were invited.
    """
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    served = (
        f"until (exec 3<> /dev/tcp/127.0.0.1/{port}) 2> /dev/null; do sleep 0.2; done"  # a reader is slower
    )
    script = re.sub(r"--port \d+(.*&.*)$", rf"--port {port}\1\n{served}", script, flags=re.MULTILINE)
    script = re.sub(
        r"^rypt hits publish (?!.*--yes)", "rypt hits publish --yes ", script, flags=re.MULTILINE
    )  # no terminal
    script = re.sub(r"^(rypt hits invite .*)$", rf"\1\n{people}", script, flags=re.MULTILINE)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_DATA_HOME": str(folder / "data")}
    output, answers = folder / "output.log", folder / "answers"
    answers.write_text("y\n" * 500)
    with output.open("w") as written, answers.open() as given:
        process = subprocess.Popen(
            ["bash", "-e", "-c", script],
            cwd=folder,
            env=environment,
            stdin=given,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=300)
        finally:
            with suppress(ProcessLookupError):  # a server that the page started
                os.killpg(process.pid, signal.SIGTERM)
    assert code == 0, output.read_text()[-3000:]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages name, after the README's commands."""
    folder = tmp_path_factory.mktemp("reader")
    names = {
        "source.de": "dev.de",
        "reference.en": "dev.en",
        "trees.de": "dev.trees",
        "weights.init": "run7.weights",
        "judgments.jsonl": "judgments.jsonl",
        "reference.align": "reference.align",
    }
    for name, copy in names.items():
        shutil.copy(DATA / name, folder / copy)
    for name in ("rypt", "examples"):  # pages name files of the checkout
        (folder / name).symlink_to(ROOT / name)
    candidates = (DATA / "nbest.en").read_bytes()
    (folder / "run7.best100.out.gz").write_bytes(gzip.compress(candidates))
    texts: dict[str, list[str]] = {}
    for line in candidates.decode().splitlines():
        segment, text, *_ = line.split(" ||| ")
        texts.setdefault(segment, []).append(text)
    for n, name in enumerate(("systemA", "systemB", "systemC")):
        (folder / f"{name}.txt").write_text("".join(f"{of[n]}\n" for of in texts.values()), encoding="utf-8")
    write_ratings(folder)
    write_comparisons(folder)
    run("\n".join(blocks(ROOT / "README.md")), folder, PEOPLE)
    run("rypt import judgments.jsonl -C campaign", folder)  # what the reader would have filled in
    return folder


def write_ratings(folder: Path) -> None:
    """Three raters' MQM of 12 segments by three systems and a reference: every third word of some outputs is wrong."""
    head = ["system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity"]
    sources = (folder / "dev.de").read_text(encoding="utf-8").splitlines()
    with gzip.open(folder / "mqm_ted_ende.tsv.gz", "wt", encoding="utf-8") as stream:
        stream.write("\t".join(head) + "\n")
        for s, system in enumerate(("A", "B", "C", "ref")):
            name = "dev.en" if system == "ref" else f"system{system}.txt"
            outputs = (folder / name).read_text(encoding="utf-8").splitlines()
            for i, (source, output) in enumerate(islice(zip(sources, outputs, strict=True), 12)):
                for rater in ("r1", "r2", "r3"):
                    words, kind = output.split(), ("No-error", "No-error")
                    if system != "ref" and (i + s) % 2:
                        words[2 * s] = f"<v>{words[2 * s]}</v>"
                        kind = ("Accuracy/Mistranslation", "Major" if s else "Minor")
                    row = (
                        system,
                        f"d{i // 4}",
                        f"d{i // 4}",
                        str(i + 1),
                        rater,
                        source,
                        " ".join(words),
                        *kind,
                    )
                    stream.write("\t".join(row) + "\n")


def write_comparisons(folder: Path) -> None:
    """Comparisons of four systems, and a metric's scores of those of the ratings."""
    with open(folder / "comparisons.csv", "w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(("segment", "system_a", "system_b", "winner", "annotator"))
        for n in range(120):
            a, b = "ABCD"[n % 4], "ABCD"[(n + 1 + n // 4 % 3) % 4]
            rows.writerow(
                (n % 30, a, b, "tie" if n % 7 == 0 else min(a, b) if n % 3 else max(a, b), f"r{n % 3}")
            )
    with open(folder / "metric.csv", "w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(("system", "segment", "score"))
        rows.writerows((s, i + 1, 50 + 3 * (i % 4) + 5 * "CBA".index(s)) for s in "ABC" for i in range(12))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page: Path, reader: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(reader, folder, symlinks=True)
    script = "\n".join(blocks(page))
    if "rypt init two " in script:
        shutil.rmtree(folder / "two")  # the README makes the same, in fewer words
    run(script, folder)


def test_the_commands_of_the_readme_run(reader: Path) -> None:
    assert (reader / "tuned.weights").exists()
    assert (reader / "why.svg").exists()
    with Campaign.open(reader / "two").database() as db:
        assert len(Results(db).comparisons()) == 100
