"""RYPT for tuning: a campaign's trees, judgments and settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rypt.arrays import Floats, Ints
from rypt.campaign.folder import Campaign
from rypt.campaign.scoring import DEFAULT_CHOICES, ScoringChoices, campaign_scorer
from rypt.metric.report import scoring_advice
from rypt.metric.scorer import Scorer
from rypt.metrics.metric import Resources
from rypt.metrics.rypt import read_rypt_options
from rypt.records import Candidate, RawCandidate
from rypt.text import FormatError, PathLike, RyptError
from rypt.texts.nbest import aligned_candidate


class Rypt:
    """RYPT with the judgments of a campaign; lists need alignments."""

    maximize = True
    scale = 1.0

    def __init__(self, scorer: Scorer, align: Callable[[RawCandidate], Candidate]) -> None:
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
        """The scorer's signature."""
        return self.scorer.signature

    def stats(self, candidates: Sequence[RawCandidate]) -> Ints:
        """The model's statistics of each candidate; ``advice`` says afterwards whether another model serves better."""
        observations = self.scorer.observe([self.align(raw) for raw in candidates])
        self.advice = scoring_advice(self.scorer.model, observations)
        return self.scorer.model.stats(observations)

    def score(self, sums: Ints) -> Floats:
        """RYPT of each row, from 0 to 1."""
        return self.scorer.score(sums)


class _Aligner:
    """Brings the lines of a list to candidates of a campaign's segments.

    A line without an alignment gets the one that a file of the campaign's has for its text, where there is one.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.folder = campaign.folder
        self.segments = {segment.id: segment for segment in campaign.segments}
        self.lexicon = campaign.lexicon
        self.links: dict[tuple[str, str], str] = {}
        if campaign.files.alignments:
            for candidate in campaign.candidates:
                self.links.setdefault((candidate.segment, candidate.text), candidate.alignment)

    def __call__(self, raw: RawCandidate) -> Candidate:
        segment = self.segments.get(raw.segment)
        if segment is None:
            raise RyptError(f"segment {raw.segment!r} of the list is not in the campaign {self.folder}")
        if raw.alignment is None and (raw.segment, raw.text) in self.links:
            raw = replace(raw, alignment=self.links[raw.segment, raw.text])
        try:
            return aligned_candidate(raw, segment, self.lexicon)
        except FormatError as error:
            raise RyptError(f"a candidate of segment {raw.segment}: {error}") from None


def make_rypt(resources: Resources, options: Mapping[str, str]) -> Rypt:
    """The metric ``rypt``; its options take the place of the campaign's settings."""
    folder = resources.need_campaign("rypt")
    return Rypt.from_campaign(folder, read_rypt_options(options, Campaign.open(folder).scoring))
