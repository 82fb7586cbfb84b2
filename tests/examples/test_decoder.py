"""The example decoder: its lists say what its files say, and tuning makes it better."""

import gzip
import json
import math
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from rypt.texts.nbest import read_list

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DECODER = ROOT / "examples" / "decoder"
CORPUS = DECODER / "corpus"
INITIAL = DECODER / "weights.init"
LABELS = ["Distortion0", "LM0", "WordPenalty0", "PhrasePenalty0", "TranslationModel0", "UnknownWordPenalty0"]


def run(*arguments: object) -> str:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", timeout=180).stdout


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("decoder") / "model"
    texts = ["--source", CORPUS / "train.de", "--target", CORPUS / "train.en"]
    run(DECODER / "train.py", *texts, "--output", output)
    return output


@pytest.fixture(scope="module")
def dev_list(model: Path) -> tuple[Path, str]:
    """The n-best list of dev and the best candidates, at the initial weights."""
    path = model.parent / "dev.nbest"
    texts = ["--input", CORPUS / "dev.de", "--nbest", path]
    return path, run(DECODER / "decode.py", "--model", model, "--weights", INITIAL, *texts)


class Arpa:
    """Back-off probabilities by the book: natural logarithms, always from the full context."""

    def __init__(self, path: Path) -> None:
        self.table: dict[str, tuple[float, float]] = {}
        for line in lines(path):
            found = re.fullmatch(r"(-?[\d.]+)\t([^\t]+)(?:\t(-?[\d.]+))?", line)
            if found:
                self.table[found[2]] = (float(found[1]), float(found[3] or 0))

    def log10(self, words: tuple[str, ...]) -> float:
        if " ".join(words) in self.table:
            return self.table[" ".join(words)][0]
        return self.table.get(" ".join(words[:-1]), (0, 0))[1] + self.log10(words[1:])

    def sentence(self, words: list[str]) -> float:
        known = ["<s>", *(word if word in self.table else "<unk>" for word in words), "</s>"]
        return math.log(10) * sum(
            self.log10(tuple(known[max(0, i - 2) : i + 1])) for i in range(1, len(known))
        )


Table = dict[tuple[str, str], tuple[list[float], list[tuple[int, int]]]]


def read_table(path: Path) -> Table:
    table: Table = {}
    for line in lines(path):
        source, target, scores, links = line.split(" ||| ")
        pairs = [(int(i), int(j)) for i, j in re.findall(r"(\d+)-(\d+)", links)]
        table[source, target] = ([math.log(float(score)) for score in scores.split()], pairs)
    return table


def read_weights(text: str) -> list[float]:
    return [float(value) for value in re.findall(r" (-?[\d.]+)", text)]


def read_features(field: str) -> list[float]:
    words = field.split()
    assert [word[:-1] for word in words if word.endswith("=")] == LABELS
    values = [float(word) for word in words if not word.endswith("=")]
    assert len(values) == 9
    assert words.index("UnknownWordPenalty0=") == words.index("TranslationModel0=") + 5
    return values


def read_ranges(field: str) -> list[tuple[range, range]]:
    """PhraseOption alignment: source and target positions of each phrase."""
    pairs = []
    for phrase in field.split():
        source, target = ([int(end) for end in side.split("-")] for side in phrase.split("="))
        pairs.append((range(source[0], source[-1] + 1), range(target[0], target[-1] + 1)))
    return pairs


def features_of(source, words, pairs, table, arpa):
    """The features and links of a candidate, from its phrases."""
    values = [0.0, arpa.sentence(words), -len(words), len(pairs), 0.0, 0.0, 0.0, 0.0, 0.0]
    links = set()
    position = 0
    for span, place in pairs:
        values[0] -= abs(span.start - position)
        position = span.stop
        key = " ".join(source[i] for i in span), " ".join(words[j] for j in place)
        scores, inside = table.get(key, ([0.0] * 4, [(0, 0)]))
        if key not in table:
            assert key[0] == key[1]
            values[8] -= 100
        for k in range(4):
            values[4 + k] += scores[k]
        links |= {(span.start + i, place.start + j) for i, j in inside}
    return values, links


