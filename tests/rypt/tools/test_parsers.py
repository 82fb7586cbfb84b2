"""stanza, through a stand-in that has its calls and answers; the fallback for real."""

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rypt.text import RyptError
from rypt.tools import parsers
from rypt.tools.parsers import choose_parser, parse_all

TOKENS = ["Die", "(", "alte\u00a0Dame", ")", "lacht"]
Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a module in the place of a parser, and let no other be installed."""

    def put(name: str, **content: Any) -> None:
        module = ModuleType(name)
        for key, value in content.items():
            setattr(module, key, value)
        monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(parsers, "is_installed", lambda tool: tool in (name, "fallback"))

    return put


def stanza_pipeline(language: str, **options: Any) -> Callable[[list[list[str]]], Any]:
    assert options["tokenize_pretokenized"] is True
    assert options["download_method"] is None
    if language == "xx":
        raise FileNotFoundError("Resources file not found at: x")
    if language == "eo" and "constituency" in options["processors"]:
        raise RuntimeError("Processor constituency is not known for language eo.")

    def run(sentences: list[list[str]]) -> Any:
        (tokens,) = sentences
        leaves = [token.replace("(", "-LRB-").replace(")", "-RRB-") for token in tokens]
        text = f"(ROOT (S (NP (D {leaves[0]}) " + " ".join(f"(N {leaf})" for leaf in leaves[1:-1]) + ")"
        words = [
            SimpleNamespace(text=token, head=0 if i == len(tokens) else i + 1, deprel="dep")
            for i, token in enumerate(tokens, 1)
        ]
        sentence = SimpleNamespace(constituency=f"{text} (V {leaves[-1]})))", words=words)
        return SimpleNamespace(sentences=[sentence])

    return run


def test_stanza(install: Install) -> None:
    install("stanza", Pipeline=stanza_pipeline)
    assert choose_parser() == "stanza"
    tree, empty = parse_all([TOKENS, []], language="de")
    assert list(tree.tokens) == TOKENS
    assert str(tree) == ("(ROOT+S (NP (D Die) (N -LRB-) (N alte\u00a0Dame) (N -RRB-)) (V lacht))")
    assert str(empty) == "()"
    (dependent,) = parse_all([TOKENS], language="eo", dependencies=True)
    assert [str(c.span) for c in dependent.constituents if len(c.span) > 1] == ["0-5", "0-4", "0-3", "0-2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"language": "xx"},
            r"stanza has no model for 'xx' \(Resources .*\): python -c .*stanza.download\('xx'\)",
        ),
        ({"language": "eo"}, "Processor constituency is not known.*; --dependencies for a language without"),
        ({}, "stanza needs the language of the source, such as --language de"),
    ],
)
def test_stanza_without_its_model(install: Install, options: dict[str, str], message: str) -> None:
    install("stanza", Pipeline=stanza_pipeline)
    with pytest.raises(RyptError, match=message):
        list(parse_all([TOKENS], **options))


def test_the_fallback_takes_no_language_and_no_model() -> None:
    for options in ({"language": "de"}, {"model": "x"}, {"dependencies": True}):
        with pytest.raises(RyptError, match="other options are for a parser"):
            list(parse_all([TOKENS], tool="fallback", **options))


def test_a_parser_that_changes_tokens(install: Install) -> None:
    def pipeline(language: str, **options: Any) -> Callable[[Any], Any]:
        return lambda text: SimpleNamespace(sentences=[SimpleNamespace(constituency="(S (A x))")])

    install("stanza", Pipeline=pipeline)
    with pytest.raises(RyptError, match="the parser made 1 tokens of the 5 of 'Die"):
        list(parse_all([TOKENS], language="de"))


def test_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "is_installed", lambda tool: tool == "fallback")
    with pytest.raises(RyptError, match=r"no parser is installed: pip install stanza; .*--tool fallback"):
        choose_parser()
    for tool in parsers.PARSERS:
        with pytest.raises(RyptError, match=f"^{tool} is not installed: pip install {tool}$"):
            choose_parser(tool)
    with pytest.raises(RyptError, match="expected a parser stanza, fallback, found 'malt'"):
        choose_parser("malt")
    (tree,) = parse_all([TOKENS], tool="fallback")
    assert list(tree.tokens) == TOKENS
