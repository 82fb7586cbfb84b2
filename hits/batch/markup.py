"""Text of decoders and strangers as HTML: escaped, highlighted, with its language and direction.

What comes out is safe in three places at once: inside an element, inside a quoted attribute, and as a cell of a
spreadsheet (a leading ``=``, ``+``, ``-`` or ``@``, which starts a formula there, is written as a reference).
"""

import html
import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from rypt.text import tokenize

if TYPE_CHECKING:
    from jinja2 import Environment

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_BREAKS = re.compile("[\r\n]+")
_FORMULA = "=+-@\t＝＋－＠"
_RIGHT_TO_LEFT = frozenset(
    {"ar", "arc", "arz", "azb", "ckb", "dv", "fa", "he", "iw", "ks", "lrc", "mzn", "nqo", "pnb"}
    | {"ps", "sd", "syr", "ug", "ur", "yi"}
)
_RIGHT_TO_LEFT_SCRIPTS = frozenset(["adlm", "arab", "hebr", "mand", "nkoo", "rohg", "samr", "syrc", "thaa"])


def plain(text: str) -> str:
    """Text that XML, HTML and a UTF-8 file can all hold: what they cannot becomes U+FFFD, line ends become spaces.

    >>> plain("one\\x00two\\nthree")
    'one\ufffdtwo three'
    """
    return _ILLEGAL.sub("\ufffd", _BREAKS.sub(" ", text))


def escape(text: str) -> str:
    """Text as HTML that shows exactly this text.

    >>> escape('<b> & "x"'), escape("=1+1")
    ('&lt;b&gt; &amp; &quot;x&quot;', '&#61;1+1')
    """
    return safe_cell(html.escape(plain(text), quote=True))


def safe_cell(markup: str) -> str:
    """HTML that no spreadsheet takes for a formula; a browser shows the same."""
    return f"&#{ord(markup[0])};{markup[1:]}" if markup and markup[0] in _FORMULA else markup


def readable(text: str, language: str = "") -> str:
    """A text of tokens as HTML that shows it as people read it (`hits.batch.markup`)."""
    return highlight(tokenize(text), (), language=language)


def highlight(tokens: Sequence[str], positions: Collection[int], style: str = "", language: str = "") -> str:
    """The tokens as HTML, as people read them; those at the positions inside ``<mark>``, neighbours together.

    Where what is shown differs from the tokens, these stand in attributes, for programs.

    >>> highlight(["the", "old", "man", "left"], {1, 2})
    'the <mark>old man</mark> left'
    >>> highlight(["the", "man", "."], {1})
    '<span data-tokens="the man ." data-marked="1">the <mark>man</mark>.</span>'
    """
    opening = f'<mark class="{style}">' if style else "<mark>"
    pieces = shown(tokens, language)
    parts = []
    for marked, run in groupby(range(len(tokens)), key=lambda i: i in positions):
        where = list(run)
        text = "".join((pieces[i][0] if i != where[0] else "") + pieces[i][1] for i in where)
        text = html.escape(plain(text), quote=True)
        parts.append(pieces[where[0]][0] + (f"{opening}{text}</mark>" if marked else text))
    markup = "".join(parts)
    if "".join(space + text for space, text in pieces) == " ".join(tokens):
        return safe_cell(markup)
    kept, at = html.escape(plain(" ".join(tokens)), quote=True), " ".join(map(str, sorted(positions)))
    return f'<span data-tokens="{kept}" data-marked="{at}">{markup}</span>'


def extract(tokens: Sequence[str], positions: Collection[int], language: str = "") -> str:
    """The tokens at the positions alone, an ellipsis for each gap, as HTML.

    >>> extract(["the", "old", "man", "left"], {0, 2})
    'the … man'
    """
    pieces = shown(tokens, language)
    text, before = "", -2
    for position in sorted(positions):
        space, part = pieces[position]
        text += part if not text else (space if position == before + 1 else " … ") + part
        before = position
    return escape(text)


def text_direction(language: str) -> str:
    """``rtl`` or ``ltr`` by language and script, ``auto`` (the browser looks at the text) when it is not known.

    >>> [text_direction(language) for language in ("ar", "he-IL", "de", "", "az-Arab", "ur-Latn")]
    ['rtl', 'rtl', 'ltr', 'auto', 'rtl', 'ltr']
    """
    parts = language.lower().replace("_", "-").split("-")
    if not parts[0]:
        return "auto"
    scripts = [part for part in parts[1:] if len(part) == 4 and part.isalpha()]
    if scripts:
        return "rtl" if scripts[0] in _RIGHT_TO_LEFT_SCRIPTS else "ltr"
    return "rtl" if parts[0] in _RIGHT_TO_LEFT else "ltr"


