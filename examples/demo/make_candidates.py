"""Make the demo's source, trees, reference, n-best list, initial weights and error marks from corpus.txt."""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

Link = tuple[int, int]
Span = tuple[int, int]  # first token, one past the last token

HERE = Path(__file__).resolve().parent
DEMO = HERE.parent.parent / "rypt" / "demo" / "data"
CORPUS = HERE / "corpus.txt"
SEED = 20
SAMPLES = 500
TEMPERATURE = 0.5
CANDIDATES = 20
LEADERS = 8  # candidates taken from the top of the ranking; the others are drawn from the rest
FEATURES = {"Distortion0": 1, "LM0": 1, "WordPenalty0": 1, "PhrasePenalty0": 1, "TM0": 2}
WEIGHTS = (0.06, 0.06, -0.1, -0.2, 0.2, 0.2)
BRACKETS = {"-LRB-": "(", "-RRB-": ")"}
PRETERMINAL = re.compile(r"\([^\s()]+ ([^\s()]+)\)")
ALTERNATIVE = re.compile(
    r"(-?\d+\.?\d*) ([^\[\]{}]+?)(?: \[([^\]]+)\])?(?: \{omit ([^{}]+)\})?(?: \{with (\S+)\})?"
)


@dataclass(frozen=True, slots=True)
class Alternative:
    """English words for a source phrase; links and omitted tokens count from the phrase's start."""

    words: tuple[str, ...]
    links: tuple[Link, ...]
    score: float
    wrong: frozenset[int] = frozenset()
    omitted: frozenset[int] = frozenset()
    host: int | None = None
    lexical: float = 0.0


