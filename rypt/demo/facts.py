"""The results of a demo, as its report shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from rypt.demo.texts import Plan
from rypt.loop.report import Row


@dataclass(frozen=True, slots=True)
class Accepted:
    """True acceptability by the corpus's grammar: the mean share of constituents, and the share of whole segments."""

    constituents: float
    segments: float


@dataclass(frozen=True, slots=True)
class Shown:
    """The explained tree of one candidate, in words and as a picture."""

    segment: str
    outline: str
    picture: str


@dataclass(frozen=True, slots=True)
class Facts:
    """All numbers of a demo; ``simulated`` is True if the workers were simulated.

    ``rows`` are the loop's iterations, ``best`` the one whose weights are
    the result, ``labels`` those that count in the end. ``workers`` labelled phrases, ``judges``
    compared outputs: what ``rypt hits workers`` says of them. ``ranking`` and ``preferences`` are what ``rypt rank``
    says (None where outputs are all the same), ``bleu`` what ``rypt tune`` says. ``served`` are the labels that
    serve the most candidates (constituent, phrase, label, candidates), ``weights`` each weight before and after, and
    in between, before the person's labels, where simulated workers began. ``yours`` and ``pairs`` are how many phrases
    and pairs of outputs the person judged.
    """

    simulated: bool
    folder: str
    plan: Plan
    rows: Sequence[Row]
    best: int
    stopped: str
    labels: int
    spent: Decimal
    bleu: Mapping[str, Any]
    accepted: Mapping[str, Accepted]
    ranking: Mapping[str, Any] | None
    preferences: Mapping[str, Any] | None
    workers: Sequence[Mapping[str, Any]]
    judges: Sequence[Mapping[str, Any]]
    tree: Shown
    sizes: Mapping[str, int]
    served: Sequence[tuple[str, str, str, int]] = ()
    weights: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    yours: int = 0
    pairs: int = 0

    @property
    def excluded(self) -> list[str]:
        """The workers whose labels do not count."""
        return [row["worker"] for row in self.workers if row["excluded"]]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; money as text."""
        return {
            "simulated": self.simulated,
            "folder": self.folder,
            "plan": asdict(self.plan),
            "stopped": self.stopped,
            "labels": self.labels,
            "spent": str(self.spent),
            "best": self.best,
            "excluded": self.excluded,
            "iterations": [row.as_dict() for row in self.rows],
            "accepted": {name: asdict(share) for name, share in self.accepted.items()},
            "preferences": self.preferences,
            "ranking": self.ranking,
            "yours": self.yours,
            "pairs": self.pairs,
        }
