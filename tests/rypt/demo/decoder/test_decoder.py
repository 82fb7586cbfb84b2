"""The example decoder against brute force and against its own files, read by separate code."""

import itertools
import math
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.demo.decoder import align, phrases
from rypt.texts.nbest import read_list

FOLDER = Path(__file__).resolve().parents[4] / "rypt" / "demo" / "decoder"
CORPUS = FOLDER / "corpus"
GENERATOR = Path(__file__).resolve().parents[4] / "examples" / "corpus"
INITIAL = FOLDER / "weights.init"
TUNED = (
    "Distortion0= 0.1\nLM0= 0.7\nWordPenalty0= -1.4\nPhrasePenalty0= -0.1\n"
    "TranslationModel0= 0.25 0.05 0.6 0.4\nUnknownWordPenalty0= 1\n"
)
LABELS = ["Distortion0", "LM0", "WordPenalty0", "PhrasePenalty0", "TranslationModel0", "UnknownWordPenalty0"]


def program(name: str) -> list[str]:
    """The decoder's programs are modules of the package, that of the corpus is a script."""
    return (
        [str(GENERATOR / f"{name}.py")]
        if name == "make_corpus"
        else ["-P", "-m", f"rypt.demo.decoder.{name}"]
    )


def run(script: str, *arguments: object, code: int = 0, text: str = "", seed: str = "0") -> tuple[str, str]:
    command = [sys.executable, *program(script), *map(str, arguments)]
    environment = os.environ | {
        "PYTHONHASHSEED": seed,
        "PYTHONIOENCODING": "utf-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        command, input=text, capture_output=True, encoding="utf-8", env=environment, timeout=120, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def train(output: Path, *, seed: str = "0") -> Path:
    run(
        "train",
        "--source",
        CORPUS / "train.de",
        "--target",
        CORPUS / "train.en",
        "--output",
        output,
        seed=seed,
    )
    return output


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("decoder") / "model")


@pytest.fixture(scope="module")
def dev_list(model: Path) -> tuple[Path, str]:
    """The n-best list of dev and the best candidates, at the initial weights."""
    path = model.parent / "dev.nbest"
    return path, run(
        "decode", "--model", model, "--weights", INITIAL, "--input", CORPUS / "dev.de", "--nbest", path
    )[0]


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


def features_of(
    source: list[str], words: list[str], pairs: list[tuple[range, range]], table: Table, arpa: Arpa
) -> tuple[list[float], set[tuple[int, int]]]:
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
        assert len(candidates) == 100
        assert [total for total, _ in candidates] == sorted((total for total, _ in candidates), reverse=True)
        assert len({text for _, text in candidates}) == len(candidates)
    assert dev_list[1].splitlines() == [candidates[0][1] for candidates in groups.values()]


def test_the_list_is_one_the_toolkit_reads(dev_list: tuple[Path, str]) -> None:
    raw = [candidate for _, candidate in read_list(dev_list[0])]
    assert len(raw) == 6000
    assert len(raw[0].features) == 9
    assert all(candidate.alignment for candidate in raw)


def small_model(model: Path, folder: Path, translations: int) -> Path:
    """The same model with few translations of each source phrase, so that all derivations can be listed."""
    folder.mkdir()
    (folder / "lm.arpa").write_bytes((model / "lm.arpa").read_bytes())
    kept: Counter[str] = Counter()
    table = []
    for line in lines(model / "phrase-table"):
        kept[line.split(" ||| ")[0]] += 1
        if kept[line.split(" ||| ")[0]] <= translations:
            table.append(f"{line}\n")
    (folder / "phrase-table").write_text("".join(table), encoding="utf-8")
    return folder


def derivations(size: int, limit: int) -> Iterator[list[range]]:
    """All orders of all segmentations in which no jump, also not the one back to the first gap, passes the limit."""
    for cuts in itertools.product((False, True), repeat=size - 1):
        bounds = [0, *(i for i in range(1, size) if cuts[i - 1]), size]
        for order in itertools.permutations([range(a, b) for a, b in itertools.pairwise(bounds)]):
            end, gaps, fits = 0, set(range(size)), True
            for span in order:
                gaps -= set(span)
                fits &= abs(span.start - end) <= limit
                end = span.stop
                fits &= not gaps or end - min(gaps) <= limit
            if fits:
                yield list(order)


