"""Label batches: a source constituent and the phrases that candidates have for it (paper, section 4).

One item shows one source segment with one constituent highlighted, and up to ten phrases, each inside a candidate in
which it stands. Constituents come from the frontier (Algorithm 1), so no two of a segment overlap; only phrases
without a label are asked.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import zip_longest

import numpy as np

from hits.batch.alternatives import (
    Alternative,
    Page,
    Place,
    ReferenceParts,
    by_place,
    has_words,
    pages_of,
    read_reference_links,
)
from hits.batch.controls import control_count
from hits.batch.label_controls import LabelControls, read_verified
from hits.batch.markup import extract, highlight, language_columns
from hits.batch.options import BatchOptions
from hits.batch.page import batch_template, read_interface, without_long_pages
from hits.batch.systems import short_name
from hits.payment import fees_of, price
from hits.records import MAX_ALTERNATIVES, Batch, BatchSettings, Item, Kind
from rypt.campaign.folder import Campaign
from rypt.campaign.queries import worthwhile
from rypt.records import Label, Query, Votes
from rypt.scoring.queries import Key, queries
from rypt.text import RyptError, tokenize


def make_label_batch(campaign: Campaign, settings: BatchSettings, options: BatchOptions) -> Batch:
    """Make a batch for the labels that a campaign lacks, with controls; the settings' seed decides what is random.

    Without ``limit``, ``labels`` and ``budget`` every phrase of the frontier is asked that has no label. Otherwise
    those that serve the most candidates are taken, punctuation last, or the most valuable ones.
    """
    options = options.with_defaults(campaign)
    with campaign.database() as db:
        votes = {(v.segment, v.span, v.phrase): v for v in db.votes()}
        case = db.case
    max_len = options.max_len or campaign.scoring.max_len
    frontier = queries(campaign.trees, campaign.candidates, max_len=max_len, case=case)
    asked = _unlabelled(campaign, frontier, votes, settings, options)
    links = options.reference_alignment and read_reference_links(options.reference_alignment, campaign)
    references = ReferenceParts(campaign, links or None)
    controls = LabelControls(frontier, campaign.candidates, votes, references, read_verified(campaign), case)
    page = LabelPage(campaign, settings, options, references if options.reference else None)

    def build(count: int) -> Batch:
        rng = np.random.default_rng(settings.seed)
        pages = pages_of(by_place(asked[:count]), page.slots, options.limit)
        wanted = control_count(sum(len(alternatives) for _, alternatives in pages), options.controls)
        notes = controls.add(pages, wanted, page.slots, rng)
        return page.batch(pages, notes, rng)

    batch = _affordable(build, min(len(asked), options.labels or len(asked)), options)
    if not options.training:
        return batch
    pages = pages_of(by_place(frontier), 1)
    controls.add(pages, 20 * options.training, page.slots, np.random.default_rng([settings.seed, 1]))
    training = _training(batch, pages, options.training)
    if len(training) < options.training:
        note = f"only {len(training)} of {options.training} controls to practise on could be made"
        batch = replace(batch, notes=(*batch.notes, note))
    slots = max(item.size for item in batch.items)
    items = [page.item(place, number, [a], slots) for number, (place, a) in enumerate(training, start=1)]
    return replace(batch, training=tuple(items))


def _unlabelled(
    campaign: Campaign,
    frontier: Sequence[Query],
    votes: Mapping[Key, Votes],
    settings: BatchSettings,
    options: BatchOptions,
) -> Sequence[Query]:
    """The questions of the frontier without a label; where not all are asked, the most useful first."""
    unlabelled = [
        query
        for query in frontier
        if (query.segment, query.span, query.phrase) not in votes
        and (options.punctuation or has_words(query))
    ]
    if not unlabelled:
        message = f"nothing to ask: every phrase of the frontier (max_len {options.max_len}) has a label"
        raise RyptError(message)
    if options.select == "value":
        valuable = worthwhile(campaign, unlabelled, votes=settings.assignments)
        if not valuable:
            message = "nothing to ask: no answer would change which candidates are best (--select all asks the rest)"
            raise RyptError(message)
        return valuable
    if options.budget is None and options.labels is None:
        return unlabelled
    return sorted(unlabelled, key=lambda query: (not has_words(query), -query.candidates))


def _affordable(build: Callable[[int], Batch], count: int, options: BatchOptions) -> Batch:
    """The batch with the most questions that costs no more than the budget, or nearly the most."""
    batch, fees = build(count), fees_of(options.market)
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
    """Controls that the batch does not have: YES and NO in turn, of as many segments as there are."""
    used = {
        (item.columns["segment"], item.columns[f"phrase_{n}"])
        for item in batch.items
        for n in range(1, item.size + 1)
        if item.columns[f"control_{n}"]
    }
    controls = [
        (place, a) for place, page in pages for a in page if a.expected and (place[0], a.phrase) not in used
    ]
    labels = [Label.YES, Label.NO]
    by_label = [[control for control in controls if control[1].expected is label] for label in labels]
    in_turn = [control for pair in zip_longest(*by_label) for control in pair if control is not None]
    chosen: list[tuple[Place, Alternative]] = []
    segments: set[str] = set()
    for place, control in in_turn:
        wanted = labels[len(chosen) % 2]
        if len(chosen) < count and place[0] not in segments and control.expected is wanted:
            chosen.append((place, control))
            segments.add(place[0])
    return [*chosen, *(control for control in in_turn if control not in chosen)][:count]


class LabelPage:
    """The page of a label batch and the rows of its items."""

    def __init__(
        self,
        campaign: Campaign,
        settings: BatchSettings,
        options: BatchOptions,
        references: ReferenceParts | None,
    ) -> None:
        self.segments = {segment.id: segment for segment in campaign.segments}
        self.settings, self.options = settings, options
        self.references = references if references and references.texts else None
        self.slots = options.alternatives or MAX_ALTERNATIVES

    def batch(self, pages: Sequence[Page], notes: Iterable[str], rng: np.random.Generator) -> Batch:
        """Pages as items, in a random order, each with its alternatives in a random order."""
        settings = self.settings
        slots = max(len(page) for _, page in pages)
        items = []
        parts: dict[Place, int] = {}
        for at in rng.permutation(len(pages)):
            place, page = pages[at]
            parts[place] = parts.get(place, 0) + 1
            mixed = [page[i] for i in rng.permutation(len(page))]
            items.append(self.item(place, parts[place], mixed, slots))
        interface = read_interface(
            settings.interface,
            Kind.LABEL,
            settings.source_language,
            settings.target_language,
            severity=bool(self.options.severity),
        )
        template = batch_template(
            Kind.LABEL,
            interface,
            slots=slots,
            reference=self.references is not None,
            blank=self.options.blank,
        )
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
