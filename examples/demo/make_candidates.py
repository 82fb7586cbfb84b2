"""Make the demo's source, trees, reference, n-best list, initial weights and error marks from corpus.txt."""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

Link = tuple[int, int]
Span = tuple[int, int]  # first token, one past the last token

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus.txt"
DEMO = HERE.parent.parent / "rypt" / "demo"
SEED = 20
SAMPLES = 500
CANDIDATES = 20
LEADERS = 8  # candidates taken from the top of the ranking; the others are drawn from the rest
TEMPERATURE = 0.5
FEATURES = (("Distortion0", 1), ("LM0", 1), ("WordPenalty0", 1), ("PhrasePenalty0", 1), ("TM0", 2))
WEIGHTS = (0.05, 0.05, -0.2, -0.2, 0.2, 0.1)
PASSING = (".", "?")
ALTERNATIVE = re.compile(r"(-?\d+(?:\.\d+)?) ([^\[\]{}]+?)(?: \[([\d\- ]+)\])?((?: \{\w+ [^ {}]+\})*)")


@dataclass(frozen=True, slots=True)
class Alternative:
    """An English alternative of a source phrase, links relative to the two starts."""

    words: tuple[str, ...]
    links: tuple[Link, ...]
    score: float
    wrong: frozenset[int]
    omitted: frozenset[int]
    host: int | None
    lexical: float = 0.0


@dataclass(frozen=True, slots=True)
class Order:
    """Blocks of source tokens in translation order; whole blocks take exactly one phrase."""

    blocks: tuple[Span, ...]
    whole: frozenset[Span]
    wrong: frozenset[int]


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment of the corpus."""

    line: int
    source: list[str]
    tree: str
    reference: list[str]
    links: list[Link]
    options: dict[Span, list[Alternative]] = field(default_factory=dict)
    units: set[Span] = field(default_factory=set)
    orders: list[Order] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A translated segment with its features, alignment and errors."""

    words: tuple[str, ...]
    features: tuple[float, ...]
    links: tuple[Link, ...]
    wrong: tuple[int, ...]
    missing: tuple[int, ...]

    @property
    def total(self) -> float:
        """The model score under the initial weights, from the features as they are printed."""
        return sum(weight * value for weight, value in zip(WEIGHTS, self.features, strict=True))


def fail(line: int, message: str) -> NoReturn:
    """Stop with a message that names the corpus line."""
    sys.exit(f"{CORPUS.name}:{line}: {message}")


def locate(text: str, source: Sequence[str], line: int) -> Span:
    """Find the span of some source words, of which the first may be pinned with @index."""
    words = text.split()
    words[0], _, pin = words[0].partition("@")
    size = len(words)
    starts = [i for i in range(len(source)) if list(source[i : i + size]) == words and pin in ("", str(i))]
    if len(starts) != 1:
        fail(line, f"{text!r} matches {len(starts)} places in the source; pin it with @index")
    return starts[0], starts[0] + size


def parse_links(text: str, rows: int, columns: int, line: int) -> list[Link]:
    """Read Pharaoh links and check their range."""
    links = [(int(s), int(t)) for s, t in (pair.split("-") for pair in text.split())]
    for s, t in links:
        if s >= rows or t >= columns:
            fail(line, f"link {s}-{t} is out of range for {rows} source and {columns} target words")
    return sorted(links)


def default_links(rows: int, columns: int, line: int) -> list[Link]:
    """Link a single word to all words, or equally long sides one to one."""
    if rows == columns:
        return [(i, i) for i in range(rows)]
    if min(rows, columns) > 1:
        fail(line, f"{rows} source and {columns} target words need explicit [links]")
    return [(s, t) for s in range(rows) for t in range(columns)]


