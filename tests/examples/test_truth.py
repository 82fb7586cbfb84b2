"""The truth about the example corpus: it accepts what people wrote, and nothing that says something else."""

import importlib
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hits.simulate.truth import expand, read_truth
from rypt.metrics.metric import Resources
from rypt.records import Label, Span
from rypt.texts.alignment import parse_links
from rypt.texts.nbest import read_list
from rypt.texts.phrases import linked_positions, phrase_of
from rypt.texts.trees import SourceTree

pytestmark = pytest.mark.slow

DECODER = Path(__file__).resolve().parents[2] / "examples" / "decoder"
CORPUS = DECODER / "corpus"
GENERATOR = Path(__file__).resolve().parents[2] / "examples" / "corpus"
SETS = ("dev", "test", "heldout")
BEYOND = {  # references that say where, and the German does not
    "ich werde zur bank laufen , um ihren schlüssel zu holen .",
    "sie ist im letzten jahr in die stadt gegangen , um die schwarze fahrkarte zu holen .",
    "sie werden bald nach hause laufen , um ein brötchen zu kaufen .",
}


@cache
def load(name: str) -> Any:
    """A module of the corpus generator or the decoder, whose folders are not packages."""
    folders = [str(GENERATOR), str(DECODER)]
    sys.path[:0] = folders
    try:
        return importlib.import_module(name)
    finally:
        for folder in folders:
            sys.path.remove(folder)


def lines(name: str) -> list[str]:
    return (CORPUS / name).read_text(encoding="utf-8").splitlines()


def pairs(name: str) -> Iterator[tuple[str, str]]:
    idioms = {
        line.split(" ||| ")[0] for line in (GENERATOR / "idioms.txt").read_text(encoding="utf-8").splitlines()
    }
    yield from (
        (de, en) for de, en in zip(lines(f"{name}.de"), lines(f"{name}.en"), strict=True) if de not in idioms
    )


@cache
def accepted(german: str) -> dict[tuple[int, int], frozenset[str]]:
    """All acceptable phrases of a segment by constituent, straight from the analysis."""
    truth, slots = load("truth"), load("slots")
    analysis = truth.reader(GENERATOR).read(german)
    return {
        span: frozenset(
            phrase
            for items in analysis.english
            for phrase in expand(slots.pattern(items, frozenset(range(*span))))
        )
        for span in load("accept").constituents(analysis.tree)
    }


def whole(german: str) -> frozenset[str]:
    return accepted(german)[0, len(german.split())]


@pytest.mark.parametrize("name", ["train", *SETS])
def test_every_reference_is_acceptable(name: str) -> None:
    reader, slots = load("truth").reader(GENERATOR), load("slots")
    found = list(pairs(name))
    assert len(found) >= 60
    for german, english in found:
        everything = frozenset(range(len(german.split())))
        patterns = {slots.pattern(items, everything) for items in reader.read(german).english}
        assert any(english in set(expand(text)) for text in patterns) or german in BEYOND, (german, english)


@pytest.mark.parametrize("name", SETS)
def test_trees_and_truth_fit_the_source(name: str) -> None:
    trees = [SourceTree.from_brackets(line) for line in lines(f"{name}.trees")]
    records = [json.loads(line) for line in lines(f"{name}.truth.jsonl")]
    for number, (tree, source) in enumerate(zip(trees, lines(f"{name}.de"), strict=True)):
        assert list(tree.tokens) == source.split()
        spans = [(r["start"], r["stop"]) for r in records if r["segment"] == str(number) and "start" in r]
        assert sorted(spans) == sorted(tuple(c.span) for c in tree.constituents)
        assert [r["source"] for r in records if r["segment"] == str(number) and "source" in r] == [source]
        assert max(len(c.span) for c in tree.constituents if tuple(c.span) != (0, len(tree.tokens))) >= 2


# German, the span, what is acceptable there (alternatives after /), what is not
MEANINGS = """
unser chef hat im park gespielt . | 0 7
 our boss played in the park . / our boss has played in the park .
 our boss plays in the park . / our boss in the park played . / your boss played in the park .
unser chef hat im park gespielt . | 3 6
 played in the park / played in [GAP] park / has played in the park
 in the park / played / played in a park
übermorgen laden die touristen den neuen mann ein . | 4 7
 the new man / new man
 a new man / new the man / the new [GAP] man / the new men / the man
übermorgen laden die touristen den neuen mann ein . | 7 8
 invite / inviting
 a / the / invited
die neue frau kann den aufsatz nicht schreiben . | 0 9
 the new woman can not write the essay . / the new woman is not able to write the essay .
 the new woman can write the essay . / the new woman can write not the essay .
kannst du bitte die lampe ausmachen ? | 3 6
 turn off the lamp / turn the lamp off
 the lamp turn off / turn on the lamp / turn the lamp
sie finden lieber das handy . | 0 6
 they prefer to find the mobile phone .
 she prefers to find the phone . / they find the phone .
sie hat im büro gesungen . | 0 1
 she / she has
 they / her
das neue mädchen hat die kirche schon gesehen . | 4 8
 already seen the church / seen the church already
 seen the church / already the church seen
mein vater hat ihn abgeholt . | 0 6
 my father picked him up .
 my father picked up him . / my father picks him up .
er trifft jeden tag den kollegen . | 0 7
 he meets the colleague every day . / every day he meets the colleague .
 he is meeting the colleague every day . / he meets every day the colleague .
""".strip().splitlines()


