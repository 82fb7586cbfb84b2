"""The names of choices, for libraries and commands alike."""

from decimal import Decimal, InvalidOperation

from rypt.text import RyptError

MODELS = ("percolation", "table", "tree")
UNKNOWN_AS = ("half", "ignore", "no", "yes", "prior", "smoothed")
TIES = ("unknown", "no", "yes")
HOLD_OUT = ("worker", "origin")
SELECTIONS = ("frontier", "value", "all")
PICKS = ("first", "best")
CASES = ("lower", "keep")
BIASED = ("candidate", "judgment", "key", "label")


def check_option(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a choice that does not exist.

    >>> check_option("ties", "coin", TIES)
    Traceback (most recent call last):
        ...
    rypt.text.RyptError: expected ties as one of unknown, no, yes, found 'coin'
    """
    if value not in allowed:
        raise RyptError(f"expected {name} as one of {', '.join(allowed)}, found {value!r}")


def check_held_out(way: str, allowed: tuple[str, ...]) -> None:
    """Refuse ways to hold out judgments that do not exist, and those that are biased.

    >>> check_held_out("candidate", ("system", "rater"))
    Traceback (most recent call last):
        ...
    rypt.text.RyptError: holding out a single candidate is biased (a candidate that loses its own NO looks better than \
it is, and only bad ones do): hold out a system or rater with all its judgments
    """
    if way in BIASED:
        raise RyptError(
            f"holding out a single {way} is biased (a candidate that loses its own NO looks better than it is, and "
            f"only bad ones do): hold out a {' or '.join(allowed)} with all its judgments"
        )
    if way not in allowed:
        raise RyptError(f"expected to hold out a {' or '.join(allowed)}, found {way!r}")


def money(text: str) -> Decimal | None:
    """An amount of dollars from 0 up, None for anything else.

    >>> money("25.00"), money("-1"), money("much")
    (Decimal('25.00'), None, None)
    """
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None
