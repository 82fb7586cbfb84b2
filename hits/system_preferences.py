"""What people preferred of two systems: the paper's Tables 1 and 2 from comparisons of any origin."""

from hits.preferences import Preferences
from hits.ranking.data import Comparisons
from rypt.text import RyptError


def preferences_between(comparisons: Comparisons, first: str, second: str) -> Preferences:
    """The comparisons of two systems, segment by segment; a tie is one for neither.

    >>> from hits.ranking.data import comparisons_of
    >>> rows = [("1", "a", "b", 1, "w1"), ("1", "b", "a", 0, "w2"), ("2", "b", "a", 1, "w1"), ("2", "a", "c", 1, "w1")]
    >>> preferences_between(comparisons_of(rows), "a", "b").segments
    {'1': (1, 0, 1), '2': (0, 1, 0)}
    """
    for system in (first, second):
        if system not in comparisons.systems:
            raise RyptError(f"expected one of the systems {', '.join(comparisons.systems)}, found {system!r}")
    if first == second:
        raise RyptError(f"expected two different systems, found {first} twice")
    pair = comparisons.among([comparisons.systems.index(first), comparisons.systems.index(second)])
    if not len(pair):
        raise RyptError(f"{first} and {second} were never compared with each other")
    votes: dict[str, list[int]] = {}
    for a, outcome, segment in zip(pair.a.tolist(), pair.outcome.tolist(), pair.segment.tolist(), strict=True):
        wins = outcome if a == 0 else -outcome
        votes.setdefault(pair.segments[segment], [0, 0, 0])[2 if wins == 0 else 0 if wins > 0 else 1] += 1
    return Preferences(first, second, {segment: (own[0], own[1], own[2]) for segment, own in votes.items()})
