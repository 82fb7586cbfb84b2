"""Two metrics' picks beside each other: where they differ."""

from collections.abc import Mapping
from dataclasses import dataclass

from hits.batch.make import first_references
from hits.batch.systems import same_text
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
