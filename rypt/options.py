"""The names of choices, for libraries and commands alike."""

from rypt.text import RyptError

MODELS = ("percolation", "table", "tree")
UNKNOWN_AS = ("half", "ignore", "no", "yes", "prior", "smoothed")
TIES = ("unknown", "no", "yes")
HOLD_OUT = ("worker", "origin")
SELECTIONS = ("frontier", "value", "all")
PICKS = ("first", "best")
CASES = ("lower", "keep")


def check_option(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a choice that does not exist.

    >>> check_option("ties", "coin", TIES)
    Traceback (most recent call last):
        ...
    rypt.text.RyptError: expected ties as one of unknown, no, yes, found 'coin'
    """
    if value not in allowed:
        raise RyptError(f"expected {name} as one of {', '.join(allowed)}, found {value!r}")
