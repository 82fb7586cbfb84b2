"""eflomal, where it is installed; a stand-in where it is to fail."""

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rypt.text import RyptError, Watch
from rypt.texts.alignment import Links
from rypt.tools import aligners
from rypt.tools.aligners import Pair, align, choose_aligner
from rypt.tools.eflomal_runs import Directions, Work, eflomal_links

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
        (("das", "5\u00a0%", "Haus"), ("the", "house")),
        ((), ("the",)),
        (("das",), ()),
        (("das",) * 1100, ("the",)),
        (("|||", "."), ("|||", ".")),
    ]
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


@needs_eflomal
def test_a_rerun_aligns_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, wanted = word_for_word()
    cache, messages, sizes = tmp_path / "links.cache.gz", [], []

    def counted(work: Work, priors: list[str] | None, watch: Watch) -> Directions:
        sizes.append((len(work.pieces), priors is not None))
        return eflomal_links(work, priors, watch)

    monkeypatch.setattr(aligners, "eflomal_links", counted)
    first = align(pairs[:300], cache=cache)
    assert align(pairs[:300], cache=cache, tell=messages.append) == first
    more = align(pairs, cache=cache, tell=messages.append)
    assert more[:300] == first
    assert agreement(more[300:], wanted[300:]) > 0.8
    assert messages == [f"300 of 300 pairs have links in {cache}", f"300 of 400 pairs have links in {cache}"]
    assert sizes == [(300, False), (100, True)]
    align(pairs, cache=cache, heuristic="union")
    assert len(sizes) == 2
    align(pairs[:300], cache=cache, training=pairs[300:])
    assert sizes[2:] == [(400, False)]


@needs_eflomal
def test_a_cache_that_cannot_be_written_loses_no_links(tmp_path: Path) -> None:
    messages: list[str] = []
    pairs, wanted = word_for_word()
    assert agreement(align(pairs, cache=tmp_path / "none" / "x.gz", tell=messages.append), wanted) > 0.8
    assert messages == [
        f"links are not kept for the next run: {tmp_path / 'none' / 'x.gz'}: No such file or directory"
    ]
    with pytest.raises(RyptError, match="No such file or directory"):
        align([(("a",), ("b",))], save_priors=tmp_path / "none" / "priors")


@needs_eflomal
def test_few_known_pairs_are_aligned_again(tmp_path: Path) -> None:
    pairs, wanted = word_for_word()
    cache = tmp_path / "links.cache.gz"
    align(pairs[:3], cache=cache)
    assert agreement(align(pairs, cache=cache)[:3], wanted[:3]) > 0.8


@needs_eflomal
def test_priors_that_were_saved_are_taken(tmp_path: Path) -> None:
    pairs, wanted = word_for_word()
    priors = tmp_path / "priors.gz"
    align(pairs[:100], training=pairs[100:350], save_priors=priors, cache=tmp_path / "cache.gz")
    assert agreement(align(pairs[380:], priors=priors), wanted[380:]) > 0.8


@needs_eflomal
def test_paragraphs_are_aligned_sentence_by_sentence() -> None:
    pairs, wanted = word_for_word()
    joined, links = [], []
    for k in range(0, len(pairs), 2):
        (a, x), (b, y) = pairs[k], pairs[k + 1]
        joined.append(((*a, ".", *b, "!"), (*x, ".", *y, "!")))
        ends = ((len(a), len(x)), (len(a) + 1 + len(b), len(x) + 1 + len(y)))
        links.append((*wanted[k], *ends, *((i + len(a) + 1, j + len(x) + 1) for i, j in wanted[k + 1])))
    found = align(joined)
    assert agreement(found, links) > 0.8
    for k, of_pair in enumerate(found):
        assert all((i <= len(pairs[2 * k][0])) == (j <= len(pairs[2 * k][1])) for i, j in of_pair)


def eflomal_writing(*lines: str) -> ModuleType:
    """A stand-in for eflomal that writes these lines as links of both directions."""

    class Aligner:
        def __init__(self, **settings: float) -> None:
            pass

        def align(self, sources: list[str], targets: list[str], **files: str | None) -> None:
            for name in ("links_filename_fwd", "links_filename_rev"):
                Path(str(files[name])).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    module = ModuleType("eflomal")
    module.Aligner = Aligner  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0-0"], "the aligner wrote 1 alignments of 2 pairs"),
        (
            ["nothing", ""],
            "the aligner wrote no alignment: expected alignment links like 3-5, found 'nothing'",
        ),
    ],
)
def test_an_aligner_that_writes_something_else(
    monkeypatch: pytest.MonkeyPatch, lines: list[str], message: str
) -> None:
    monkeypatch.setitem(sys.modules, "eflomal", eflomal_writing(*lines))
    monkeypatch.setattr(aligners, "is_installed", lambda name: True)
    with pytest.raises(RyptError, match=message):
        align([(("a",), ("b",)), (("c",), ("d",))])


def test_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligners.importlib.util, "find_spec", lambda name: None)
    assert choose_aligner() == "diagonal"
    with pytest.raises(RyptError, match=r"^eflomal is not installed: pip install eflomal"):
        choose_aligner("eflomal")
    with pytest.raises(RyptError, match="expected an aligner eflomal, diagonal, found 'giza'"):
        choose_aligner("giza")
