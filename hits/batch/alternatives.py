"""The content of label items: the phrases of one constituent, grouped into pages, and the reference's part."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hits.batch.controls import clean_part, reference_positions
from hits.records import ControlKind
from rypt.campaign.folder import Campaign
from rypt.records import Label, Query, Span
from rypt.text import FormatError, InputError, PathLike, read_lines, tokenize
from rypt.texts.alignment import Links, check_links, parse_links

Place = tuple[str, Span]  # a constituent: segment and span


@dataclass(frozen=True, slots=True)
class Alternative:
    """One phrase to be judged inside a candidate; a control has the label that is expected."""

    phrase: str
    candidate: str
    positions: tuple[int, ...]
    expected: Label | None = None
    kind: ControlKind | None = None

    @property
    def whole(self) -> bool:
        """Whether the phrase stands in one piece."""
        return self.positions[-1] - self.positions[0] + 1 == len(self.positions)


Page = tuple[Place, list[Alternative]]


class ReferenceParts:
    """The first reference of each segment, and which of its tokens belong to a constituent."""

    def __init__(self, campaign: Campaign, links: Sequence[Links] | None = None) -> None:
        names = [segment.id for segment in campaign.segments]
        texts = campaign.references[0] if campaign.references else []
        self.texts = dict(zip(names, texts, strict=False))
        self.links = dict(zip(names, links, strict=True)) if links is not None and texts else {}
        self.sizes = {segment.id: len(segment.tokens) for segment in campaign.segments}

    def positions(self, segment: str, span: Span) -> list[int]:
        """The tokens aligned with a constituent; none when there are no links."""
        return reference_positions(span, self.links.get(segment, ()), self.sizes[segment])

    def clean(self, segment: str, span: Span) -> list[int]:
        """The same tokens, if the alignment can be trusted."""
        return clean_part(span, self.links.get(segment, ()), self.sizes[segment])


def read_reference_links(path: PathLike, campaign: Campaign) -> list[Links]:
    """Pharaoh links between source and first reference, one line per segment."""
    if not campaign.references:
        raise InputError(path, None, "expected a campaign with a reference to go with these links")
    lines = list(read_lines(path))
    if len(lines) != len(campaign.segments):
        message = f"expected {len(campaign.segments)} lines, one per segment, found {len(lines)}"
        raise InputError(path, len(lines), message)
    all_links = []
    for (number, line), segment, text in zip(lines, campaign.segments, campaign.references[0], strict=True):
        try:
            links = parse_links(line)
            check_links(links, len(segment.tokens), len(tokenize(text)))
        except FormatError as error:
            raise InputError(path, number, str(error).replace("candidate", "reference")) from None
        all_links.append(links)
    return all_links


def by_place(queries: Iterable[Query]) -> dict[Place, list[Query]]:
    """Queries by constituent, ordered by value or, without values, by the number of candidates they serve."""
    places: dict[Place, list[Query]] = {}
    for query in queries:
        places.setdefault((query.segment, query.span), []).append(query)
    for group in places.values():
        group.sort(key=lambda query: (-(query.value or 0.0), -query.candidates, query.phrase))
    return places


def has_words(query: Query) -> bool:
    """Whether the constituent has a letter or digit; punctuation alone is not worth a question."""
    return any(map(str.isalnum, query.source_phrase))


def pages_of(asked: Mapping[Place, list[Query]], alternatives: int, limit: int | None = None) -> list[Page]:
    """Pages of even sizes with a maximum number of alternatives; with a limit, the most valuable ones.

    Without values, those that serve the most candidates are taken first; punctuation comes last.
    """
    pages: list[tuple[Place, list[Query]]] = []
    for place, group in asked.items():
        count = -(-len(group) // alternatives)
        size = -(-len(group) // count)
        pages += [(place, group[at : at + size]) for at in range(0, len(group), size)]
    if limit is not None and len(pages) > limit:
        pages.sort(
            key=lambda page: (
                -_worth(page[1]),
                not has_words(page[1][0]),
                -sum(q.candidates for q in page[1]),
            )
        )
        del pages[limit:]
    return [(place, [Alternative(q.phrase, q.example, q.positions) for q in page]) for place, page in pages]


def _worth(page: Sequence[Query]) -> float:
    """The mean value of a page's answers; 0 if no values are known."""
    return sum(query.value or 0.0 for query in page) / len(page)
