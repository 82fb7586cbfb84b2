"""Label batches: a source constituent and the phrases that candidates have for it (paper, section 4).

One item shows one source segment with one constituent highlighted, and up to ten phrases, each inside a candidate that
has it. Constituents come from the frontier (Algorithm 1), so no two of a segment overlap; only phrases without a label
are asked about.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from hits.batch.controls import (
    Alternative,
    LabelControls,
    Page,
    Place,
    ReferenceParts,
    by_place,
    control_count,
    read_reference_links,
    read_verified,
)
from hits.batch.markup import extract, highlight, language_columns
from hits.batch.options import BatchOptions
from hits.batch.page import batch_template, read_interface, without_long_pages
from hits.batch.systems import short_name
from hits.payment import fees_of, price
from hits.records import Batch, BatchSettings, Item, Kind
from rypt.campaign.folder import Campaign
from rypt.campaign.queries import worthwhile
from rypt.records import Label, Query
from rypt.scoring.queries import queries
from rypt.text import RyptError, tokenize


def make_label_batch(campaign: Campaign, settings: BatchSettings, options: BatchOptions) -> Batch:
    """Make a batch for the labels that a campaign lacks, with controls; the settings' seed decides what is random.

    Without ``limit`` and ``budget`` every phrase of the frontier is asked about that has no label. Otherwise those that
    serve the most candidates are taken, punctuation last, or the most valuable ones.
    """
    options = options.with_defaults(campaign)
    with campaign.database() as db:
        votes = {(v.segment, v.span, v.phrase): v for v in db.votes()}
        case = db.case
    frontier = queries(campaign.trees, campaign.candidates, max_len=campaign.scoring.max_len, case=case)
    unlabelled = [query for query in frontier if (query.segment, query.span, query.phrase) not in votes]
    asked = _most_useful(campaign, unlabelled, settings, options)
    links = options.reference_alignment and read_reference_links(options.reference_alignment, campaign)
    references = ReferenceParts(campaign, links or None)
    controls = LabelControls(frontier, campaign.candidates, votes, references, read_verified(campaign), case)
    layout = LabelPage(campaign, settings, options, references)

    def build(count: int) -> Batch:
        rng = np.random.default_rng(settings.seed)
        pages = pages_of(asked[:count], layout.room)
        wanted = control_count(sum(len(page) for _, page in pages), options.controls)
        notes = controls.add(pages, wanted, layout.room, rng)
        return layout.batch(pages, notes, rng)

    batch = _affordable(build, min(len(asked), options.limit or len(asked)), options)
    if not options.training:
        return batch
    rng = np.random.default_rng([settings.seed, 1])
    pages = pages_of([frontier[i] for i in rng.permutation(len(frontier))[: 20 * options.training]], 1)
    controls.add(pages, 20 * options.training, layout.room, rng)
    training = _training(batch, pages, options.training)
    if len(training) < options.training:
        note = f"only {len(training)} of {options.training} controls to practise on could be made"
        batch = replace(batch, notes=(*batch.notes, note))
    slots = max(item.size for item in batch.items)
    items = [layout.item(place, number, [a], slots) for number, (place, a) in enumerate(training, start=1)]
    return replace(batch, training=tuple(items))


def _most_useful(
    campaign: Campaign, unlabelled: Sequence[Query], settings: BatchSettings, options: BatchOptions
) -> Sequence[Query]:
    """The questions without a label; where not all are asked, the most useful first."""
    if not unlabelled:
        raise RyptError(
            f"nothing to ask: every phrase of the frontier (max_len {campaign.scoring.max_len}) has a label"
        )
    if options.select == "value":
        valuable = worthwhile(campaign, unlabelled, votes=settings.assignments)
        if not valuable:
            message = "nothing to ask: no answer would change which candidates are best (--select all asks the rest)"
            raise RyptError(message)
        return valuable
    if options.budget is None and options.limit is None:
        return unlabelled
    return sorted(unlabelled, key=lambda query: (not _has_words(query), -query.candidates))


def _has_words(query: Query) -> bool:
    """Whether the constituent has a letter or digit; punctuation alone is hardly worth a question."""
    return any(map(str.isalnum, query.source_phrase))


def pages_of(asked: Sequence[Query], room: int) -> list[Page]:
    """The questions as pages of one constituent each, of even sizes and at most ``room`` alternatives."""
    pages: list[Page] = []
    for place, group in by_place(asked).items():
        count = -(-len(group) // room)
        size = -(-len(group) // count)
        alternatives = [Alternative(query.phrase, query.example, query.positions) for query in group]
        pages += [(place, alternatives[at : at + size]) for at in range(0, len(group), size)]
    return pages


def _affordable(build: Callable[[int], Batch], count: int, options: BatchOptions) -> Batch:
    """The batch with the most questions that costs no more than the budget, or nearly the most."""
    batch, fees = build(count), fees_of(options.market or "local")
    if options.budget is None:
        return batch
    budget = Decimal(options.budget)
    while (cost := price(batch, fees=fees).total) > budget:
        if count == 1:
            raise RyptError(f"the smallest batch costs ${cost}, more than the budget of ${budget}")
        count = max(1, min(count - 1, int(count * Decimal("0.99") * budget / cost)))
        batch = build(count)
    return batch


def _training(batch: Batch, pages: Sequence[Page], count: int) -> list[tuple[Place, Alternative]]:
    """Controls that the batch does not have: YES and NO in turn, each of another segment if possible."""
    used = {
        (item.columns["segment"], item.columns[f"phrase_{n}"])
        for item in batch.items
        for n in range(1, item.size + 1)
        if item.columns[f"control_{n}"]
    }
    left = [
        (place, a) for place, page in pages for a in page if a.expected and (place[0], a.phrase) not in used
    ]
    chosen: list[tuple[Place, Alternative]] = []
    while left and len(chosen) < count:
        label = (Label.YES, Label.NO)[len(chosen) % 2]
        segments = {place[0] for place, _ in chosen}
        best = max(left, key=lambda control: (control[1].expected is label, control[0][0] not in segments))
        left.remove(best)
        chosen.append(best)
    return chosen


class LabelPage:
    """The page of a label batch and the rows of its items."""

    def __init__(
        self, campaign: Campaign, settings: BatchSettings, options: BatchOptions, references: ReferenceParts
    ) -> None:
        self.segments = {segment.id: segment for segment in campaign.segments}
        self.settings, self.options, self.room = settings, options, options.alternatives
        self.references = references if options.reference and references.texts else None

    def batch(self, pages: Sequence[Page], notes: Sequence[str], rng: np.random.Generator) -> Batch:
        """Pages as items, in a random order, each with its alternatives in a random order."""
        settings = self.settings
        slots = max(len(page) for _, page in pages)
        items = []
        parts: dict[Place, int] = {}
        for at in rng.permutation(len(pages)):
            place, page = pages[at]
            parts[place] = parts.get(place, 0) + 1
            items.append(self.item(place, parts[place], [page[i] for i in rng.permutation(len(page))], slots))
        languages = settings.source_language, settings.target_language
        severity = bool(self.options.severity)
        interface = read_interface(settings.interface, Kind.LABEL, *languages, severity=severity)
        reference, blank = self.references is not None, self.options.blank
        template = batch_template(Kind.LABEL, interface, slots=slots, reference=reference, blank=blank)
        return without_long_pages(Batch(settings, tuple(items), template, notes=tuple(notes)))

    def item(self, place: Place, part: int, page: Sequence[Alternative], slots: int) -> Item:
        """One row: what programs read first, then what the page shows."""
        segment, span = self.segments[place[0]], place[1]
        source_language = segment.language or self.settings.source_language
        target_language = self.settings.target_language
        name = f"{short_name(segment.id)}-{span.start}-{span.stop}-{part}"
        columns = {
            "item": name,
            "segment": segment.id,
            "start": str(span.start),
            "stop": str(span.stop),
            "size": str(len(page)),
            **language_columns(source_language, target_language),
            "source": highlight(segment.tokens, range(*span), language=source_language),
        }
        if self.references:
            words = tokenize(self.references.texts[segment.id])
            positions = set(self.references.positions(segment.id, span))
            columns["reference"] = highlight(words, positions, "reference", target_language)
            columns["hidden_reference"] = "" if words else "hidden"
        for n in range(1, slots + 1):
            columns |= _slot(n, page[n - 1] if n <= len(page) else None, target_language)
        return Item(name, columns)


def _slot(n: int, a: Alternative | None, language: str) -> Mapping[str, str]:
    """The columns of one alternative; an unused slot is hidden, and its form fields are switched off."""
    tokens = tokenize(a.candidate) if a else []
    return {
        f"phrase_{n}": a.phrase if a else "",
        f"control_{n}": str(a.expected) if a and a.expected else "",
        f"control_kind_{n}": str(a.kind) if a and a.kind else "",
        f"hidden_{n}": "" if a else "hidden disabled",
        f"highlight_{n}": extract(tokens, a.positions, language) if a else "",
        f"text_{n}": highlight(tokens, set(a.positions), language=language) if a else "",
    }
