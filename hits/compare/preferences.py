"""What people preferred of two metrics' picks: the paper's Tables 1 and 2, with a sign test and an interval."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from hits.batch.markup import plain
from hits.batch.systems import same_text
from hits.results.answers import Results
from hits.simulated import is_simulated
from rypt.picks.outcome import bootstrap_interval
from rypt.tails import sign_test

FEW = 5  # judgments of a segment


@dataclass(frozen=True, slots=True)
class Preferences:
    """The judgments of each segment: how many preferred the first metric's pick, the second's, and neither.

    ``stale`` counts judgments about picks that are no longer the metrics' picks; they are left out. ``identical`` are
    segments for which both metrics pick the same text, which nobody is asked about. ``reference`` says whether people
    saw the reference (``shown`` or ``hidden``), where that is known; ``simulated`` judgments are nobody's; ``excluded``
    are workers whose comparisons of these two do not count.
    """

    first: str
    second: str
    segments: Mapping[str, tuple[int, int, int]]
    stale: int = 0
    identical: int = 0
    reference: str = ""
    simulated: int = 0
    excluded: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Which two, and under which condition."""
        return f"{self.first} against {self.second}" + (
            f", reference {self.reference}" if self.reference else ""
        )

    @property
    def simulated_note(self) -> str:
        """That judgments are simulated, where some are."""
        count = sum(self.judgments)
        return (
            f"SIMULATED: {self.simulated} of {count} preferences were given by no person"
            if self.simulated
            else ""
        )

    @property
    def judgments(self) -> tuple[int, int, int]:
        """Table 1: judgments for the first, for the second, and for neither."""
        first, second, neither = np.array(list(self.segments.values()) or [(0, 0, 0)]).sum(axis=0).tolist()
        return first, second, neither

    @property
    def aggregates(self) -> dict[int, int]:
        """Table 2: for each difference of votes (+3: all three for the first) how many segments have it."""
        counts = Counter(first - second for first, second, _ in self.segments.values())
        return dict(sorted(counts.items(), reverse=True))

    @property
    def all_aggregates(self) -> dict[int, int]:
        """The same with those no segment has, as the paper's table shows them, where few judgments were asked for."""
        most = max((sum(votes) for votes in self.segments.values()), default=0)
        counts = self.aggregates
        return {at: counts.get(at, 0) for at in range(most, -most - 1, -1)} if most <= FEW else counts

    @property
    def p_judgments(self) -> float:
        """The sign test over judgments."""
        first, second, _ = self.judgments
        return sign_test(first, second)

    @property
    def p_segments(self) -> float:
        """The sign test over segments: those whose judgments favour one of the two."""
        aggregates = self.aggregates
        return sign_test(
            sum(n for at, n in aggregates.items() if at > 0), sum(n for at, n in aggregates.items() if at < 0)
        )

    def interval(self, seed: int = 1) -> tuple[float, float, float]:
        """First's share of judgments minus second's (Table 1), and its 95 % bootstrap interval over segments."""
        rows = np.array(list(self.segments.values()), np.float64)
        if not len(rows):
            return float("nan"), float("nan"), float("nan")
        counts = rows.sum(axis=1)
        shares = (rows[:, 0] - rows[:, 1]) / counts
        interval = bootstrap_interval(shares, np.random.default_rng(seed), weights=counts)
        return float((shares * counts).sum() / counts.sum()), *interval

    def as_dict(self, seed: int = 1) -> dict[str, object]:
        """For JSON."""
        net, low, high = self.interval(seed) if self.segments else (None, None, None)
        first, second, neither = self.judgments
        return {
            "first": self.first,
            "second": self.second,
            "judgments": {self.first: first, self.second: second, "neither": neither},
            "aggregates": {f"{at:+d}": count for at, count in self.aggregates.items()},
            "segments": len(self.segments),
            "identical": self.identical,
            "stale": self.stale,
            "reference": self.reference or None,
            "simulated": self.simulated,
            "net": net,
            "low": low,
            "high": high,
            "p_judgments": self.p_judgments,
            "p_segments": self.p_segments,
        }


def read_preferences(
    results: Results, first: str, second: str, texts: tuple[Mapping[str, str], Mapping[str, str]]
) -> list[Preferences]:
    """Preferences between two metrics' present picks, apart for those who saw the reference and those who did not.

    Judgments about picks of an earlier time are counted as stale. Of each worker the last answer to a question counts.
    """
    now = {segment: (plain(text), plain(texts[1].get(segment, ""))) for segment, text in texts[0].items()}
    identical = sum(same_text(*pair) for pair in now.values())
    conditions = []
    for reference, answers in groupby(
        sorted(_answers(results, first, second)), key=lambda answer: answer.reference
    ):
        segments: dict[str, list[int]] = {}
        stale = simulated = 0
        for answer in answers:
            if answer.segment not in now or not all(map(same_text, answer.texts, now[answer.segment])):
                stale += 1
                continue
            segments.setdefault(answer.segment, [0, 0, 0])[answer.vote] += 1
            simulated += is_simulated(answer.worker)
        counted = {segment: (votes[0], votes[1], votes[2]) for segment, votes in segments.items()}
        conditions.append(Preferences(first, second, counted, stale, identical, reference, simulated))
    return conditions[::-1]  # shown before hidden


class _Answer(NamedTuple):
    """What a worker said of two texts, the first metric's and the second's: 0, 1, or 2 for neither."""

    reference: str
    segment: str
    texts: tuple[str, str]
    worker: str
    vote: int


def _answers(results: Results, first: str, second: str) -> list[_Answer]:
    last: dict[tuple[str, str, tuple[str, str], str], int] = {}
    for given, columns in results.comparisons_between(first, second):
        reference = "shown" if columns.get("reference", "").strip() else "hidden"
        text_a, text_b = columns.get("candidate_a", ""), columns.get("candidate_b", "")
        worker, segment, system_a, _, choice = given
        texts = (text_a, text_b) if system_a == first else (text_b, text_a)
        vote = 2 if choice == "EQUAL" else int((choice == "A") != (system_a == first))
        last[reference, segment, texts, worker] = vote
    return [_Answer(*question, vote) for question, vote in last.items()]
