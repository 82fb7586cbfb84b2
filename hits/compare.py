"""Two metrics' picks beside each other: where they differ, and the batch that asks people which is better."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hits.comparisons import make_comparison_batch
from hits.outputs import same_text
from hits.records import Batch, BatchSettings
from rypt.campaign import Campaign
from rypt.observations import label_states
from rypt.percolation import NO
from rypt.phrases import phrase_of
from rypt.picks.choose import Pick
from rypt.queries import candidate_links
from rypt.records import Candidate
from rypt.scorer import Scorer

Picks = Mapping[str, Pick]  # segment → pick
Paint = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A segment for which two metrics pick different texts."""

    segment: str
    source: str
    reference: str
    first: Candidate
    second: Candidate


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
        a, b = first[segment.id].candidate, second[segment.id].candidate
        if not same_text(a.text, b.text):
            found.append(Disagreement(segment.id, segment.text, references.get(segment.id, ""), a, b))
    return found


def marked(candidate: Candidate, scorer: Scorer, paint: Paint = lambda word: f"[{word}]") -> str:
    """A candidate with the words marked that people rejected: those of the phrases labelled NO."""
    tree = scorer.forest.trees[scorer.forest.index[candidate.segment]]
    if tree is None:
        return candidate.text
    states = label_states(scorer.model.ties)[scorer.observe([candidate]).codes]
    links = candidate_links(candidate, tree)
    wrong: set[int] = set()
    for constituent, state in zip(tree.constituents, states.tolist(), strict=True):
        phrase = phrase_of(constituent.span, links, candidate.tokens) if state == NO else None
        wrong |= set(phrase.positions) if phrase else set()
    return " ".join(paint(word) if i in wrong else word for i, word in enumerate(candidate.tokens))


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
