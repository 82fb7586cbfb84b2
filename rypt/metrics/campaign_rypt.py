"""RYPT for tuning: a campaign's trees, judgments and settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rypt.arrays import Floats, Ints
from rypt.campaign.folder import Campaign
from rypt.campaign.scoring import DEFAULT_CHOICES, ScoringChoices, campaign_scorer
from rypt.metrics.metric import Resources
from rypt.records import Candidate
from rypt.scoring.report import scoring_advice
from rypt.scoring.scorer import Scorer
from rypt.text import FormatError, PathLike, RyptError
from rypt.texts.nbest import aligned_candidate
from rypt.texts.tokenizer import join_pieces


class Rypt:
    """RYPT with the judgments of a campaign; lists need alignments."""

    maximize = True
    scale = 1.0

    def __init__(self, scorer: Scorer, align: Callable[[Candidate], Candidate]) -> None:
        self.scorer = scorer
        self.align = align
        self.advice = ""

    @classmethod
    def from_campaign(cls, folder: PathLike, choices: ScoringChoices = DEFAULT_CHOICES) -> "Rypt":
        """The metric of a campaign, scored as its settings say or by other choices."""
        campaign = Campaign.open(folder)
        return cls(campaign_scorer(campaign, choices), _Aligner(campaign))

    @property
    def signature(self) -> str:
        return self.scorer.signature

    def stats(self, candidates: Sequence[Candidate]) -> Ints:
        """The model's statistics of each candidate; ``advice`` says afterwards whether another model serves better."""
        observations = self.scorer.observe([self.align(raw) for raw in candidates])
        self.advice = scoring_advice(self.scorer.model, observations)
        return self.scorer.model.stats(observations)

    def score(self, sums: Ints) -> Floats:
        return self.scorer.score(sums)


class _Aligner:
    """Brings the lines of a list to candidates of a campaign's segments.

    A line without an alignment gets the one that the campaign has for its text, where there is one. Texts are the same
    if they differ in nothing but spaces: a campaign of raw texts has them cut into tokens.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.folder = campaign.folder
        self.segments = {segment.id: segment for segment in campaign.segments}
        self.lexicon = campaign.lexicon
        self.aligned: dict[tuple[str, str], Candidate] = {}
        if campaign.files.alignments:
            for candidate in campaign.candidates:
                self.aligned.setdefault((candidate.segment, candidate.text), candidate)
                self.aligned.setdefault((candidate.segment, _letters(candidate.text)), candidate)

    def __call__(self, raw: Candidate) -> Candidate:
        segment = self.segments.get(raw.segment)
        if segment is None:
            raise RyptError(f"segment {raw.segment!r} of the list is not in the campaign {self.folder}")
        if raw.alignment is None and self.aligned:
            known = self.aligned.get((raw.segment, raw.text)) or self.aligned.get(
                (raw.segment, _letters(raw.text))
            )
            raw = raw if known is None else replace(raw, text=known.text, alignment=known.alignment)
        try:
            return aligned_candidate(raw, segment, self.lexicon)
        except FormatError as error:
            way = f"`rypt tune {self.folder}` tunes on the campaign's own lists, which have them"
            hint = f" ({way})" if raw.alignment is None else ""
            raise RyptError(f"a candidate of segment {raw.segment}: {error}{hint}") from None


def _letters(text: str) -> str:
    """A text without spaces, pieces of words joined."""
    return "".join(join_pieces(text.split()).split())


def make_rypt(resources: Resources, options: Mapping[str, str]) -> Rypt:
    """The metric ``rypt``; its options take the place of the campaign's settings."""
    folder = resources.need_campaign("rypt")
    return Rypt.from_campaign(folder, ScoringChoices.from_options(options, Campaign.open(folder).scoring))
