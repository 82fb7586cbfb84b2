"""The cards on a worker's first page: one for each batch, whatever its hits pay."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from hits.server.store.open_hits import NamedRequirement, OpenGroup


@dataclass(frozen=True, slots=True)
class Card:
    """Hits of one batch, or of one title, that a worker may take: how many are left, what they pay, how long they take.

    ``seconds`` is how long people took for one on average, None as long as nobody sent one.
    """

    first: OpenGroup
    count: int
    least: Decimal
    most: Decimal
    duration: int
    needs: tuple[NamedRequirement, ...]
    seconds: float | None = None


def numbered(titles: Sequence[str]) -> list[str]:
    """Titles that tell cards apart: equal ones get a number.

    >>> numbered(["Judge", "Rank", "Judge"])
    ['Judge (1)', 'Rank', 'Judge (2)']
    """
    return [
        f"{title} ({titles[: at + 1].count(title)})" if titles.count(title) > 1 else title
        for at, title in enumerate(titles)
    ]


def cards(groups: Iterable[OpenGroup], seconds: Mapping[str, float]) -> list[Card]:
    """One card for each batch; hits of other programs are put together by title, description and needs."""
    parts: dict[object, list[OpenGroup]] = {}
    for group in groups:
        key = group.batch or (group.title, group.description, group.needs)
        parts.setdefault(key, []).append(group)
    return [
        Card(
            part[0],
            sum(group.count for group in part),
            min(group.reward for group in part),
            max(group.reward for group in part),
            min(group.duration for group in part),
            tuple(dict.fromkeys(need for group in part for need in group.needs)),
            seconds.get(part[0].batch),
        )
        for part in parts.values()
    ]