def test_features_are_what_the_files_say(model: Path, dev_list: tuple[Path, str]) -> None:
    table, arpa = read_table(model / "phrase-table"), Arpa(model / "lm.arpa")
    sources = [line.split() for line in lines(CORPUS / "dev.de")]
    weights = read_weights(INITIAL.read_text(encoding="utf-8"))
    jumped = unknown = 0
    for line in lines(dev_list[0])[::3]:
        number, text, features, total, phrases, links = line.split(" ||| ")
        source, words, pairs = sources[int(number)], text.split(), read_ranges(phrases)
        assert sorted(i for span, _ in pairs for i in span) == list(range(len(source)))
        assert [j for _, place in pairs for j in place] == list(range(len(words)))
        expected, expected_links = features_of(source, words, pairs, table, arpa)
        values = read_features(features)
        assert values == pytest.approx(expected, abs=2e-6)
        assert float(total) == pytest.approx(sum(map(float.__mul__, weights, values)), abs=1e-7)
        found = [(int(i), int(j)) for i, j in re.findall(r"(\d+)-(\d+)", links)]
        assert found == sorted(expected_links)
        jumped += expected[0] < 0
        unknown += expected[8] < 0
    assert jumped > 100
    assert unknown > 10


def test_a_list_is_sorted_and_distinct_and_begins_with_the_output(dev_list: tuple[Path, str]) -> None:
    groups: dict[int, list[tuple[float, str]]] = defaultdict(list)
    for line in lines(dev_list[0]):
        number, text, _, total = line.split(" ||| ")[:4]
        groups[int(number)].append((float(total), text))
    assert list(groups) == list(range(60))
    for candidates in groups.values():
        totals = [total for total, _ in candidates]
        assert totals == sorted(totals, reverse=True)
        assert len({text for _, text in candidates}) == len(candidates) == 100
    assert dev_list[1].splitlines() == [candidates[0][1] for candidates in groups.values()]
    raw = [candidate for _, candidate in read_list(dev_list[0])]  # as the toolkit reads it
    assert (len(raw), len(raw[0].features)) == (6000, 9)
    assert all(candidate.alignment for candidate in raw)


def test_tuning_makes_it_better(model: Path, tmp_path: Path) -> None:
    decode = f"{sys.executable} {DECODER / 'decode.py'} --model {model} --input {CORPUS}/dev.de"
    command = ["-c", "from rypt.cli import main; main()", "tune", "--decoder"]
    command += [f"{decode} --weights {{weights}} --nbest {{nbest}}", "--references", CORPUS / "dev.en"]
    command += ["--weights", INITIAL, "--folder", tmp_path / "run", "--max-iterations", 4, "--json"]
    result = json.loads(run(*command, "-o", tmp_path / "tuned"))
    assert result["start_score"] == pytest.approx(51.4, abs=0.1)
    assert result["score"] > 60


def test_the_pool_of_the_demo_has_the_segments_of_the_corpus() -> None:
    data = ROOT / "rypt" / "demo" / "data"
    for name, parts in (("tune", ("dev", "test")), ("unseen", ("heldout",))):
        for ending in ("de", "en", "trees"):
            assert lines(data / f"{name}.{ending}") == [
                x for p in parts for x in lines(CORPUS / f"{p}.{ending}")[:120]
            ]
        pool = gzip.decompress((data / f"{name}.pool.gz").read_bytes()).decode().splitlines()
        assert {line.split(" ||| ")[0] for line in pool} == set(map(str, range(120)))
        assert all(0 <= float(line.split(" ||| ")[3]) <= 1 for line in pool)


def test_the_corpus_is_what_its_grammar_writes(tmp_path: Path) -> None:
    """The grammar goes on after the corpus: further segments are new ones."""
    run(ROOT / "examples" / "corpus" / "make_corpus.py", "--output", tmp_path, "--more", 20)
    more = {path.name for path in tmp_path.glob("more.*")}
    assert more == {"more.de", "more.en", "more.trees", "more.truth.jsonl"}
    corpus = {path.name: path.read_bytes() for path in CORPUS.iterdir()}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name not in more} == corpus
    for language in ("de", "en"):
        every = [
            line
            for name in ("train", "dev", "test", "heldout")
            for line in lines(CORPUS / f"{name}.{language}")
        ]
        assert len(every) == len(set(every)) == 1300
    assert len(set(lines(tmp_path / "more.de")) - set(lines(CORPUS / "train.de"))) == 20
