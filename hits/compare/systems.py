"""What people preferred of two systems: the paper's Tables 1 and 2 from comparisons of any origin."""

from dataclasses import replace

from hits.compare.preferences import Preferences
from hits.ranking.data import Comparisons
from hits.ranking.readers.files import ComparisonFiles, excluded_workers
from hits.simulated import is_simulated
from rypt.text import RyptError


def system_preferences(files: ComparisonFiles, first: str, second: str) -> Preferences:
    """The comparisons of two systems; databases also know who was excluded."""
    made = preferences_between(files.read(), first, second)
    return replace(made, excluded=tuple(excluded_workers(files.paths, first, second)))


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
    votes: dict[str, list[int]] = {}
    simulated = 0
    columns = (pair.a, pair.outcome, pair.segment, pair.worker)
    for a, outcome, number, worker in zip(*(column.tolist() for column in columns), strict=True):
        segment = pair.segments[number]
        simulated += is_simulated(pair.workers[worker])
        wins = outcome if a == 0 else -outcome
        votes.setdefault(segment, [0, 0, 0])[2 if wins == 0 else 0 if wins > 0 else 1] += 1
    if not votes:
        raise RyptError(f"{first} and {second} were never compared with each other")
    counted = {segment: (given[0], given[1], given[2]) for segment, given in votes.items()}
    return Preferences(first, second, counted, simulated=simulated)
