"""What people preferred of two metrics' picks or two systems: the paper's Tables 1 and 2, tests and an interval."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from hits.batch.markup import plain
from hits.batch.systems import same_text
from hits.compare.report import comments, gain, table
from hits.ranking.data import Comparisons
from hits.ranking.readers.files import ComparisonFiles, excluded_workers
from hits.results.answers import Results
from hits.simulated import is_simulated
from rypt.picks.outcome import bootstrap_interval
from rypt.tails import sign_test
from rypt.text import PathLike, RyptError

FEW = 5  # judgments of a segment


@dataclass(frozen=True, slots=True)
class Preferences:
    """The judgments of each segment: how many preferred the first metric's pick, the second's, and neither.

    ``stale`` counts judgments about picks that are no longer the metrics' picks; they are left out. ``reference`` says
    whether people saw the reference (``shown`` or ``hidden``), where that is known; ``simulated`` counts judgments of
    simulated workers; ``excluded`` are workers whose comparisons of these two do not count.
    """

    first: str
    second: str
    segments: Mapping[str, tuple[int, int, int]]
    stale: int = 0
    reference: str = ""
    simulated: int = 0
    excluded: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        condition = f", reference {self.reference}" if self.reference else ""
        return f"{self.first} against {self.second}{condition}"

    @property
    def simulated_note(self) -> str:
        count = f"{self.simulated} of {sum(self.judgments)} preferences"
        return f"SIMULATED: {count} were given by no person" if self.simulated else ""

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
    def favoured(self) -> tuple[int, int]:
        """How many segments have more votes for the first, and for the second."""
        first = sum(count for at, count in self.aggregates.items() if at > 0)
        return first, sum(count for at, count in self.aggregates.items() if at < 0)

    @property
    def p_judgments(self) -> float:
        """The sign test over judgments."""
        return sign_test(*self.judgments[:2])

    @property
    def p_segments(self) -> float:
        """The sign test over segments: those whose judgments favour one of the two."""
        return sign_test(*self.favoured)

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
        net, low, high = self.interval(seed) if self.segments else (None, None, None)
        first, second, neither = self.judgments
        return {
            "first": self.first,
            "second": self.second,
            "judgments": {self.first: first, self.second: second, "neither": neither},
            "aggregates": {f"{at:+d}": count for at, count in self.aggregates.items()},
            "segments": len(self.segments),
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
    last: dict[tuple[str, str, tuple[str, str], str], int] = {}  # whom they prefer: first, second, neither
    for c, columns in results.comparisons_between(first, second):
        reference = "shown" if columns.get("reference", "").strip() else "hidden"
        pair = columns.get("candidate_a", ""), columns.get("candidate_b", "")
        pair = pair if c.system_a == first else (pair[1], pair[0])
        last[reference, c.segment, pair, c.worker] = {first: 0, second: 1}.get(c.preferred, 2)
    conditions = []
    for reference, answers in groupby(sorted(last.items()), key=lambda answer: answer[0][0]):
        current, stale = [], 0
        for (_, segment, pair, worker), vote in answers:
            if segment in now and all(map(same_text, pair, now[segment])):
                current.append((segment, vote, worker))
            else:
                stale += 1
        conditions.append(_preferences(first, second, current, stale, reference))
    return conditions[::-1]  # shown before hidden


def _preferences(
    first: str, second: str, votes: Iterable[tuple[str, int, str]], stale: int = 0, reference: str = ""
) -> Preferences:
    """Votes are a segment, 0, 1 or 2 for the first, the second or neither, and the worker."""
    segments: dict[str, list[int]] = {}
    simulated = 0
    for segment, vote, worker in votes:
        segments.setdefault(segment, [0, 0, 0])[vote] += 1
        simulated += is_simulated(worker)
    counts = {segment: (yes, no, neither) for segment, (yes, no, neither) in segments.items()}
    return Preferences(first, second, counts, stale, reference, simulated)


def system_preferences(files: ComparisonFiles, first: str, second: str) -> Preferences:
    """The comparisons of two systems; databases also know who was excluded."""
    preferences = preferences_between(files.read(), first, second)
    return replace(preferences, excluded=tuple(excluded_workers(files.paths, first, second)))


def preferences_between(comparisons: Comparisons, first: str, second: str) -> Preferences:
    """The comparisons of two systems, segment by segment; a tie is one for neither.

    >>> from hits.ranking.data import comparisons_of
    >>> rows = [("1", "a", "b", 1, "w1"), ("1", "b", "a", 0, "w2"), ("2", "b", "a", 1, "w1"), ("2", "a", "c", 1, "w1")]
    >>> preferences_between(comparisons_of(rows), "a", "b").segments
    {'1': (1, 0, 1), '2': (0, 1, 0)}
    """
    for system in (first, second):
        if system not in comparisons.systems:
            raise RyptError(f"expected one of the systems {', '.join(comparisons.systems)}, found {system!r}")
    if first == second:
        raise RyptError(f"expected two different systems, found {first} twice")
    pair = comparisons.among([comparisons.systems.index(first), comparisons.systems.index(second)])
    if not len(pair.a):
        raise RyptError(f"{first} and {second} were never compared with each other")
    won = np.where(pair.a == 0, pair.outcome, -pair.outcome)
    votes = np.select([won > 0, won < 0], [0, 1], 2).tolist()
    segments = [pair.segments[number] for number in pair.segment.tolist()]
    workers = [pair.workers[number] for number in pair.worker.tolist()]
    return _preferences(first, second, zip(segments, votes, workers, strict=True))


@dataclass(frozen=True, slots=True, repr=False)
class PreferenceReport:
    """What people preferred of the picks of metrics, two by two.

    Each pair has one or two `Preferences`: of those who saw the reference and of those who did not.
    """

    pairs: list[list[Preferences]]
    signature: str
    signatures: Mapping[str, str]
    simulated: str = ""
    seed: int = 1
    legend: Sequence[str] = ()

    @property
    def preferences(self) -> list[Preferences]:
        return [preferences for pair in self.pairs for preferences in pair]

    def __repr__(self) -> str:
        judged = "; ".join(f"{p.title}: {sum(p.judgments)} judgments" for p in self.preferences)
        return f"PreferenceReport({judged})"

    def as_dict(self) -> dict[str, object]:
        return {
            "signature": self.signature,
            "signatures": dict(self.signatures),
            "notes": [self.simulated] if self.simulated else [],
            "preferences": [preferences.as_dict(self.seed) for preferences in self.preferences],
        }

    def text(self, *, latex: bool = False) -> str:
        """Of each pair the answer in a sentence and the paper's Tables 1 and 2, then what the metrics are."""
        parts = []
        for pair in self.pairs:
            parts += [preference_line(preferences, self.seed, latex=latex) for preferences in pair]
            parts.append(preference_tables(pair, latex=latex))
        labels = [f"the labels behind the picks are {self.simulated}"] if self.simulated else []
        signatures = [*labels, self.signature, *self.signatures.values()]
        return "\n\n".join([*parts, comments(self.legend, latex), comments(signatures, latex)])

    def plot(self, path: PathLike) -> None:
        """Draw the judgments and the segments' votes (.svg, .png, .pdf)."""
        from hits.compare.plot import plot_preferences

        plot_preferences(path, self.preferences)


