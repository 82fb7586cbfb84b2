"""Two metrics' picks beside each other: where they differ, and the batch that asks people which is better."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hits.batch.make import BatchOptions, first_references
from hits.batch.systems import make_comparison_batch, same_text
from hits.records import Batch, BatchSettings, Kind
from rypt.campaign.folder import Campaign
from rypt.records import Candidate
from rypt.scoring.percolation import NO
from rypt.scoring.phrase_keys import candidate_links
from rypt.scoring.scorer import Pick, Scorer
from rypt.texts.phrases import phrase_of

Picks = Mapping[str, Pick]  # segment → pick


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A segment for which two metrics pick different texts."""

    segment: str
    source: str
    reference: str
    first: Pick
    second: Pick


def texts_of(picks: Picks) -> dict[str, str]:
    """The picked texts."""
    return {segment: pick.candidate.text for segment, pick in picks.items()}


def disagreements(campaign: Campaign, first: Picks, second: Picks) -> list[Disagreement]:
    """The segments where two metrics pick different texts, in the order of the source."""
    references = first_references(campaign) or {}
    different = []
    for segment in campaign.segments:
        if segment.id not in first or segment.id not in second:
            continue
        a, b = first[segment.id], second[segment.id]
        if not same_text(a.candidate.text, b.candidate.text):
            different.append(Disagreement(segment.id, segment.text, references.get(segment.id, ""), a, b))
    return different


def rejected_words(candidate: Candidate, scorer: Scorer) -> set[int]:
    """The positions of the words that people rejected: those of the smallest phrases labelled NO.

    Whatever has a wrong word in it is wrong, too; that says nothing of its other words.
    """
    tree = scorer.forest.trees[scorer.forest.index[candidate.segment]]
    if tree is None:
        return set()
    states = scorer.observe([candidate]).labels(scorer.model.ties)
    links = candidate_links(candidate, tree)
    spans = [c.span for c, state in zip(tree.constituents, states.tolist(), strict=True) if state == NO]
    wrong: set[int] = set()
    for span in spans:
        if not any(
            span.start <= other.start and other.stop <= span.stop and other != span for other in spans
        ):
            phrase = phrase_of(span, links, candidate.tokens)
            wrong |= set(phrase.positions) if phrase else set()
    return wrong


@dataclass(frozen=True, slots=True)
class PickQuestions:
    """Which of two metrics' picks is better, two metrics by two; a metric is a system in the answers."""

    kind: ClassVar[Kind] = Kind.COMPARISON
    picks: Mapping[str, Picks]
    judged_only: tuple[str, ...] = ()

    def record(self, campaign: Campaign) -> Mapping[str, object]:
        """The metrics, and the systems that were not picked from."""
        return {"metrics": list(self.picks), "judged_only": list(self.judged_only) or None}

    def make(self, campaign: Campaign, settings: BatchSettings, options: BatchOptions) -> Batch:
        """The batch of comparisons."""
        return make_comparison_batch(
            campaign.segments,
            {name: texts_of(picks) for name, picks in self.picks.items()},
            settings,
            references=first_references(campaign) if options.reference else None,
            control_share=options.controls,
            limit=options.limit,
        )
