"""Algorithm 1 of the paper: the constituents to ask about."""

from rypt.text import RyptError
from rypt.texts.trees import SourceTree


def frontier(tree: SourceTree, max_len: int = 4) -> tuple[int, ...]:
    """Indices of constituents that cover every word once, each at most ``max_len`` words long.

    Starting from the root, a constituent that is too long is replaced by its children
    (Zaidan & Callison-Burch 2009, Algorithm 1).

    >>> tree = SourceTree.from_brackets("(S (NP (ART der) (NN patient)) (VAFIN wurde) (VVPP isoliert))")
    >>> [str(tree.constituents[i].span) for i in frontier(tree, max_len=2)]
    ['0-2', '2-3', '3-4']
    """
    if max_len < 1:
        raise RyptError(f"max_len must be at least 1, got {max_len}")
    frontier_set: list[int] = []
    current = [0] if tree.constituents else []
    while current:
        new: list[int] = []
        for index in current:
            if len(tree.constituents[index].span) <= max_len:
                frontier_set.append(index)
            else:
                new.extend(tree.children[index])
        current = new
    return tuple(sorted(frontier_set))