def exhaustive(
    source: list[str], table: Table, arpa: Arpa, weights: list[float], limit: int
) -> dict[str, float]:
    """The best total of each string that the model can produce."""
    options: dict[str, list[str]] = defaultdict(list)
    for phrase, target in table:
        options[phrase].append(target)
    for word in source:
        options[word] = options[word] or [word]

    @cache
    def lm(text: str) -> float:
        return arpa.sentence(text.split())

    best: dict[str, float] = {}
    for order in derivations(len(source), limit):
        phrases = [" ".join(source[i] for i in span) for span in order]
        jumps = sum(
            abs(span.start - end) for span, end in zip(order, [0, *(s.stop for s in order)], strict=False)
        )
        for targets in itertools.product(*(options.get(phrase, []) for phrase in phrases)):
            text = " ".join(targets)
            scores = [table.get(pair, ([0.0] * 4, []))[0] for pair in zip(phrases, targets, strict=True)]
            unknown = sum(pair not in table for pair in zip(phrases, targets, strict=True))
            sums = [sum(column) for column in zip(*scores, strict=True)]
            values = [-jumps, lm(text), -len(text.split()), len(phrases), *sums, -100 * unknown]
            total = sum(weight * value for weight, value in zip(weights, values, strict=True))
            best[text] = max(best.get(text, -math.inf), total)
    return best


@pytest.mark.parametrize("limit", [0, 2, 6])
def test_the_best_candidates_are_those_of_exhaustive_search(model: Path, tmp_path: Path, limit: int) -> None:
    small = small_model(model, tmp_path / "small", 3)
    table, arpa = read_table(small / "phrase-table"), Arpa(small / "lm.arpa")
    sources = ["gestern hat er geschlafen .", "zzz ruft mich oft an", "ob der arzt kommt ?", "er liest", "."]
    for name, text in (("initial", INITIAL.read_text(encoding="utf-8")), ("tuned", TUNED)):
        weights, out = tmp_path / name, tmp_path / f"{name}.nbest"
        weights.write_text(text, encoding="utf-8")
        run(
            *("decode", "--model", small, "--weights", weights, "--input", "-", "--nbest", out, "--size", 40),
            *("--beam", 10**6, "--table-limit", 0, "--distortion-limit", limit),
            text="\n".join(sources),
        )
        found: dict[int, list[tuple[str, float]]] = defaultdict(list)
        for line in lines(out):
            number, candidate, _, total = line.split(" ||| ")[:4]
            found[int(number)].append((candidate, float(total)))
        for number, source in enumerate(sources):
            best = exhaustive(source.split(), table, arpa, read_weights(text), limit)
            totals = sorted(best.values(), reverse=True)[:40]
            assert [total for _, total in found[number]] == pytest.approx(totals, abs=2e-5)
            for candidate, total in found[number]:
                assert total == pytest.approx(best[candidate], abs=2e-5)


def test_reruns_are_identical_to_the_byte(model: Path, dev_list: tuple[Path, str], tmp_path: Path) -> None:
    again = train(tmp_path / "again", seed="17")
    for name in ("phrase-table", "lm.arpa"):
        assert (again / name).read_bytes() == (model / name).read_bytes()
    out = tmp_path / "dev.nbest"
    head = "".join(f"{line}\n" for line in lines(CORPUS / "dev.de")[:12])
    arguments = ("--model", again, "--weights", INITIAL, "--input", "-", "--nbest", out)
    assert run("decode", *arguments, seed="17", text=head)[0].splitlines() == dev_list[1].splitlines()[:12]
    assert lines(out) == lines(dev_list[0])[:1200]


def test_the_pipe_gives_the_best_candidates(model: Path, dev_list: tuple[Path, str]) -> None:
    head = "".join(f"{line}\n" for line in lines(CORPUS / "dev.de")[:5])
    out, _ = run("decode", "--model", model, "--weights", INITIAL, "--input", "-", text=head)
    assert out.splitlines() == dev_list[1].splitlines()[:5]


def test_unknown_words_pass_through_and_an_empty_segment_stays_empty(model: Path) -> None:
    out, _ = run(
        "decode", "--model", model, "--weights", INITIAL, "--input", "-", text="qwertz\n\nder arzt xyzzy .\n"
    )
    first, empty, last = out.split("\n")[:3]
    assert (first, empty) == ("qwertz", "")
    assert "xyzzy" in last.split()


def test_weights_matter(model: Path, dev_list: tuple[Path, str], tmp_path: Path) -> None:
    import sacrebleu

    (tmp_path / "tuned").write_text(TUNED, encoding="utf-8")
    tuned, _ = run("decode", "--model", model, "--weights", tmp_path / "tuned", "--input", CORPUS / "dev.de")
    before, after = (
        sacrebleu.corpus_bleu(out.splitlines(), [lines(CORPUS / "dev.en")], tokenize="none", force=True).score
        for out in (dev_list[1], tuned)
    )
    assert after > before + 4


