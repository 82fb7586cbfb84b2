"""What people preferred of two metrics' picks: the paper's Tables 1 and 2, with a sign test and an interval."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hits.markup import plain
from hits.outputs import same_text
from hits.results import Results
from rypt.picks.outcome import bootstrap_interval, sign_test


@dataclass(frozen=True, slots=True)
class Preferences:
    """The judgments of each segment: how many preferred the first metric's pick, the second's, and neither.

    ``stale`` counts judgments about picks that are no longer the metrics' picks; they are left out. ``identical`` are
    segments for which both metrics pick the same text, which nobody is asked about.
    """

    first: str
    second: str
    segments: Mapping[str, tuple[int, int, int]]
    stale: int = 0
    identical: int = 0

    @property
    def judgments(self) -> tuple[int, int, int]:
        """Table 1: judgments for the first, for the second, and for neither."""
        first, second, neither = np.array(list(self.segments.values()) or [(0, 0, 0)]).sum(axis=0).tolist()
        return first, second, neither

    @property
    def aggregates(self) -> dict[int, int]:
        """Table 2: for each difference of votes (+3: all three for the first) how many segments have it."""
        found = Counter(first - second for first, second, _ in self.segments.values())
        return dict(sorted(found.items(), reverse=True))

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
        """First's share of judgments minus second's, and its 95 % bootstrap interval over segments."""
        rows = np.array(list(self.segments.values()), np.float64)
        if not len(rows):
            return float("nan"), float("nan"), float("nan")
        shares = (rows[:, 0] - rows[:, 1]) / rows.sum(axis=1)
        return float(shares.mean()), *bootstrap_interval(shares, np.random.default_rng(seed))

    def as_dict(self, seed: int = 1) -> dict[str, object]:
        """For JSON."""
        net, low, high = self.interval(seed) if self.segments else (None, None, None)
        first, second, neither = self.judgments
        return {
            "first": self.first, "second": self.second,
            "judgments": {self.first: first, self.second: second, "neither": neither},
            "aggregates": {f"{at:+d}": count for at, count in self.aggregates.items()},
            "segments": len(self.segments), "identical": self.identical, "stale": self.stale,
            "net": net, "low": low, "high": high, "p_judgments": self.p_judgments, "p_segments": self.p_segments,
        }  # fmt: skip


def read_preferences(
    results: Results, first: str, second: str, texts: tuple[Mapping[str, str], Mapping[str, str]]
) -> Preferences:
    """Preferences between two metrics' present picks; judgments about picks of an earlier time are counted as stale."""
    rows = results.rows(
        """SELECT c.segment, c.system_a, c.choice, json_extract(h.columns, '$.candidate_a'),
               json_extract(h.columns, '$.candidate_b')
           FROM counted_comparisons AS c JOIN hits AS h ON h.id = c.hit
           WHERE h.kind = 'comparison' AND min(c.system_a, c.system_b) = min(?1, ?2)
               AND max(c.system_a, c.system_b) = max(?1, ?2)""",
        [first, second],
    )
    segments: dict[str, list[int]] = {}
    stale = 0
    for segment, system_a, choice, text_a, text_b in rows:
        own = (text_a, text_b) if system_a == first else (text_b, text_a)
        now = tuple(picks.get(segment, "") for picks in texts)
        if not all(same_text(plain(shown or ""), plain(text)) for shown, text in zip(own, now, strict=True)):
            stale += 1
            continue
        votes = segments.setdefault(segment, [0, 0, 0])
        votes[2 if choice == "EQUAL" else int((choice == "A") != (system_a == first))] += 1
    identical = sum(same_text(text, texts[1].get(segment, "")) for segment, text in texts[0].items())
    counted = {segment: (votes[0], votes[1], votes[2]) for segment, votes in segments.items()}
    return Preferences(first, second, counted, stale, identical)