def preference_tables(
    conditions: Sequence[Preferences], *, latex: bool = False, pick: str = "first by "
) -> str:
    """The paper's Table 1 (judgments, a half for each condition) and a Table 2 for each (segments by their votes).

    All are of the same two metrics; ``pick`` stands before their names.
    """
    first = conditions[0]
    names = [f"{pick}{first.first}", f"{pick}{first.second}", "neither", "total"]
    suffixes = [f", reference {p.reference}" if len(conditions) > 1 else "" for p in conditions]
    head, rows = ["preferred"], [[name] for name in names]
    for p, suffix in zip(conditions, suffixes, strict=True):
        counts = [*p.judgments, sum(p.judgments)]
        head += [f"judgments{suffix}", "%"]
        for row, count in zip(rows, counts, strict=True):
            row += [str(count), f"{100 * count / counts[-1]:.1f}"]
    tables = [table(rows, head, latex)]
    for p, suffix in zip(conditions, suffixes, strict=True):
        counts_of = {_aggregate(p, at): count for at, count in p.all_aggregates.items()}
        counts_of |= dict(zip((f"{p.first} +any", f"{p.second} +any"), p.favoured, strict=True))
        counts_of["total"] = len(p.segments)
        shares = [
            [name, str(count), f"{100 * count / len(p.segments):.1f}"] for name, count in counts_of.items()
        ]
        tables.append(table(shares, [f"aggregate{suffix}", "segments", "%"], latex))
    return "\n\n".join(tables)


def _aggregate(preferences: Preferences, at: int) -> str:
    return "±0" if at == 0 else f"{preferences.first if at > 0 else preferences.second} +{abs(at)}"


def preference_line(preferences: Preferences, seed: int = 1, *, latex: bool = False) -> str:
    """The tables in a sentence; ``seed`` is the random seed of the bootstrap."""
    p = preferences
    net, low, high = p.interval(seed)
    liked, other = p.first, p.second
    condition = f", reference {p.reference}" if p.reference else ""
    if low <= 0 <= high:
        start = f"No significant preference for {p.first} or {p.second}{condition}: "
    else:
        if net < 0:
            liked, other, net, low, high = other, liked, -net, -high, -low
        start = f"People prefer {liked} to {other}{condition}: "
    sentence = (
        f"{start}{gain(net, low, high)}, % of the judgments for {liked} - % for {other}; "
        f"sign test p = {p.p_judgments:.3g} over judgments, {p.p_segments:.3g} over segments"
    )
    notes = [f"{p.stale} judgments are about earlier picks and left out"] if p.stale else []
    notes += [f"without {', '.join(p.excluded)} (excluded)"] if p.excluded else []
    notes += [p.simulated_note] if p.simulated else []
    return comments([sentence, *notes], latex)