def parse_alternative(text: str, span: Span, source: Sequence[str], line: int) -> Alternative:
    """Read one alternative of a phrase."""
    match = ALTERNATIVE.fullmatch(text)
    if match is None:
        fail(line, f"cannot read the alternative {text!r}")
    marked = [] if match[2] == "_" else match[2].split()
    rows = span[1] - span[0]
    links = parse_links(match[3], rows, len(marked), line) if match[3] else default_links(rows, len(marked), line) \
        if marked else []
    omitted: set[int] = set()
    host = None
    for kind, word in re.findall(r"\{(\w+) ([^ {}]+)\}", match[4]):
        if kind == "omit":
            omitted.add(locate(word, source[span[0] : span[1]], line)[0])
        elif kind == "with":
            host = locate(word, source, line)[0]
        else:
            fail(line, f"unknown mark {kind!r}")
    wrong = frozenset(i for i, word in enumerate(marked) if word.startswith("*"))
    words = tuple(word.removeprefix("*") for word in marked)
    return Alternative(words, tuple(links), float(match[1]), wrong, frozenset(omitted), host)


def parse_order(text: str, source: Sequence[str], line: int) -> Order:
    """Read an order and check that its blocks cover each source token once."""
    blocks, _, wrong = text.partition(" ! ")
    parts = blocks.split(" / ")
    spans = [locate(part.removeprefix("[").removesuffix("]"), source, line) for part in parts]
    if sorted(i for span in spans for i in range(*span)) != list(range(len(source))):
        fail(line, "the order's blocks do not cover each source token exactly once")
    marked = [locate(part, source, line) for part in wrong.split(" / ")] if wrong else []
    whole = frozenset(span for span, part in zip(spans, parts, strict=True) if part.startswith("["))
    return Order(tuple(spans), whole, frozenset(i for span in marked for i in range(*span)))


def read_corpus(path: Path) -> list[Segment]:
    """Read all segments of the corpus."""
    segments: list[Segment] = []
    head: dict[str, str] = {}
    for line, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not raw.strip() or raw.startswith("#"):
            continue
        key, _, value = raw.partition(" ")
        if key == "segment":
            head = {}
            if value != str(len(segments)):
                fail(line, f"expected segment {len(segments)}, found {value}")
        elif key in ("source", "tree", "reference"):
            head[key] = value
        elif key == "align":
            source, reference = head["source"].split(), head["reference"].split()
            links = parse_links(value, len(source), len(reference), line)
            segments.append(Segment(line, source, head["tree"], reference, links))
        elif key in ("phrase", "unit"):
            add_phrase(segments[-1], key, value, line)
        elif key == "order":
            segments[-1].orders.append(parse_order(value, segments[-1].source, line))
        else:
            fail(line, f"unknown key {key!r}")
    return segments


def add_phrase(segment: Segment, key: str, value: str, line: int) -> None:
    """Add the alternatives of a phrase or unit line to its segment."""
    left, _, right = value.partition(" = ")
    span = locate(left, segment.source, line)
    options = [parse_alternative(text, span, segment.source, line) for text in right.split(" | ")]
    if all(option.wrong or option.omitted for option in options):
        fail(line, f"no acceptable alternative for {left!r}")
    segment.options[span] = options
    if key == "unit":
        segment.units.add(span)


def check_tree(segment: Segment) -> None:
    """Check that the tree is balanced and that its leaves are the source tokens."""
    if segment.tree == "()":
        return
    depth = 0
    leaves: list[str] = []
    for before, token in pairwise([""] + re.findall(r"[()]|[^\s()]+", segment.tree)):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth < 1 and (token != ")" or depth < 0):
            fail(segment.line, "the tree's brackets are not balanced")
        if token not in ("(", ")") and before != "(":
            leaves.append({"-LRB-": "(", "-RRB-": ")"}.get(token, token))
    if depth:
        fail(segment.line, "the tree's brackets are not balanced")
    if leaves != segment.source:
        fail(segment.line, f"the tree's leaves {leaves} are not the source tokens")


def add_passing(segment: Segment) -> None:
    """Let final punctuation pass and check that every token is covered."""
    for i, token in enumerate(segment.source):
        if token in PASSING:
            segment.options[i, i + 1] = [Alternative((token,), ((0, 0),), 0.0, frozenset(), frozenset(), None)]
        if not any(first <= i < end for first, end in segment.options.keys() - segment.units):
            fail(segment.line, f"no phrase covers source token {i} ({token})")