@cache
def html_templates(package: str, escape_text: Callable[[str], str] = escape) -> "Environment":
    """The Jinja templates of a package, from its folder ``templates``; a line with only a tag leaves no line.

    Every text that is put in passes through ``escape_text``, but for those marked as HTML (`markupsafe.Markup`), and a
    name that a template does not get is an error.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def as_html(value: object) -> object:
        return (
            Markup(escape_text(value)) if isinstance(value, str) and not isinstance(value, Markup) else value
        )

    return Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=as_html,
        trim_blocks=True,
        keep_trailing_newline=True,
    )


def language_columns(source: str, target: str) -> dict[str, str]:
    """The columns that say how source and candidates are read."""
    return {
        "source_lang": escape(source.replace("_", "-")),
        "source_dir": text_direction(source),
        "target_lang": escape(target.replace("_", "-")),
        "target_dir": text_direction(target),
    }


ESCAPES = {
    "&apos;": "'",
    "&quot;": '"',
    "&lt;": "<",
    "&gt;": ">",
    "&#91;": "[",
    "&#93;": "]",
    "&#124;": "|",
    "&bar;": "|",
    "&amp;": "&",
}
BRACKETS = {
    "-lrb-": "(",
    "-rrb-": ")",
    "-lsb-": "[",
    "-rsb-": "]",
    "-lcb-": "{",
    "-rcb-": "}",
    "``": "“",
    "''": "”",
}
OPENING = frozenset("([{¿¡«„“‘")
CLOSING = re.compile(r"""[)\]}»”’,.;:!?%…،؛؟。、，！？：；]+|\.\.\.+""")
CLITIC = re.compile(r"n['’]t|['’](?:s|m|d|re|ve|ll|t|em)", re.IGNORECASE)
ELISION = re.compile(r"(?:[cdjlmnstu]|qu|jusqu|lorsqu|puisqu|dell|nell|all|sull)['’]", re.IGNORECASE)
SPACED = frozenset(";:!?»")  # French writes a space before these
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3000-\u303f\uff00-\uffef]")


def shown(tokens: Sequence[str], language: str = "") -> list[tuple[str, str]]:
    """For each token what separates it from the one before (a space or nothing), and what is shown of it.

    >>> "".join(space + text for space, text in shown("er sagte : „ komm “ , nicht wahr ?".split()))
    'er sagte: „komm“, nicht wahr?'
    >>> "".join(space + text for space, text in shown("he said : &quot; it &apos;s 5 @-@ 6 % . &quot;".split()))
    'he said: "it\\'s 5-6%."'
    >>> "".join(space + text for space, text in shown("▁The ▁un believ able ▁house .".split()))
    'The unbelievable house.'
    """
    pieces = any(token.startswith("▁") for token in tokens)
    french = language.lower().startswith("fr")
    made: list[tuple[str, str]] = []
    glued = True  # whether the next token follows without a space
    quotes = 0
    low = False  # whether a quotation began with „, so that “ ends it
    for token in tokens:
        joins = token.endswith("@@") and len(token) > 2
        text = _plain(token.removesuffix("@@") if joins else token)
        before = not glued and not _follows(text, made, french)
        after = joins or text in OPENING or ELISION.fullmatch(text) is not None
        if token == "@-@":
            text, before, after = "-", False, True
        elif text == '"':
            quotes += 1
            before, after = (not glued, True) if quotes % 2 else (False, False)
        elif text == "„" or (text == "“" and low):
            low = text == "„"
            before, after = low and not glued, low
        elif pieces and not joins:
            before = token.startswith("▁") and bool(made)
            text = text.removeprefix("▁")
            before = before and not _follows(text, made, french)
        made.append((" " if before and made else "", text))
        glued = after
    return made


def _plain(token: str) -> str:
    """A token without the escapes of tokenizers and treebanks."""
    if token.lower() in BRACKETS:
        return BRACKETS[token.lower()]
    if "&" in token:
        for escape, character in ESCAPES.items():
            token = token.replace(escape, character)
    return token


def _follows(text: str, made: Sequence[tuple[str, str]], french: bool) -> bool:
    """Whether a token stands close to the one before it."""
    if not made or not text:
        return True
    if CLOSING.fullmatch(text):
        return not (french and text[0] in SPACED)
    if CLITIC.fullmatch(text):
        return made[-1][1][-1:].isalpha()
    return bool(UNSPACED.match(text[0]) and UNSPACED.match(made[-1][1][-1:] or " "))
