"""Metrics a tuner can climb: statistics of candidates that add up, and scores of many sums at once."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mert.lists import NBest
from rypt.calibration import scorer_from_database
from rypt.campaign import Campaign
from rypt.kernel import compiled
from rypt.nbest import RawCandidate, aligned_candidate
from rypt.records import Candidate
from rypt.scorer import Scorer
from rypt.text import InputError, PathLike, RyptError, read_lines

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ORDER = 4


class Metric(Protocol):
    """What the optimizer needs of a metric; higher is better."""

    @property
    def signature(self) -> str:
        """All that a score depends on besides the data."""

    def stats(self, lists: NBest) -> Ints:
        """Integers for each candidate, (candidates, columns)."""

    def score(self, sums: Ints) -> Floats:
        """The score of each row of summed statistics."""


def read_references(paths: Sequence[PathLike]) -> list[list[str]]:
    """Reference files, a line each segment; all must have the same number of lines."""
    references = [[line for _, line in read_lines(path)] for path in paths]
    for path, lines in zip(paths, references, strict=True):
        if len(lines) != len(references[0]):
            raise InputError(
                path, len(lines), f"expected {len(references[0])} lines like {paths[0]}, found {len(lines)}"
            )
    return references


class Bleu:
    """sacrebleu's BLEU, one or more references; text is taken as it is tokenised unless ``tokenize`` says otherwise."""

    def __init__(self, references: Sequence[Sequence[str]], tokenize: str = "none", smooth_method: str = "exp") -> None:
        from sacrebleu.metrics.bleu import BLEU

        if smooth_method not in ("exp", "none"):
            raise RyptError(f"expected smoothing exp or none, found {smooth_method!r}")
        self.references = references
        self.bleu = BLEU(tokenize=tokenize, smooth_method=smooth_method, force=True)

    @property
    def signature(self) -> str:
        """sacrebleu's own signature."""
        self.bleu.num_refs = len(self.references)
        return f"BLEU|{self.bleu.get_signature()}"

    def stats(self, lists: NBest) -> Ints:
        """Lengths of candidate and reference, matches and totals of 1- to 4-grams; equal strings are counted once."""
        rows = np.empty((len(lists.candidates), 2 + 2 * ORDER), np.int64)
        known: dict[str, list[int]] = {}
        for s, segment in enumerate(lists.segments):
            if not segment.isdigit() or int(segment) >= len(self.references[0]):
                count = len(self.references[0])
                raise RyptError(f"segment {segment} of the list has no reference: there are {count}, from 0")
            references = [self.bleu._preprocess_segment(document[int(segment)]) for document in self.references]
            info = self.bleu._extract_reference_info(references)
            known.clear()
            for i in range(int(lists.offsets[s]), int(lists.offsets[s + 1])):
                text = lists.candidates[i].text
                if text not in known:
                    known[text] = self.bleu._compute_segment_statistics(self.bleu._preprocess_segment(text), info)
                rows[i] = known[text]
        return rows

    def score(self, sums: Ints) -> Floats:
        """Corpus BLEU of each row, from 0 to 100."""
        return bleu_scores(np.ascontiguousarray(sums), self.bleu.smooth_method == "exp")


@compiled
def bleu_scores(sums: Ints, smooth: bool) -> Floats:
    """BLEU-4 of each row (candidate length, reference length, four matches, four totals).

    An order without a match counts as 1 / (2^k total), k the number of such orders so far, when ``smooth``.
    """
    scores = np.zeros(len(sums))
    for row in range(len(sums)):
        length, reference = sums[row, 0], sums[row, 1]
        logs, halvings, matches = 0.0, 1.0, 0
        dead = length == 0
        for n in range(ORDER):
            correct, total = sums[row, 2 + n], sums[row, 2 + ORDER + n]
            matches += correct
            if total == 0 or (correct == 0 and not smooth):
                dead = True
            elif correct == 0:
                halvings *= 2.0
                logs += np.log(100.0 / (halvings * total))
            else:
                logs += np.log(100.0 * correct / total)
        if not dead and matches > 0:
            penalty = np.exp(1.0 - reference / length) if length < reference else 1.0
            scores[row] = penalty * np.exp(logs / ORDER)
    return scores


class Rypt:
    """RYPT with the judgments of a campaign; lists need alignments."""

    def __init__(self, scorer: Scorer, align: Callable[[RawCandidate], Candidate]) -> None:
        self.scorer = scorer
        self.align = align

    @classmethod
    def from_campaign(cls, folder: PathLike) -> "Rypt":
        """The metric of a campaign: its trees, its database, its settings."""
        campaign = Campaign.open(folder)
        segments = {segment.id: segment for segment in campaign.segments}

        def align(raw: RawCandidate) -> Candidate:
            if raw.segment not in segments:
                raise RyptError(f"segment {raw.segment!r} of the list is not in the campaign {folder}")
            return aligned_candidate(raw, segments[raw.segment], campaign.lexicon)

        settings = campaign.scoring
        with campaign.database() as db:
            scorer = scorer_from_database(
                campaign.trees,
                db,
                campaign.candidates,
                model=settings.model,
                unknown=settings.unknown,
                ties=settings.ties,
            )
        return cls(scorer, align)

    @property
    def signature(self) -> str:
        """The scorer's signature."""
        return self.scorer.signature

    def stats(self, lists: NBest) -> Ints:
        """The model's statistics of each candidate."""
        return self.scorer.stats([self.align(raw) for raw in lists.candidates])

    def score(self, sums: Ints) -> Floats:
        """RYPT of each row, from 0 to 1."""
        return self.scorer.score(sums)
