"""The metrics of Moses' programs: statistics as their score files hold them, and scores on their scale.

    read_file_metric("BLEU,RYPT", "weights:0.7+0.3,campaign:judged") → measure(references, candidates) → score(sums)

A score file does not say how its statistics were made, only the metric's name, so ``mert`` makes the metric again from
``--sctype`` and ``--scconfig``. All scores are better when higher and 1 at best: for TER it is 1 - TER.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rypt.arrays import Floats, Ints
from rypt.metrics.bleu import Bleu, bleu_scores
from rypt.metrics.chrf import ChrF, chrf_scores
from rypt.metrics.metric import Resources
from rypt.metrics.ter import Ter
from rypt.options import Options
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.lists import References

REFERENCE_LENGTHS = ("closest", "shortest", "average")
SCALED = 100  # TER's statistics are counted in hundredths
BLEU_COLUMNS = [1, 8, 0, 2, 4, 6, 1, 3, 5, 7]  # where in Moses' rows our columns stand


class FileMetric:
    """A metric whose statistics stand in score files under ``name``, ``columns`` in a row."""

    maximize = True
    scale = 1.0
    name = ""
    columns = 0
    needs_references = True

    @property
    def signature(self) -> str:
        """The name."""
        return self.name

    def measure(self, references: References | None, candidates: Sequence[Candidate]) -> Ints:
        """The statistics of candidates, (candidates, columns), in the order of Moses' files."""
        if references is None and self.needs_references:
            raise RyptError(f"the metric {self.name} needs --reference")
        return self.stats_from(references or References([[]]), candidates)

    def stats_from(self, references: References, candidates: Sequence[Candidate]) -> Ints:
        """The statistics, with references."""
        raise TypeError("each metric has its own")

    def stats(self, candidates: Sequence[Candidate]) -> Ints:
        """The statistics of candidates, where no references are needed."""
        return self.measure(None, candidates)

    def score(self, sums: Ints) -> Floats:
        """The score of each row, higher is better."""
        raise TypeError("each metric has its own")

    def sizes(self, rows: Ints) -> Floats | None:
        """The length of the reference of each row, where the statistics say it."""
        return None


class BleuFile(FileMetric):
    """BLEU-4 without smoothing: match and total of 1- to 4-grams in turn, then the length of the reference.

    With ``reflen:average`` all statistics are counted once for each reference, so that the mean length stays whole;
    their proportions, and so the score, are the same.
    """

    name, columns = "BLEU", 9

    def __init__(self, options: Options) -> None:
        self.lowercase = not options.flag("case", True)
        self.reflen = options.choice("reflen", "closest", REFERENCE_LENGTHS)

    def stats_from(self, references: References, candidates: Sequence[Candidate]) -> Ints:
        """Count in Moses' order."""
        ours = Bleu(references, smooth_method="none", lowercase=self.lowercase).stats(candidates)
        rows = np.empty((len(ours), self.columns), np.int64)
        rows[:, BLEU_COLUMNS] = ours
        if self.reflen == "closest":
            return rows
        lengths: dict[str, list[int]] = {}
        for raw in candidates:
            if raw.segment not in lengths:
                lengths[raw.segment] = [len(text.split()) for text in references[raw.segment]]
        if self.reflen == "shortest":
            rows[:, 8] = [min(lengths[raw.segment]) for raw in candidates]
            return rows
        rows *= references.count
        rows[:, 8] = [sum(lengths[raw.segment]) for raw in candidates]
        return rows

    def score(self, sums: Ints) -> Floats:
        """BLEU from 0 to 1."""
        return np.asarray(bleu_scores(np.ascontiguousarray(sums[:, BLEU_COLUMNS]), 0, 0.0) / 100)

    def sizes(self, rows: Ints) -> Floats:
        """The reference lengths."""
        return np.asarray(rows[:, 8], np.float64)