@dataclass(frozen=True, slots=True)
class Order:
    """Blocks of source tokens in translation order; a whole block takes exactly one phrase."""

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
    links: tuple[Link, ...]
    options: dict[Span, list[Alternative]] = field(default_factory=dict)
    units: set[Span] = field(default_factory=set)
    orders: list[Order] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A translation of a segment with its features, total score, alignment and errors."""

    words: tuple[str, ...]
    features: tuple[float, ...]
    total: float
    links: list[Link]
    wrong: list[int]
    missing: list[int]


@dataclass(frozen=True, slots=True)
class Bigrams:
    """An interpolated bigram language model."""

    pairs: Counter[tuple[str, str]]
    words: Counter[str]

    def score(self, words: Sequence[str]) -> float:
        """The log-probability of a text."""
        return sum(math.log(self.probability(a, b)) for a, b in pairwise(["<s>", *words, "</s>"]))

    def probability(self, before: str, word: str) -> float:
        """The probability of a word after another, mostly from add-one unigrams."""
        unigram = (self.words[word] + 1) / (self.words.total() + len(self.words) + 1)
        return 0.2 * self.pairs[before, word] / max(self.words[before], 1) + 0.8 * unigram


def fail(line: int, message: str) -> NoReturn:
    """Stop with a message that names the corpus line."""
    sys.exit(f"{CORPUS.name}:{line}: {message}")


def locate(text: str, source: Sequence[str], line: int) -> Span:
    """Find the span of some source words, of which the first may be pinned with @index."""
    first, _, pin = text.partition(" ")[0].partition("@")
    words = [first, *text.split()[1:]]
    size = len(words)
    starts = [i for i in range(len(source)) if source[i : i + size] == words and pin in ("", str(i))]
    if len(starts) != 1:
        fail(line, f"{text!r} matches {len(starts)} places in the source (pin the first word with @index)")
    return starts[0], starts[0] + size


def parse_links(text: str, rows: int, columns: int, line: int) -> tuple[Link, ...]:
    """Read Pharaoh links and check their range."""
    if not re.fullmatch(r"\d+-\d+( \d+-\d+)*", text):
        fail(line, f"cannot read the links {text!r}")
    links = sorted((int(s), int(t)) for s, t in (pair.split("-") for pair in text.split()))
    for s, t in links:
        if s >= rows or t >= columns:
            fail(line, f"link {s}-{t} is out of range for {rows} source and {columns} target words")
    return tuple(links)


def default_links(rows: int, columns: int, line: int) -> tuple[Link, ...]:
    """Link a single word to all words, or equally long sides one to one."""
    if min(rows, columns) > 1 and rows != columns:
        fail(line, f"{rows} source and {columns} target words need explicit [links]")
    return tuple((s, t) for s in range(rows) for t in range(columns) if s == t or rows != columns)


def parse_alternative(text: str, span: Span, source: Sequence[str], line: int) -> Alternative:
    """Read one alternative of a phrase."""
    match = ALTERNATIVE.fullmatch(text)
    if match is None:
        fail(line, f"cannot read the alternative {text!r}")
    score, marked, links, omit, host = match.groups()
    words = [] if marked == "_" else marked.split()
    rows, columns = span[1] - span[0], len(words)
    return Alternative(
        words=tuple(word.removeprefix("*") for word in words),
        links=parse_links(links, rows, columns, line) if links else default_links(rows, columns, line),
        score=float(score),
        wrong=frozenset(i for i, word in enumerate(words) if word.startswith("*")),
        omitted=frozenset(range(*locate(omit, source[span[0] : span[1]], line)) if omit else ()),
        host=locate(host, source, line)[0] if host else None,
    )


def add_phrase(segment: Segment, unit: bool, text: str, line: int) -> None:
    """Add the alternatives of a phrase or unit line to its segment."""
    left, _, right = text.partition(" = ")
    span = locate(left, segment.source, line)
    options = [parse_alternative(part, span, segment.source, line) for part in right.split(" | ")]
    if span in segment.options:
        fail(line, f"a second line for {left!r}")
    if all(option.wrong or option.omitted for option in options):
        fail(line, f"no acceptable alternative for {left!r}")
    segment.options[span] = options
    if unit:
        segment.units.add(span)


def parse_order(text: str, source: Sequence[str], line: int) -> Order:
    """Read an order and check that its blocks cover each source token once."""
    blocks, _, wrong = text.partition(" ! ")
    parts = blocks.split(" / ")
    spans = [locate(part.strip("[]"), source, line) for part in parts]
    if sorted(i for span in spans for i in range(*span)) != list(range(len(source))):
        fail(line, "the order's blocks do not cover each source token exactly once")
    moved = [locate(part, source, line) for part in wrong.split(" / ")] if wrong else []
    whole = frozenset(span for span, part in zip(spans, parts, strict=True) if part.startswith("["))
    return Order(tuple(spans), whole, frozenset(i for span in moved for i in range(*span)))


def check_tree(tree: str, source: Sequence[str], line: int) -> None:
    """Check that a tree is balanced and that its leaves are the source tokens."""
    shape, smaller = tree, PRETERMINAL.sub("x", tree)
    while shape != smaller:
        shape, smaller = smaller, re.sub(r"\([^\s()]+(?: x)+\)", "x", smaller)
    if tree != "()" and shape != "x":
        fail(line, f"the tree's brackets are not balanced: {shape}")
    leaves = [BRACKETS.get(leaf, leaf) for leaf in PRETERMINAL.findall(tree)]
    if tree != "()" and leaves != source:
        fail(line, f"the tree's leaves {leaves} are not the source tokens")


def read_corpus(path: Path) -> list[Segment]:
    """Read and check all segments of the corpus."""
    segments: list[Segment] = []
    head: dict[str, str] = {}
    for line, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        key, _, value = raw.partition(" ")
        if not raw or key.startswith("#"):
            continue
        if key in ("segment", "source", "tree", "reference"):
            head[key] = value
            if key == "tree":
                check_tree(value, head.get("source", "").split(), line)
        elif key == "align" and head.keys() == {"segment", "source", "tree", "reference"}:
            source, reference = head["source"].split(), head["reference"].split()
            if head["segment"] != str(len(segments)):
                fail(line, f"expected segment {len(segments)}, found {head['segment']}")
            links = parse_links(value, len(source), len(reference), line)
            segments.append(Segment(line, source, head["tree"], reference, links))
            head = {}
        elif key in ("phrase", "unit") and not head:
            add_phrase(segments[-1], key == "unit", value, line)
        elif key == "order" and not head:
            segments[-1].orders.append(parse_order(value, segments[-1].source, line))
        else:
            fail(line, f"unexpected line {key!r}")
    for segment in segments:
        add_passing(segment)
    return segments


def add_passing(segment: Segment) -> None:
    """Let final punctuation pass and check that every token is covered."""
    for i, token in enumerate(segment.source):
        if token in (".", "?"):
            segment.options[i, i + 1] = [Alternative((token,), ((0, 0),), 0.0)]
        if not any(first <= i < end for first, end in segment.options):
            fail(segment.line, f"no phrase covers source token {i} ({token})")


def train_bigrams(segments: Sequence[Segment]) -> Bigrams:
    """Train the language model on the references and, counted twice, all alternatives."""
    texts: list[Sequence[str]] = [["<s>", *segment.reference, "</s>"] for segment in segments]
    texts += 2 * [
        option.words for segment in segments for options in segment.options.values() for option in options
    ]
    return Bigrams(
        Counter(p for text in texts for p in pairwise(text)), Counter(w for text in texts for w in text)
    )


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
        for (first, end), options in segment.options.items():
            for k, option in enumerate(options):
                score = rng.gauss(0.0, 0.2)
                for s, token in enumerate(segment.source[first:end]):
                    shares = [
                        counts[token, option.words[t]] / totals[token] for i, t in option.links if i == s
                    ]
                    score += math.log(sum(shares) / len(shares) if shares else 0.2)
                options[k] = replace(option, lexical=score)


def segmentations(segment: Segment, block: Span, whole: bool) -> Iterator[list[Span]]:
    """All ways to cut a block into phrases."""
    if block[0] == block[1]:
        yield []
    for span in sorted(segment.options):
        if (
            span == block
            if whole
            else span not in segment.units and span[0] == block[0] and span[1] <= block[1]
        ):
            for rest in segmentations(segment, (span[1], block[1]), whole):
                yield [span, *rest]


def assemble(order: Order, steps: Sequence[tuple[Span, Alternative]], lm: Bigrams) -> Candidate:
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
    links += [
        (s, t) for (first, end), o in steps for host, t in links if host == o.host for s in range(first, end)
    ]
    moved = [(s, t) for s, t in links if s in order.wrong]
    wrong |= {t for _, t in moved}
    missing |= order.wrong - {s for s, _ in moved}
    tm = sum(o.score for _, o in steps), sum(o.lexical for _, o in steps)
    features = tuple(round(f, 4) for f in (-distortion, lm.score(words), -len(words), len(steps), *tm))
    total = sum(weight * value for weight, value in zip(WEIGHTS, features, strict=True))
    return Candidate(tuple(words), features, total, sorted(links), sorted(wrong), sorted(missing))


def sample(segment: Segment, lm: Bigrams, rng: random.Random) -> list[Candidate]:
    """Draw distinct candidates, best first."""
    pool: dict[tuple[str, ...], Candidate] = {}
    cuts = [
        [list(segmentations(segment, b, b in order.whole)) for b in order.blocks] for order in segment.orders
    ]
    if not all(all(blocks) for blocks in cuts):
        fail(segment.line, "an order of this segment has a block that its phrases cannot cover")
    likes = [1 if order.wrong else 2 for order in segment.orders]
    for order, blocks in rng.choices(list(zip(segment.orders, cuts, strict=True)), likes, k=SAMPLES):
        steps: list[tuple[Span, Alternative]] = []
        for span in [span for block in blocks for span in rng.choice(block)]:
            options = segment.options[span]
            steps += [(span, rng.choices(options, [math.exp(o.score / TEMPERATURE) for o in options])[0])]
        candidate = assemble(order, steps, lm)
        pool[candidate.words] = max(candidate, pool.get(candidate.words, candidate), key=lambda c: c.total)
    return sorted(pool.values(), key=lambda c: (-c.total, c.words))


def choose(ranked: Sequence[Candidate], line: int, rng: random.Random) -> list[Candidate]:
    """Keep the leaders, the best error-free candidate and a random part of the rest, best first."""
    right = [c for c in ranked[LEADERS:] if not c.wrong and not c.missing][:1]
    rest = [c for c in ranked[LEADERS:] if c not in right]
    wanted = CANDIDATES - LEADERS - len(right)
    if len(rest) < wanted:
        fail(line, f"only {len(ranked)} distinct candidates for this segment, {CANDIDATES} are needed")
    return sorted([*ranked[:LEADERS], *right, *rng.sample(rest, wanted)], key=lambda c: (-c.total, c.words))


def number(value: float) -> str:
    """A number with at most four decimals and no trailing zeros."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def named(values: Sequence[float]) -> list[str]:
    """Feature values in Moses form, one item a feature."""
    rest = iter(values)
    return [
        " ".join([f"{name}=", *(number(next(rest)) for _ in range(size))]) for name, size in FEATURES.items()
    ]


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
    rng = random.Random(SEED)
    add_lexical(segments, rng)
    lm = train_bigrams(segments)
    nbest: list[str] = []
    errors: list[str] = []
    for i, segment in enumerate(segments):
        for j, c in enumerate(choose(sample(segment, lm, rng), segment.line, rng)):
            fields = [
                str(i),
                " ".join(c.words),
                " ".join(named(c.features)),
                number(c.total),
                pharaoh(c.links),
            ]
            nbest.append(" ||| ".join(fields))
            errors.append(
                json.dumps({"segment": str(i), "candidate": j, "wrong": c.wrong, "missing": c.missing})
            )
    write(DEMO / "source.de", [" ".join(segment.source) for segment in segments])
    write(DEMO / "trees.de", [segment.tree for segment in segments])
    write(DEMO / "reference.en", [" ".join(segment.reference) for segment in segments])
    write(DEMO / "reference.align", [pharaoh(segment.links) for segment in segments])
    write(DEMO / "nbest.en", nbest)
    write(DEMO / "weights.init", named(WEIGHTS))
    write(HERE / "errors.jsonl", errors)


if __name__ == "__main__":
    main()