CASES = list(zip(MEANINGS[::3], MEANINGS[1::3], MEANINGS[2::3], strict=True))


@pytest.mark.parametrize(("place", "yes", "no"), CASES)
def test_what_says_something_else_is_not_acceptable(place: str, yes: str, no: str) -> None:
    german, _, span = place.partition(" | ")
    start, stop = map(int, span.split())
    found = accepted(german)[start, stop]
    assert [phrase for phrase in yes.strip().split(" / ") if phrase not in found] == []
    assert [phrase for phrase in no.strip().split(" / ") if phrase in found] == []


# words that a translation can leave out
SOFT = """the a an , that to in order am is are was will going do does did has have be of
just at yesterday last night now really mobile o'clock too this on"""


@pytest.mark.parametrize("name", SETS)
def test_a_reference_without_a_word_that_counts_is_not_acceptable(name: str) -> None:
    for german, english in pairs(name):
        words = english.split()
        for i, word in enumerate(words):
            if german not in BEYOND and word not in SOFT.split() and words.count(word) == 1:
                assert " ".join([*words[:i], *words[i + 1 :]]) not in whole(german), (german, word)


NBEST = """\
0 ||| the tourists are inviting the new man the day after tomorrow . ||| X= 1 ||| 1 ||| x ||| \
0-7 0-8 0-9 0-10 1-2 1-3 2-0 3-1 4-4 5-5 6-6 7-3 8-11
0 ||| the tourists invited a new man . ||| X= 1 ||| 0 ||| x ||| 1-2 2-0 3-1 4-3 5-4 6-5 8-6
1 ||| our boss in the park played . ||| X= 1 ||| 1 ||| x ||| 0-0 1-1 3-2 4-4 5-5 6-6
"""


def test_acceptability_against_the_toolkit(tmp_path: Path) -> None:
    """The same shares by rypt's own trees, phrases and truth; by hand, what each should be."""
    path = tmp_path / "list"
    path.write_text(NBEST, encoding="utf-8")
    trees = lines("dev.trees")[:2]
    accept = load("accept")
    known, lists = accept.read_truth(CORPUS / "dev.truth.jsonl"), accept.read_nbest(path)
    truth = read_truth(CORPUS / "dev.truth.jsonl")
    shares = {}
    for number, (_, raw) in enumerate(read_list(path)):
        tree = SourceTree.from_brackets(trees[int(raw.segment)])
        linked = linked_positions(parse_links(raw.alignment or ""), len(tree.tokens))
        labels = []
        for c in tree.constituents:
            phrase = phrase_of(c.span, linked, raw.text.split())
            missing = known[raw.segment][tuple(c.span)].optional
            if phrase or not missing:
                labels.append(
                    phrase is not None and truth.label(raw.segment, Span(*c.span), phrase.text) is Label.YES
                )
        shares[number] = sum(labels) / len(labels)
    first, second = lists["0"]
    spans = accept.constituents(trees[0])
    assert accept.share(first, spans, known["0"]) == shares[0] == 1.0
    assert accept.share(second, spans, known["0"]) == shares[1] < 0.7
    assert [accept.whole(line, spans, known["0"]) for line in (first, second)] == [True, False]
    assert accept.acceptability(trees, lists, known) == pytest.approx(((shares[0] + shares[2]) / 2, 0.5))
    metric = load("acceptability").Acceptability(Resources(), {"part": str(CORPUS / "dev")})
    stats = metric.stats([raw for _, raw in read_list(path)])
    assert metric.score(stats) == pytest.approx(list(shares.values()), abs=1e-6)
    assert metric.score(stats[[0, 2]].sum(axis=0)[None]) == pytest.approx(
        [(shares[0] + shares[2]) / 2], abs=1e-6
    )
    lists["0"].reverse()
    assert accept.acceptability(trees, lists, known)[1] == 0
    assert accept.acceptability(trees, lists, known, oracle=True)[1] == 0.5
