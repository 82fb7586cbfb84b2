"""Signatures: one line that describes how a number was computed, in sacrebleu's format (``name|key:value|…``).

    signature("RYPT", case="lower", version=rypt_version())   →   'RYPT|case:lower|version:…'
    signature(scorer.signature, pick="best", n=1000)          →   the same, and two facts more

A signature contains everything besides the data that a score, a run or a ranking depends on.
"""

from importlib.metadata import version


def signature(*parts: str, **facts: object) -> str:
    """Parts (a name, or another signature) and named facts, joined; empty parts and facts that are None left out.

    >>> signature("bojar", seed=1, level=0.05, systems=None)
    'bojar|seed:1|level:0.05'
    """
    named = [f"{name}:{_text(value)}" for name, value in facts.items() if value is not None]
    return "|".join([*filter(None, parts), *named])


def signature_name(text: str) -> str:
    """The name at the beginning of a signature.

    >>> signature_name("BLEU|nrefs:1|case:mixed")
    'BLEU'
    """
    return text.partition("|")[0]


def rypt_version() -> str:
    """The version that is installed, the last fact of a signature."""
    return version("rypt")


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