def test_the_language_model_is_kneser_ney_and_sums_to_one(model: Path) -> None:
    arpa = Arpa(model / "lm.arpa")
    vocabulary = [gram for gram in arpa.table if " " not in gram and gram != "<s>"]
    for context in [("<s>",), ("<s>", "the"), ("to", "the"), ("doctor", "to"), ("never", "seen"), ()]:
        assert sum(10 ** arpa.log10((*context, word)) for word in vocabulary) == pytest.approx(1, abs=1e-4)
    sentences = [("<s>", *line.split(), "</s>") for line in lines(CORPUS / "train.en")]
    for gram in [
        ("the", "doctor"),
        ("<s>", "the", "doctor"),
        ("to", "the", "station"),
        ("a",),
        ("at", "the", "<unk>"),
    ]:
        assert arpa.log10(gram) == pytest.approx(math.log10(kneser_ney(sentences, gram, 3)), abs=1e-5)


def kneser_ney(sentences: list[tuple[str, ...]], gram: tuple[str, ...], top: int) -> float:
    """The definition, by counting the corpus again for each order."""
    if not gram:
        return 1 / (len({word for words in sentences for word in words} - {"<s>"}) + 1)
    occurrences: Counter[tuple[str, ...]] = Counter()
    contexts: dict[tuple[str, ...], set[str]] = defaultdict(set)
    n = len(gram)
    for words in sentences:
        for i in range(len(words) - n + 1):
            piece = words[i : i + n]
            if piece[-1] == "<s>":
                continue
            occurrences[piece] += 1
            if i > 0:
                contexts[piece].add(words[i - 1])
    full = n == top
    counts = {p: c if full or p[0] == "<s>" else len(contexts[p]) for p, c in occurrences.items()}
    ones, twos = (sum(count == k for count in counts.values()) for k in (1, 2))
    discount = ones / (ones + 2 * twos)
    same = [count for piece, count in counts.items() if piece[:-1] == gram[:-1]]
    lower = kneser_ney(sentences, gram[1:], top)
    if not same:
        return lower
    return max(counts.get(gram, 0) - discount, 0) / sum(same) + discount * len(same) / sum(same) * lower


def test_the_table_holds_probabilities(model: Path) -> None:
    by_source: dict[str, float] = defaultdict(float)
    by_target: dict[str, float] = defaultdict(float)
    rows = lines(model / "phrase-table")
    for line in rows:
        source, target, scores, links = line.split(" ||| ")
        back, lexical_back, there, lexical_there = map(float, scores.split())
        by_source[source] += there
        by_target[target] += back
        assert 0 < lexical_back <= 1
        assert 0 < lexical_there <= 1
        assert links
        assert max(len(source.split()), len(target.split())) <= 5
    assert rows == sorted(rows, key=lambda line: line.split(" ||| ")[:2])
    assert all(
        total == pytest.approx(1, abs=1e-4) for sums in (by_source, by_target) for total in sums.values()
    )


@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8), st.integers(1, 5))
def test_extraction_is_the_definition(links: set[tuple[int, int]], longest: int) -> None:
    source, target = list("abcde"), list("vwxyz")
    expected = Counter()
    for i1, i2, j1, j2 in itertools.product(range(5), range(1, 6), range(5), range(1, 6)):
        inside = [(i, j) for i, j in links if i1 <= i < i2 and j1 <= j < j2]
        crossing = [(i, j) for i, j in links if (i1 <= i < i2) != (j1 <= j < j2)]
        if inside and not crossing and 0 < i2 - i1 <= longest and 0 < j2 - j1 <= longest:
            shifted = tuple(sorted((i - i1, j - j1) for i, j in inside))
            expected[" ".join(source[i1:i2]), " ".join(target[j1:j2]), shifted] += 1
    assert Counter(phrases.extract_phrases(source, target, links, longest)) == expected


def test_alignment_finds_a_dictionary() -> None:
    """Words that always go together are linked, wherever they stand."""
    german, english = ["a", "b", "c", "d", "e"], ["A", "B", "C", "D", "E"]
    orders = list(itertools.permutations(range(5), 3))
    source = [[german[i] for i in order] for order in orders]
    target = [[english[i] for i in reversed(order)] for order in orders]
    assert align.align_corpus(source, target) == [{(0, 2), (1, 1), (2, 0)}] * len(orders)


def test_growing_keeps_between_intersection_and_union() -> None:
    forward, backward = {(0, 0), (1, 1), (2, 1), (4, 4)}, {(0, 0), (1, 1), (1, 2), (3, 5)}
    links = align.symmetrize(forward, backward)
    assert links == {(0, 0), (1, 1), (2, 1), (1, 2), (4, 4), (3, 5)}
    assert align.symmetrize({(0, 0), (2, 0)}, {(0, 0)}) == {(0, 0)}