def segmentations(segment: Segment, block: Span, whole: bool) -> Iterator[list[Span]]:
    """All ways to cut a block into phrases."""
    if whole:
        if block in segment.options:
            yield [block]
        return
    first, end = block
    if first == end:
        yield []
    for span in sorted(segment.options.keys() - segment.units):
        if span[0] == first and span[1] <= end:
            for rest in segmentations(segment, (span[1], end), False):
                yield [span, *rest]


class Bigrams:
    """An interpolated bigram language model with an add-one unigram back-off."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self.history = Counter(word for text in texts for word in text[:-1])
        self.pairs = Counter(pair for text in texts for pair in pairwise(text))
        self.words = Counter(word for text in texts for word in text)
        self.size = sum(self.words.values()) + len(self.words) + 1

    def score(self, words: Sequence[str]) -> float:
        """The log-probability of a whole text."""
        return sum(math.log(self.probability(a, b)) for a, b in pairwise(["<s>", *words, "</s>"]))

    def probability(self, before: str, word: str) -> float:
        """The interpolated probability of a word after another."""
        pair = self.pairs[before, word] / self.history[before] if self.history[before] else 0.0
        return 0.2 * pair + 0.8 * (self.words[word] + 1) / self.size


def train_bigrams(segments: Sequence[Segment]) -> Bigrams:
    """Train the language model on the references and all alternatives."""
    texts = [["<s>", *segment.reference, "</s>"] for segment in segments]
    texts += 2 * [list(option.words) for segment in segments for options in segment.options.values() for option in options]
    return Bigrams(texts)


def add_lexical(segments: Sequence[Segment], rng: random.Random) -> None:
    """Give every alternative a noisy lexical score from the links of references and alternatives."""
    counts: Counter[tuple[str, str]] = Counter()
    for segment in segments:
        counts.update((segment.source[s], segment.reference[t]) for s, t in segment.links)
        for (first, _), options in segment.options.items():
            counts.update((segment.source[first + s], o.words[t]) for o in options for s, t in o.links)
    totals: Counter[str] = Counter()
    for (token, _), count in counts.items():
        totals[token] += count
    for segment in segments:
        for span, options in segment.options.items():
            tokens = segment.source[span[0] : span[1]]
            segment.options[span] = [with_lexical(option, tokens, counts, totals, rng) for option in options]


def with_lexical(
    option: Alternative, tokens: Sequence[str], counts: Counter[tuple[str, str]], totals: Counter[str],
    rng: random.Random,
) -> Alternative:
    """The alternative with its lexical score: the mean link probability of each source token, and noise."""
    score = rng.gauss(0.0, 0.2)
    for s, token in enumerate(tokens):
        shares = [counts[token, option.words[t]] / totals[token] for s2, t in option.links if s2 == s]
        score += math.log(sum(shares) / len(shares)) if shares else math.log(0.2)
    return Alternative(option.words, option.links, option.score, option.wrong, option.omitted, option.host, score)


def assemble(segment: Segment, order: Order, steps: Sequence[tuple[Span, Alternative]], lm: Bigrams) -> Candidate:
    """Join chosen alternatives into a candidate."""
    words: list[str] = []
    links: list[Link] = []
    wrong: set[int] = set()
    missing: set[int] = set()
    distortion, last = 0, 0
    for (first, end), option in steps:
        links += [(first + s, len(words) + t) for s, t in option.links]
        wrong |= {len(words) + t for t in option.wrong}
        missing |= {first + s for s in option.omitted}
        words += option.words
        distortion += abs(first - last)
        last = end
    for (first, end), option in steps:
        links += [(s, t) for s2, t in tuple(links) if s2 == option.host for s in range(first, end)]
    moved = {(s, t) for s, t in links if s in order.wrong}
    wrong |= {t for _, t in moved}
    missing |= order.wrong - {s for s, _ in moved}
    scores = sum(o.score for _, o in steps), sum(o.lexical for _, o in steps)
    features = (-distortion, lm.score(words), -len(words), len(steps), *scores)
    rounded = tuple(round(value, 4) for value in features)
    return Candidate(tuple(words), rounded, tuple(sorted(links)), tuple(sorted(wrong)), tuple(sorted(missing)))


def sample(segment: Segment, lm: Bigrams, rng: random.Random) -> list[Candidate]:
    """Draw distinct candidates, best first."""
    pool: dict[tuple[str, ...], Candidate] = {}
    cuts = [[list(segmentations(segment, b, b in order.whole)) for b in order.blocks] for order in segment.orders]
    if not all(all(blocks) for blocks in cuts):
        fail(segment.line, "an order has a block that its phrases cannot cover")
    for _ in range(SAMPLES):
        pick = rng.choices(range(len(cuts)), [1 if order.wrong else 2 for order in segment.orders])[0]
        steps: list[tuple[Span, Alternative]] = []
        for span in (span for block in cuts[pick] for span in rng.choice(block)):
            options = segment.options[span]
            steps.append((span, rng.choices(options, [math.exp(o.score / TEMPERATURE) for o in options])[0]))
        candidate = assemble(segment, segment.orders[pick], steps, lm)
        if candidate.words not in pool or candidate.total > pool[candidate.words].total:
            pool[candidate.words] = candidate
    return sorted(pool.values(), key=lambda c: (-c.total, c.words))


def choose(ranked: Sequence[Candidate], line: int, rng: random.Random) -> list[Candidate]:
    """Keep the leaders, the best error-free candidate and a random part of the rest."""
    right = [candidate for candidate in ranked if not candidate.wrong and not candidate.missing][:1]
    kept = [*ranked[:LEADERS], *(candidate for candidate in right if candidate not in ranked[:LEADERS])]
    rest = [candidate for candidate in ranked if candidate not in kept]
    if len(kept) + len(rest) < CANDIDATES:
        fail(line, f"only {len(kept) + len(rest)} distinct candidates, {CANDIDATES} are needed")
    kept += rng.sample(rest, CANDIDATES - len(kept))
    return sorted(kept, key=lambda c: (-c.total, c.words))


def number(value: float) -> str:
    """A number with at most four decimals and no trailing zeros."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def named(values: Sequence[float]) -> list[str]:
    """Feature values in Moses form, one item a feature."""
    rest = iter(values)
    return [" ".join([f"{name}=", *(number(next(rest)) for _ in range(size))]) for name, size in FEATURES]


