"""Parsers that people use: stanza, benepar, spaCy; called on source tokens as they are when they are installed.

stanza and benepar give constituents. spaCy, and stanza for languages without constituents, give dependencies; the
constituent of a word is then its yield (`rypt.texts.conllu`). ``fallback`` needs no parser
(`rypt.tools.fallback_trees`).
"""

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rypt.text import FormatError, RyptError
from rypt.texts.conllu import tree_from_conllu
from rypt.texts.trees import SourceTree
from rypt.tools.fallback_trees import fallback_tree

FALLBACK = "fallback"
PARSERS = ("stanza", "benepar", "spacy")
TOOLS = (*PARSERS, FALLBACK)
BENEPAR_LANGUAGES = ("ar", "de", "eu", "fr", "he", "hu", "ko", "pl", "sv", "zh")
BENEPAR_MODELS = {"en": "benepar_en3", **{code: f"benepar_{code}2" for code in BENEPAR_LANGUAGES}}
Parse = Callable[[Sequence[str]], SourceTree]


def is_installed(tool: str) -> bool:
    """Whether a parser can be called here; the fallback always can."""
    return tool == FALLBACK or importlib.util.find_spec(tool) is not None


def choose_parser(name: str | None = None) -> str:
    """The parser asked for, or the first one installed; when there is none, the error says what to install."""
    if name is not None and name not in TOOLS:
        raise RyptError(f"expected a parser {', '.join(TOOLS)}, found {name!r}")
    for tool in PARSERS if name is None else (name,):
        if is_installed(tool):
            return tool
    if name is not None:
        raise RyptError(f"{name} is not installed: pip install {name}")
    raise RyptError(
        "no parser is installed: pip install stanza (or benepar, or spacy); "
        "for a language without one, --tool fallback makes trees from punctuation and length"
    )


def parse_all(
    segments: Iterable[Sequence[str]],
    *,
    tool: str | None = None,
    language: str | None = None,
    model: str | None = None,
    dependencies: bool = False,
) -> Iterator[SourceTree]:
    """The tree of each tokenised segment, over its own tokens; an empty segment has an empty tree.

    ``model`` names what benepar or spaCy loads; by default it follows from the language. ``dependencies`` takes those
    of stanza.
    """
    chosen = choose_parser(tool)
    if dependencies and chosen != "stanza":
        raise RyptError(f"the choice of dependencies is for stanza; {chosen} gives one kind of tree")
    if chosen == FALLBACK and (language or model):
        raise RyptError("fallback trees come from punctuation and length; a language or a model is for a parser")
    if chosen == FALLBACK:
        parse: Parse = fallback_tree
    elif chosen == "stanza":
        parse = _stanza(_needed(language, chosen), model, dependencies)
    elif chosen == "benepar":
        parse = _benepar(model or _benepar_model(_needed(language, chosen)))
    else:
        parse = _spacy(model or _spacy_model(_needed(language, chosen)))
    for tokens in segments:
        yield _over(parse([_word(token) for token in tokens]), tokens) if tokens else SourceTree((), ())


def _needed(language: str | None, tool: str) -> str:
    if not language:
        raise RyptError(f"{tool} needs the language of the source, such as --language de")
    return language


def _word(token: str) -> str:
    """A token without white space inside, which parsers would cut."""
    return "_".join(token.split()) or "_"


def _over(tree: SourceTree, tokens: Sequence[str]) -> SourceTree:
    if len(tree.tokens) != len(tokens):
        raise RyptError(f"the parser made {len(tree.tokens)} tokens of the {len(tokens)} of {' '.join(tokens)!r}")
    return SourceTree(tuple(tokens), tree.constituents)


def _stanza(language: str, model: str | None, dependencies: bool) -> Parse:
    import stanza

    processors = "tokenize,pos,lemma,depparse" if dependencies else "tokenize,pos,constituency"
    advice = f"python -c \"import stanza; stanza.download('{language}')\""
    try:
        pipeline = stanza.Pipeline(
            language, processors=processors, package=model or "default", tokenize_pretokenized=True,
            download_method=None, verbose=False,
        )  # fmt: skip
    except (OSError, LookupError, ValueError) as error:
        raise RyptError(f"stanza has no model for {language!r} ({_first_line(error)}): {advice}") from None
    except Exception as error:  # stanza's own, which have no common class
        hint = "" if dependencies else "; --dependencies for a language without constituents"
        raise RyptError(f"stanza cannot parse {language!r}: {_first_line(error)}{hint}") from None

    def parse(tokens: Sequence[str]) -> SourceTree:
        (sentence,) = pipeline([list(tokens)]).sentences
        if not dependencies:
            return _brackets(str(sentence.constituency), tokens)
        return _dependencies([(word.text, word.head, word.deprel) for word in sentence.words])

    return parse


def _benepar_model(language: str) -> str:
    if language not in BENEPAR_MODELS:
        known = ", ".join(sorted(BENEPAR_MODELS))
        raise RyptError(f"benepar has models for {known}, not for {language!r}; --model names another")
    return BENEPAR_MODELS[language]


def _benepar(model: str) -> Parse:
    import benepar

    try:
        parser = benepar.Parser(model)
    except (OSError, LookupError, ValueError) as error:
        advice = f"python -c \"import benepar; benepar.download('{model}')\""
        raise RyptError(f"benepar has no model {model!r} ({_first_line(error)}): {advice}") from None

    def parse(tokens: Sequence[str]) -> SourceTree:
        tree = parser.parse(benepar.InputSentence(words=list(tokens)))
        for i, place in enumerate(tree.treepositions("leaves")):
            tree[place] = f"w{i}"  # brackets among the words stay out of the way
        return SourceTree.from_nltk(tree)

    return parse


def _spacy_model(language: str) -> str:
    return f"{language}_core_{'web' if language in ('en', 'zh') else 'news'}_sm"


def _spacy(model: str) -> Parse:
    import spacy
    from spacy.tokens import Doc

    try:
        pipeline = spacy.load(model)
    except (OSError, ValueError) as error:
        advice = f"python -m spacy download {model}"
        raise RyptError(f"spaCy has no model {model!r} ({_first_line(error)}): {advice}") from None
    if "parser" not in pipeline.pipe_names:
        raise RyptError(f"spaCy's model {model!r} has no dependency parser")

    def parse(tokens: Sequence[str]) -> SourceTree:
        document: Any = Doc(pipeline.vocab, words=list(tokens))
        for _, step in pipeline.pipeline:
            document = step(document)
        return _dependencies(
            [(word.text, 0 if word.head.i == word.i else word.head.i + 1, word.dep_) for word in document]
        )

    return parse


def _brackets(text: str, tokens: Sequence[str]) -> SourceTree:
    try:
        return SourceTree.from_brackets(text)
    except FormatError as error:
        raise RyptError(f"the parser's tree of {' '.join(tokens)!r} cannot be read: {error}") from None


def _dependencies(words: Sequence[tuple[str, int, str]]) -> SourceTree:
    rows = [
        "\t".join((str(i), form, "_", "_", "_", "_", str(head), relation or "dep"))
        for i, (form, head, relation) in enumerate(words, start=1)
    ]
    return tree_from_conllu(rows)


def _first_line(error: Exception) -> str:
    """The first line of what a parser says that has words in it."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if any(map(str.isalpha, line))), type(error).__name__)[:120]