class TerFile(FileMetric):
    """1 - TER: edits and mean reference length in hundredths, and their ratio, which Moses writes and never reads.

    Where a mean of hundredths would not be whole, as with three references, all are multiplied by their number.
    """

    name, columns = "TER", 3

    def __init__(self, options: Options) -> None:
        self.lowercase = not options.flag("case", True)

    def stats_from(self, references: References, candidates: Sequence[Candidate]) -> Ints:
        """Count in Moses' order."""
        edits, lengths = Ter(references, case_sensitive=not self.lowercase).stats(candidates).T
        factor = SCALED if SCALED % references.count == 0 else SCALED * references.count
        words = lengths * (factor // references.count)
        rates = np.rint(np.divide(100 * factor * edits, words, out=np.zeros(len(words)), where=words > 0))
        return np.stack([factor * edits, words, rates.astype(np.int64)], axis=1)

    def score(self, sums: Ints) -> Floats:
        """1 - TER, which may be below 0."""
        edits, words = sums[:, 0], sums[:, 1]
        rates: Floats = np.where(edits > 0, 1.0, 0.0)
        np.divide(edits, words, out=rates, where=words > 0)
        return 1.0 - rates


class ChrfFile(FileMetric):
    """chrF: candidate, reference and common n-grams of characters, for n from 1 to 6."""

    name, columns = "CHRF", 18

    def __init__(self, options: Options) -> None:
        self.lowercase = not options.flag("case", True)
        self.beta = options.whole("beta", 3, least=1)

    def stats_from(self, references: References, candidates: Sequence[Candidate]) -> Ints:
        """Count as sacrebleu does."""
        return ChrF(references, beta=self.beta, lowercase=self.lowercase).stats(candidates)

    def score(self, sums: Ints) -> Floats:
        """From 0 to 1."""
        return chrf_scores(sums, self.beta, False) / 100


class RyptFile(FileMetric):
    """RYPT with the judgments of ``campaign:FOLDER``: the model's integers."""

    name = "RYPT"
    needs_references = False

    def __init__(self, options: Options) -> None:
        options.flag("case", True)  # the database's business
        campaign = options.text("campaign", None)
        choices = {name: options.text(name, None) for name in ("model", "unknown", "ties")}
        if campaign is None:
            raise RyptError("the metric RYPT needs campaign:FOLDER in --scconfig")
        from rypt.metrics.campaign_rypt import make_rypt

        chosen = {name: value for name, value in choices.items() if value is not None}
        self.rypt = make_rypt(Resources(campaign=campaign), chosen)
        self.columns = self.rypt.stats([]).shape[1]

    def stats_from(self, references: References, candidates: Sequence[Candidate]) -> Ints:
        """The scorer's statistics; references count nothing."""
        return self.rypt.stats(candidates)

    def score(self, sums: Ints) -> Floats:
        """RYPT from 0 to 1."""
        return self.rypt.score(sums)


class MixedFile(FileMetric):
    """A weighted mean of metrics, as in ``--sctype BLEU,RYPT --scconfig weights:0.7+0.3``."""

    def __init__(self, parts: Sequence[FileMetric], options: Options) -> None:
        self.parts = tuple(parts)
        self.name = ",".join(part.name for part in parts)
        self.columns = sum(part.columns for part in parts)
        self.ends = np.cumsum([part.columns for part in parts])
        self.weights = _read_mix(options.text("weights", None), len(parts))

    def measure(self, references: References | None, candidates: Sequence[Candidate]) -> Ints:
        """The statistics of all metrics side by side."""
        return np.concatenate([part.measure(references, candidates) for part in self.parts], axis=1)

    def score(self, sums: Ints) -> Floats:
        """The weighted mean of the scores of each row."""
        total: Floats = np.zeros(len(sums))
        blocks = np.split(sums, self.ends[:-1], axis=1)
        for part, weight, block in zip(self.parts, self.weights, blocks, strict=True):
            total += weight * part.score(block)
        return total


def _read_mix(text: str | None, count: int) -> list[float]:
    """The weights of a mix, with a sum of 1."""
    if text is None:
        return [1 / count] * count
    try:
        weights = [float(part) for part in text.split("+")]
    except ValueError:
        weights = []
    if len(weights) != count or not all(0 < weight < math.inf for weight in weights):
        raise RyptError(f"weights:{text}: expected {count} numbers above 0 separated by +, one per metric")
    return [weight / sum(weights) for weight in weights]


MAKERS: Mapping[str, Callable[[Options], FileMetric]] = {
    "BLEU": BleuFile,
    "TER": TerFile,
    "CHRF": ChrfFile,
    "RYPT": RyptFile,
}


def read_file_metric(sctype: str, scconfig: str = "") -> FileMetric:
    """The metric, or the mix of metrics, that ``--sctype`` and ``--scconfig`` name."""
    options = Options(sctype, parse_scconfig(scconfig))
    parts = []
    for name in sctype.split(","):
        if name not in MAKERS:
            expected = f"expected some of {', '.join(MAKERS)}"
            raise RyptError(f"--sctype {sctype}: {name!r} is not supported, {expected}")
        parts.append(MAKERS[name](options))
    metric = parts[0] if len(parts) == 1 else MixedFile(parts, options)
    options.done()
    return metric


def parse_scconfig(text: str) -> dict[str, str]:
    """Take ``key:value,key:value`` apart.

    >>> parse_scconfig("case:true,reflen:closest")
    {'case': 'true', 'reflen': 'closest'}
    """
    settings: dict[str, str] = {}
    for item in filter(None, text.split(",")):
        key, colon, value = item.partition(":")
        if not colon or not key or not value:
            raise RyptError(f"--scconfig {text}: expected key:value,key:value, found {item!r}")
        if key in settings:
            raise RyptError(f"--scconfig {text}: {key} is given twice")
        settings[key] = value
    return settings