def pharaoh(links: Sequence[Link]) -> str:
    """Links in Pharaoh form."""
    return " ".join(f"{s}-{t}" for s, t in links)


def write(path: Path, lines: Sequence[str]) -> None:
    """Write lines as UTF-8 with Unix line ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def main() -> None:
    """Make all demo files."""
    segments = read_corpus(CORPUS)
    for segment in segments:
        check_tree(segment)
        add_passing(segment)
    rng = random.Random(SEED)
    add_lexical(segments, rng)
    lm = train_bigrams(segments)
    nbest: list[str] = []
    errors: list[str] = []
    for i, segment in enumerate(segments):
        for j, c in enumerate(choose(sample(segment, lm, rng), segment.line, rng)):
            fields = [str(i), " ".join(c.words), " ".join(named(c.features)), number(c.total), pharaoh(c.links)]
            nbest.append(" ||| ".join(fields))
            errors.append(json.dumps({"segment": str(i), "candidate": j, "wrong": c.wrong, "missing": c.missing}))
    write(DEMO / "source.de", [" ".join(segment.source) for segment in segments])
    write(DEMO / "trees.de", [segment.tree for segment in segments])
    write(DEMO / "reference.en", [" ".join(segment.reference) for segment in segments])
    write(DEMO / "reference.align", [pharaoh(segment.links) for segment in segments])
    write(DEMO / "nbest.en", nbest)
    write(DEMO / "weights.init", named(WEIGHTS))
    write(HERE / "errors.jsonl", errors)


if __name__ == "__main__":
    main()
