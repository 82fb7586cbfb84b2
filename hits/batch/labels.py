"""Label batches: a source constituent and the phrases that candidates have for it (paper, section 4).

One item shows one source segment with one constituent highlighted, and up to ten phrases, each inside a candidate in
which it stands. Constituents come from the frontier (Algorithm 1), so no two of a segment overlap; only phrases
without a label are asked.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import zip_longest

import numpy as np

from hits.batch.alternatives import Alternative, Page, Place, ReferenceParts, by_place, has_words, pages_of
from hits.batch.controls import control_count
from hits.batch.label_controls import LabelControls, read_verified
from hits.batch.markup import extract, highlight, language_columns
from hits.batch.page import batch_template, fit, read_interface
from hits.batch.systems import short_name
from hits.payment import NO_FEES, Fees, price
from hits.records import MAX_ALTERNATIVES, Batch, BatchSettings, Item, Kind
from rypt.campaign.folder import Campaign
from rypt.campaign.queries import worthwhile
from rypt.options import check_option
from rypt.records import Label, Query, Segment, Span, Votes
from rypt.scoring.queries import Key, QueryLimits, queries
from rypt.text import RyptError, tokenize
from rypt.texts.alignment import Links

SELECTIONS = ("all", "value")


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """Options of a label batch.

    ``limit`` is the maximum number of items besides controls; those whose answers serve the most candidates are taken,
    or with ``select`` "value" the most valuable ones (`rypt.scoring.value`); ``labels`` is the maximum number of
    questions. Constituents without a letter or digit serve many candidates and teach little: they come last, and are
    not asked about without ``punctuation``. A label is repeated as a control when votes of at least the weight
    ``confident`` agree on it. With ``severity`` workers say how bad a NO is, with ``blank`` they may leave a label out.
    ``training`` is the number of controls to practise on.
    """

    max_len: int = 4
    alternatives: int = MAX_ALTERNATIVES
    reference: bool = True
    control_share: float = 0.1
    confident: float = 2
    limit: int | None = None
    labels: int | None = None
    select: str = "all"
    punctuation: bool = True
    severity: bool = False
    blank: bool = False
    training: int = 0
    limits: QueryLimits = field(default_factory=QueryLimits)

    def __post_init__(self) -> None:
        check_option("select", self.select, SELECTIONS)
        if not 1 <= self.alternatives <= MAX_ALTERNATIVES:
            raise RyptError(
                f"expected 1 to {MAX_ALTERNATIVES} alternatives an item, found {self.alternatives}"
            )
        for name, number in (("max_len", self.max_len), ("limit", self.limit), ("labels", self.labels)):
            if number is not None and number < 1:
                raise RyptError(f"expected {name} of at least 1, found {number}")


def make_label_batch(
    campaign: Campaign,
    settings: BatchSettings,
    options: LabelOptions | None = None,
    *,
    reference_links: Sequence[Links] | None = None,
    votes: Iterable[Votes] | None = None,
    verified: Mapping[Key, Label] | None = None,
    budget: Decimal | None = None,
    fees: Fees = NO_FEES,
) -> Batch:
    """Make a batch for the labels that a campaign lacks, with controls; random choices depend on the settings' seed.

    ``reference_links`` (see `hits.batch.alternatives.read_reference_links`) let the reference's part be highlighted.
    ``votes`` are the labels that count as given, by default all in the campaign's database; ``verified`` the parts of
    references that a person verified, by default those in the campaign's folder. With a ``budget`` in
    dollars, fees included, the batch is made smaller until it costs no more.
    """
    options = options or LabelOptions()
    with campaign.database() as db:
        given = {(v.segment, v.span, v.phrase): v for v in (db.votes() if votes is None else votes)}
        case = db.case
    frontier = queries(
        campaign.trees, campaign.candidates, max_len=options.max_len, limits=options.limits, case=case
    )
    open_ = [
        query
        for query in frontier
        if (query.segment, query.span, query.phrase) not in given
        and (options.punctuation or has_words(query))
    ]
    if not open_:
        raise RyptError(
            f"nothing to ask: every phrase of the frontier (max_len {options.max_len}) has a label"
        )
    if options.select == "value":
        asked = worthwhile(campaign, open_, votes=settings.assignments)
        if not asked:
            raise RyptError(
                "nothing to ask: no answer would change which candidates are best "
                "(--select all asks the rest)"
            )
    else:
        asked = open_ if budget is None and options.labels is None else _by_use(open_)
    references = ReferenceParts(campaign, reference_links)
    known = read_verified(campaign) if verified is None else verified

    def build(count: int) -> Batch:
        rng = np.random.default_rng(settings.seed)
        pages = pages_of(by_place(asked[:count]), options.alternatives, options.limit)
        controls = LabelControls(
            frontier,
            campaign.candidates,
            given,
            references,
            confident=options.confident,
            case=case,
            rng=rng,
            verified=known,
        )
        wanted = control_count(sum(len(page) for _, page in pages), options.control_share)
        notes = controls.add(pages, wanted, options.alternatives)
        shown = references if options.reference else None
        return _batch(
            campaign, settings, pages, shown, notes, rng, severity=options.severity, blank=options.blank
        )

    batch = _affordable(build, min(len(asked), options.labels or len(asked)), budget, fees)
    if not options.training:
        return batch
    pages = pages_of(by_place(frontier), 1)
    rng = np.random.default_rng([settings.seed, 1])
    controls = LabelControls(
        frontier,
        campaign.candidates,
        given,
        references,
        confident=options.confident,
        case=case,
        rng=rng,
        verified=known,
    )
    controls.add(pages, 20 * options.training, options.alternatives)
    return with_training(batch, campaign, pages, options.training, references if options.reference else None)


def with_training(
    batch: Batch, campaign: Campaign, pages: Sequence[Page], count: int, references: ReferenceParts | None
) -> Batch:
    """The batch with controls to practise on: YES and NO in turn, none that the batch itself has."""
    used = {
        (item.columns["segment"], item.columns[f"phrase_{n}"])
        for item in batch.items
        for n in range(1, item.size + 1)
        if item.columns[f"control_{n}"]
    }
    known = [
        (place, a) for place, page in pages for a in page if a.expected and (place[0], a.phrase) not in used
    ]
    kinds = [[each for each in known if each[1].expected is label] for label in (Label.YES, Label.NO)]
    in_turn = [each for pair in zip_longest(*kinds) for each in pair if each is not None]
    mixed = _of_many_segments(in_turn, count)
    if len(mixed) < count:
        note = f"only {len(mixed)} of {count} controls to practise on could be made"
        batch = replace(batch, notes=(*batch.notes, note))
    slots = len([name for name in batch.items[0].columns if name.startswith("phrase_")])
    segments = {segment.id: segment for segment in campaign.segments}
    shown = references if references and references.texts else None
    items = [
        _item(segments[place[0]], place[1], number, [a], slots, batch.settings, shown)
        for number, (place, a) in enumerate(mixed, start=1)
    ]
    return replace(batch, training=tuple(replace(item, id=item.columns["item"]) for item in items))


def _of_many_segments(
    controls: Sequence[tuple[Place, Alternative]], count: int
) -> list[tuple[Place, Alternative]]:
    """The first controls of as many segments, YES and NO in turn, filled up with others of the same segments."""
    labels = [Label.YES, Label.NO]
    chosen: list[tuple[Place, Alternative]] = []
    for each in controls:
        seen = {place[0] for place, _ in chosen}
        if len(chosen) < count and each[0][0] not in seen and each[1].expected is labels[len(chosen) % 2]:
            chosen.append(each)
    return [*chosen, *(each for each in controls if each not in chosen)][:count]


def _by_use(asked: Sequence[Query]) -> list[Query]:
    """Queries that serve the most candidates first; those about punctuation last."""
    return sorted(asked, key=lambda query: (not has_words(query), -query.candidates))


def _affordable(build: Callable[[int], Batch], count: int, budget: Decimal | None, fees: Fees) -> Batch:
    """The batch with the most questions that costs no more than the budget, or nearly the most."""
    batch = build(count)
    while budget is not None and (cost := price(batch, fees=fees).total) > budget:
        if count == 1:
            raise RyptError(f"the smallest batch costs ${cost}, more than the budget of ${budget}")
        count = max(1, min(count - 1, int(count * Decimal("0.99") * budget / cost)))
        batch = build(count)
    return batch


def _batch(
    campaign: Campaign,
    settings: BatchSettings,
    pages: Sequence[Page],
    references: ReferenceParts | None,
    notes: Iterable[str],
    rng: np.random.Generator,
    *,
    severity: bool,
    blank: bool,
) -> Batch:
    """Pages as items, in a random order, each with its alternatives in a random order."""
    slots = max(len(page) for _, page in pages)
    shown = references if references and references.texts else None
    segments = {segment.id: segment for segment in campaign.segments}
    items = []
    parts: dict[Place, int] = {}
    for at in rng.permutation(len(pages)):
        place, page = pages[at]
        parts[place] = parts.get(place, 0) + 1
        mixed = [page[i] for i in rng.permutation(len(page))]
        items.append(_item(segments[place[0]], place[1], parts[place], mixed, slots, settings, shown))
    languages = settings.source_language, settings.target_language
    interface = read_interface(settings.interface, Kind.LABEL, *languages, severity=severity)
    template = batch_template(Kind.LABEL, interface, slots=slots, reference=shown is not None, blank=blank)
    return fit(Batch(settings, tuple(items), template, notes=tuple(notes)))


def _item(
    segment: Segment,
    span: Span,
    part: int,
    page: Sequence[Alternative],
    slots: int,
    settings: BatchSettings,
    references: ReferenceParts | None,
) -> Item:
    """One row: what programs read first, then what the page shows."""
    name = f"{short_name(segment.id)}-{span.start}-{span.stop}-{part}"
    columns = {
        "item": name,
        "segment": segment.id,
        "start": str(span.start),
        "stop": str(span.stop),
        "size": str(len(page)),
        **language_columns(segment.language or settings.source_language, settings.target_language),
        "source": highlight(
            segment.tokens, range(*span), language=segment.language or settings.source_language
        ),
    }
    if references:
        words = tokenize(references.texts[segment.id])
        positions = set(references.positions(segment.id, span))
        columns["reference"] = highlight(words, positions, "reference", settings.target_language)
        columns["hidden_reference"] = "" if words else "hidden"
    for n in range(1, slots + 1):
        columns |= _slot(n, page[n - 1] if n <= len(page) else None, settings.target_language)
    return Item(name, columns)


def _slot(n: int, alternative: Alternative | None, language: str) -> dict[str, str]:
    """The columns of one alternative; a slot that is not used is hidden, and its form fields are switched off."""
    a = alternative
    tokens = tokenize(a.candidate) if a else []
    return {
        f"phrase_{n}": a.phrase if a else "",
        f"control_{n}": str(a.expected) if a and a.expected else "",
        f"control_kind_{n}": str(a.kind) if a and a.kind else "",
        f"hidden_{n}": "" if a else "hidden disabled",
        f"highlight_{n}": extract(tokens, a.positions, language) if a else "",
        f"text_{n}": highlight(tokens, set(a.positions), language=language) if a else "",
    }
