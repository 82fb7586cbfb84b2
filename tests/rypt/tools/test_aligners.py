"""Aligners: eflomal for real; fast_align and simalign through stand-ins that speak as they do."""

import importlib.util
import os
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rypt.text import RyptError
from rypt.texts.alignment import Links
from rypt.tools import aligners
from rypt.tools.aligners import Pair, align, choose_aligner

WORDS = {f"q{i}x": f"{i}w" for i in range(40)}
needs_eflomal = pytest.mark.skipif(
    importlib.util.find_spec("eflomal") is None, reason="eflomal is not installed (pip install eflomal)"
)


def word_for_word(count: int = 400) -> tuple[list[Pair], list[Links]]:
    """Random words, translated one by one; two neighbours change places, so that order alone does not tell."""
    rng = random.Random(5)
    pairs, links = [], []
    for _ in range(count):
        source = tuple(rng.sample(sorted(WORDS), rng.randint(4, 7)))
        order = list(range(len(source)))
        swap = rng.randrange(len(source) - 1)
        order[swap], order[swap + 1] = order[swap + 1], order[swap]
        pairs.append((tuple(word.upper() for word in source), tuple(WORDS[source[i]] for i in order)))
        links.append(tuple(sorted((i, j) for j, i in enumerate(order))))
    return pairs, links


def agreement(found: list[Links], wanted: list[Links]) -> float:
    both = sum(len(set(a) & set(b)) for a, b in zip(found, wanted, strict=True))
    return 2 * both / sum(len(a) + len(b) for a, b in zip(found, wanted, strict=True))


@needs_eflomal
def test_eflomal_finds_what_belongs_together() -> None:
    pairs, wanted = word_for_word()
    found = align(pairs, aligner="eflomal")
    assert agreement(found, wanted) > 0.8


@needs_eflomal
def test_eflomal_takes_tokens_as_they_are() -> None:
    """White space inside of tokens, empty and long sides, repeated pairs."""
    pairs, wanted = word_for_word()
    odd: list[Pair] = [
        (("das", "5\u00a0%", "Haus"), ("the", "house")), ((), ("the",)), (("das",), ()),
        (("das",) * 1100, ("the",)), (("|||", "."), ("|||", ".")),
    ]  # fmt: skip
    found = align([*odd, pairs[0], *pairs, pairs[0]], aligner="eflomal")
    assert len(found) == len(odd) + len(pairs) + 2
    assert found[1] == found[2] == found[3] == ()
    assert found[5] == found[6] == found[-1]
    assert all(i < 3 and j < 2 for i, j in found[0])
    assert agreement(found[6:-1], wanted) > 0.8


@needs_eflomal
def test_eflomal_learns_from_further_pairs_and_priors(tmp_path: Path) -> None:
    pairs, wanted = word_for_word()
    few, links = pairs[:5], wanted[:5]
    assert agreement(align(few, aligner="eflomal", training=pairs[5:]), links) > 0.8
    priors = "".join(f"LEX\t{source}\t{target}\t1000\n" for source, target in WORDS.items())
    (tmp_path / "priors").write_text(priors, encoding="utf-8")
    assert agreement(align(few, aligner="eflomal", priors=tmp_path / "priors"), links) > 0.8
    (tmp_path / "priors").write_text("LEX\tq1x\t1w\tmuch\n")
    with pytest.raises(RyptError, match="priors: expected priors as eflomal-makepriors writes them"):
        align(few, aligner="eflomal", priors=tmp_path / "priors")


@pytest.fixture
def fast_align(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in: links words at the same place; with -r the first source word with every target word, too."""
    program = tmp_path / "bin" / "fast_align"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        "arguments = sys.argv[1:]\n"
        "assert arguments[2:5] == ['-d', '-o', '-v'], arguments\n"
        "for line in open(arguments[1], encoding='utf-8'):\n"
        "    source, target = (side.split() for side in line.split(' ||| '))\n"
        "    if 'broken' in source:\n"
        "        sys.exit('out of memory')\n"
        "    links = [f'{i}-{i}' for i in range(min(len(source), len(target)))]\n"
        "    if '-r' in arguments:\n"
        "        links += [f'0-{j}' for j in range(1, len(target))]\n"
        "    print(*links)\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program


def test_fast_align(fast_align: Path) -> None:
    pairs: list[Pair] = [(("Ein", "|||"), ("A", "b", "c")), ((), ("x",)), (("a",), ("b",))]
    union = align(pairs, aligner="fast_align", heuristic="union")
    assert union == [((0, 0), (0, 1), (0, 2), (1, 1)), (), ((0, 0),)]
    assert align(pairs, aligner="fast_align", heuristic="intersection") == [((0, 0), (1, 1)), (), ((0, 0),)]
    with pytest.raises(RyptError, match="fast_align failed: out of memory"):
        align([(("broken",), ("x",))], aligner="fast_align")
    with pytest.raises(RyptError, match="priors are eflomal's; fast_align takes none"):
        align(pairs, aligner="fast_align", priors="x")
    with pytest.raises(RyptError, match="a model goes with simalign"):
        align(pairs, aligner="fast_align", model="bert")


def test_an_aligner_that_writes_too_little(fast_align: Path) -> None:
    fast_align.write_text("#!/bin/sh\necho 0-0\n")
    with pytest.raises(RyptError, match="the aligner wrote 1 alignments of 2 pairs"):
        align([(("a",), ("b",)), (("c",), ("d",))], aligner="fast_align")
    fast_align.write_text("#!/bin/sh\necho nothing\n")
    with pytest.raises(RyptError, match="what is no alignment: expected alignment links like 3-5, found 'nothing'"):
        align([(("a",), ("b",))], aligner="fast_align")


def test_simalign(monkeypatch: pytest.MonkeyPatch) -> None:
    class SentenceAligner:
        def __init__(self, model: str, token_type: str, matching_methods: str) -> None:
            assert (token_type, matching_methods) == ("bpe", "fr")
            if model == "none":
                raise OSError("none is not a model\nsee the list")

        def get_word_aligns(self, source: list[str], target: list[str]) -> dict[str, list[tuple[int, int]]]:
            assert isinstance(source, list)
            return {"fwd": [(0, 0), (1, 1)], "rev": [(0, 0)]}

    module = ModuleType("simalign")
    module.SentenceAligner = SentenceAligner  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "simalign", module)
    monkeypatch.setattr(aligners, "is_installed", lambda name: name == "simalign")
    pairs: list[Pair] = [(("a", "b"), ("c", "d"))]
    assert choose_aligner() == "simalign"
    assert align(pairs) == [((0, 0), (1, 1))]
    assert align(pairs, heuristic="intersection") == [((0, 0),)]
    with pytest.raises(RyptError, match=r"cannot load its language model none: none is not a model$"):
        align(pairs, model="none")
    with pytest.raises(RyptError, match="simalign is not trained"):
        align(pairs, training=pairs)


def test_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligners, "is_installed", lambda name: False)
    with pytest.raises(RyptError, match=r"^no aligner is installed; the simplest one: pip install eflomal$"):
        choose_aligner()
    for name in aligners.ALIGNERS:
        with pytest.raises(RyptError, match=f"^{name} is not installed: "):
            choose_aligner(name)
    with pytest.raises(RyptError, match="expected an aligner eflomal, fast_align, simalign, found 'giza'"):
        choose_aligner("giza")
