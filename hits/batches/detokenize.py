"""Tokens as people read them: punctuation where it belongs, escapes undone, pieces of words joined.

    shown(["-lrb-", "don", "&apos;t", ")", "re@@", "ad"])   →   [("", "("), ("", "don"), ("", "'t"), …]

Every token keeps its place in the list: what is highlighted by positions stays highlighted. Only what stands alone as a
token is moved, so text that was never tokenised stays as it is.
"""

import re
from collections.abc import Sequence

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
    for token in tokens:
        joins = token.endswith("@@") and len(token) > 2
        text = _plain(token.removesuffix("@@") if joins else token)
        before = not glued and not _follows(text, made, french)
        after = joins or text in OPENING or ELISION.fullmatch(text) is not None
        if token == "@-@" or text in ("@-@",):
            text, before, after = "-", False, True
        elif text == '"':
            quotes += 1
            before, after = (not glued, True) if quotes % 2 else (False, False)
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
