"""Trees by stanza, where it is installed, or without a parser; any other parser's trees are read from files.

    parse_source("dev.de", "dev.trees", language="de")           # a file of segments to a file of trees
    trees = parse_all([["das", "Haus"]], tool="fallback")        # from punctuation and length alone

stanza gives constituents, or for languages without them dependencies: the constituent of a word is then its yield
(`rypt.texts.treebank`). It is called on the source tokens as they are. ``fallback`` needs no parser
(`rypt.texts.fallback_trees`). docs/texts.md shows how to feed the output of other parsers.
"""

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rypt.campaign.folder import read_source
from rypt.options import PARSERS, TREE_TOOLS
from rypt.text import FormatError, PathLike, RyptError, Watch, open_output, unwatched
from rypt.texts.fallback_trees import fallback_tree
from rypt.texts.treebank import tree_from_conllu
from rypt.texts.trees import SourceTree

FALLBACK = "fallback"
Parse = Callable[[Sequence[str]], SourceTree]


def is_installed(tool: str) -> bool:
    """Whether a parser can be called here; the fallback always can."""
    return tool == FALLBACK or importlib.util.find_spec(tool) is not None


def choose_parser(name: str | None = None) -> str:
    """The parser asked for, or the first one installed; when there is none, the error says what to install."""
    if name is not None and name not in TREE_TOOLS:
        raise RyptError(f"expected a parser {', '.join(TREE_TOOLS)}, found {name!r}")
    for tool in PARSERS if name is None else (name,):
        if is_installed(tool):
            return tool
    if name is not None:
        raise RyptError(f"{name} is not installed: pip install {name}")
    raise RyptError(
        "no parser is installed: pip install stanza; --trees of rypt init reads the brackets or CoNLL-U of any parser, "
        "and for a language without one, --tool fallback makes trees from punctuation and length"
    )


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """What was parsed: by which tool, and how many segments."""

    tool: str
    segments: int


def parse_source(
    source: PathLike,
    output: PathLike,
    *,
    tool: str | None = None,
    language: str | None = None,
    model: str | None = None,
    dependencies: bool = False,
    watch: Watch = unwatched,
) -> ParsedSource:
    """Parse the segments of a file and write Penn brackets, a line each; the options are those of `parse_all`."""
    chosen = choose_parser(tool)
    segments = read_source(source)
    tokens = watch((segment.tokens for segment in segments), f"parse with {chosen}", len(segments))
    trees = parse_all(tokens, tool=chosen, language=language, model=model, dependencies=dependencies)
    with open_output(output) as stream:
        for tree in trees:
            stream.write(f"{tree}\n")
    return ParsedSource(chosen, len(segments))


def parse_all(
    segments: Iterable[Sequence[str]],
    *,
    tool: str | None = None,
    language: str | None = None,
    model: str | None = None,
    dependencies: bool = False,
) -> Iterator[SourceTree]:
    """The tree of each tokenised segment, over its tokens; an empty segment has an empty tree.

    ``model`` names the package of stanza, by default that of the ``language``; ``dependencies`` makes the trees from
    its dependencies.
    """
    if choose_parser(tool) == FALLBACK:
        if language or model or dependencies:
            raise RyptError("fallback trees come from punctuation and length; other options are for a parser")
        parse: Parse = fallback_tree
    elif language:
        parse = _stanza(language, model, dependencies)
    else:
        raise RyptError("stanza needs the language of the source, such as --language de")
    for tokens in segments:
        yield _over(parse([_word(token) for token in tokens]), tokens) if tokens else SourceTree((), ())


def _word(token: str) -> str:
    """A token without white space inside, which parsers would cut."""
    return "_".join(token.split()) or "_"


def _over(tree: SourceTree, tokens: Sequence[str]) -> SourceTree:
    if len(tree.tokens) != len(tokens):
        raise RyptError(
            f"the parser made {len(tree.tokens)} tokens of the {len(tokens)} of {' '.join(tokens)!r}"
        )
    return SourceTree(tuple(tokens), tree.constituents)


def _stanza(language: str, model: str | None, dependencies: bool) -> Parse:
    import stanza

    processors = "tokenize,pos,lemma,depparse" if dependencies else "tokenize,pos,constituency"
    advice = f"python -c \"import stanza; stanza.download('{language}')\""
    try:
        pipeline = stanza.Pipeline(
            language,
            processors=processors,
            package=model or "default",
            tokenize_pretokenized=True,
            download_method=None,
            verbose=False,
        )
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
    """The first line with words in it of a parser's error."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if any(map(str.isalpha, line))), type(error).__name__)[:120]
