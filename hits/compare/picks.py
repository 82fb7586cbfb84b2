"""Two metrics' picks beside each other: where they differ, and the batch that asks people which is better."""

from collections.abc import Mapping
from dataclasses import dataclass

from hits.batches.comparisons import make_comparison_batch
from hits.batches.outputs import same_text
from hits.records import Batch, BatchSettings
from rypt.campaign.folder import Campaign
from rypt.metric.observations import label_states
from rypt.metric.percolation import NO
from rypt.metric.queries import candidate_links
from rypt.metric.scorer import Scorer
from rypt.picks.choose import Pick
from rypt.records import Candidate
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
    references = dict(
        zip([s.id for s in campaign.segments], campaign.references[0] if campaign.references else (), strict=False)
    )
    found = []
    for segment in campaign.segments:
        if segment.id not in first or segment.id not in second:
            continue
        a, b = first[segment.id], second[segment.id]
        if not same_text(a.candidate.text, b.candidate.text):
            found.append(Disagreement(segment.id, segment.text, references.get(segment.id, ""), a, b))
    return found


def rejected_words(candidate: Candidate, scorer: Scorer) -> set[int]:
    """The positions of the words that people rejected: those of the smallest phrases labelled NO.

    Whatever has a wrong word in it is wrong, too; that says nothing of its other words.
    """
    tree = scorer.forest.trees[scorer.forest.index[candidate.segment]]
    if tree is None:
        return set()
    states = label_states(scorer.model.ties)[scorer.observe([candidate]).codes]
    links = candidate_links(candidate, tree)
    spans = [c.span for c, state in zip(tree.constituents, states.tolist(), strict=True) if state == NO]
    wrong: set[int] = set()
    for span in spans:
        if not any(span.start <= other.start and other.stop <= span.stop and other != span for other in spans):
            phrase = phrase_of(span, links, candidate.tokens)
            wrong |= set(phrase.positions) if phrase else set()
    return wrong


def comparison_batch(
    campaign: Campaign, picks: Mapping[str, Picks], settings: BatchSettings, *, reference: bool = True,
    control_share: float = 0.1, limit: int | None = None,
) -> Batch:  # fmt: skip
    """Ask people about the picks of metrics, two by two; a metric is a system in the answers."""
    references = None
    if reference and campaign.references:
        references = {s.id: text for s, text in zip(campaign.segments, campaign.references[0], strict=True)}
    return make_comparison_batch(
        campaign.segments, {name: texts_of(own) for name, own in picks.items()}, settings, references=references,
        control_share=control_share, limit=limit,
    )  # fmt: skip