def test_the_corpus_is_what_its_grammar_writes(tmp_path: Path) -> None:
    """The grammar goes on after the corpus: further segments are new ones."""
    run("make_corpus", "--output", tmp_path, "--more", 20)
    further = [path for path in tmp_path.iterdir() if path.stem.startswith("more")]
    assert {path.name for path in further} == {"more.de", "more.en", "more.trees", "more.truth.jsonl"}
    assert len(set(lines(tmp_path / "more.de"))) == 20
    assert not any(
        set(lines(tmp_path / "more.de")) & set(lines(CORPUS / f"{name}.de")) for name in ("train", "test")
    )
    for path in further:
        path.unlink()
    written = sorted(path.name for path in tmp_path.iterdir())
    others = sorted(path.name for path in CORPUS.iterdir())
    assert written == others
    assert len(written) == 4 * 2 + 3 * 2
    for name in written:
        assert (tmp_path / name).read_bytes() == (CORPUS / name).read_bytes(), name
    for language in ("de", "en"):
        every = [
            line
            for name in ("train", "dev", "test", "heldout")
            for line in lines(CORPUS / f"{name}.{language}")
        ]
        assert len(every) == len(set(every)) == 1300


WRONG_WEIGHTS = {
    "LM0 0.5\n": "weights:1: expected Name= value value …, found 'LM0 0.5'",
    "LM0= 0.5\n\nDistortion0= much\n": "weights:3: expected Name= value value …, found 'Distortion0= much'",
    "LM0= nan\n": "weights:1: expected Name= value value …, found 'LM0= nan'",
    "LM0= 0.5\nLM1= 0.5\n": "weights:2: unknown weight LM1, expected one of " + ", ".join(LABELS),
    "TranslationModel0= 1 1\n": "weights:1: expected 4 weights of TranslationModel0, found 2",
    "LM0= 1\nLM0= 1\n": "weights:2: the weights of LM0 are there twice",
    "LM0= 1\n": "weights: expected weights of Distortion0, found none",
}


@pytest.mark.parametrize("text", WRONG_WEIGHTS)
def test_wrong_weights(model: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "weights").write_text(text, encoding="utf-8")
    out, error = run("decode", "--model", model, "--weights", tmp_path / "weights", "--input", "-", code=1)
    assert (out, error) == ("", f"decode.py: {tmp_path}/{WRONG_WEIGHTS[text]}\n")


def test_wrong_files(model: Path, tmp_path: Path) -> None:
    def decode_error(folder: Path, source: str, *arguments: object) -> str:
        every = ("--model", folder, "--weights", INITIAL, "--input", source, *arguments)
        return run("decode", *every, code=1, text="das ||| haus\n")[1]

    bad = tmp_path / "bad"
    assert decode_error(bad, "-") == f"decode.py: {bad}/lm.arpa: No such file or directory\n"
    bad.mkdir()
    (bad / "lm.arpa").write_text("nothing\n", encoding="utf-8")
    assert "lm.arpa: expected a language model in ARPA form" in decode_error(bad, "-")
    (bad / "lm.arpa").write_bytes((model / "lm.arpa").read_bytes())
    dev = str(CORPUS / "dev.de")
    assert decode_error(bad, dev) == f"decode.py: {bad}/phrase-table: No such file or directory\n"
    (bad / "phrase-table").write_text("er ||| he ||| 1 1 1 1 ||| 0-0\ner ||| he\n", encoding="utf-8")
    assert (
        decode_error(bad, dev) == f"decode.py: {bad}/phrase-table:2: expected 4 fields between |||, found 2\n"
    )
    (bad / "phrase-table").write_text("er ||| he ||| 1 1 0 1 ||| 0-0\n", encoding="utf-8")
    assert "phrase-table:1: expected 4 probabilities above 0 and links inside" in decode_error(bad, dev)
    assert decode_error(model, "-") == "decode.py: <stdin>:1: expected words, found the reserved mark |||\n"
    assert decode_error(model, "missing") == "decode.py: missing: No such file or directory\n"
    missing = tmp_path / "no" / "x.nbest"
    assert (
        decode_error(model, dev, "--nbest", missing) == f"decode.py: {missing}: No such file or directory\n"
    )


def test_a_failed_run_leaves_no_list(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.nbest"
    run("decode", "--model", model, "--weights", INITIAL, "--input", "missing", "--nbest", out, code=1)
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_of_unequal_sides(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("das haus\nder hund\n", encoding="utf-8")
    (tmp_path / "b").write_text("the house\n", encoding="utf-8")
    paths = ("--source", tmp_path / "a", "--target", tmp_path / "b", "--output", tmp_path / "model")
    _, error = run("train", *paths, code=1)
    assert error == f"train.py: {tmp_path}/b: expected 2 lines as in {tmp_path}/a, found 1\n"
