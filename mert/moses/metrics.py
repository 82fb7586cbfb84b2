"""The metrics of Moses' programs: statistics as their score files hold them, and scores on their scale.

    read_file_metric("BLEU,RYPT", "weights:0.7+0.3,campaign:judged") → measure(references, candidates) → score(sums)

A score file does not say how its statistics were made, only the metric's name, so ``mert`` makes the metric again from
``--sctype`` and ``--scconfig``. All scores are better when higher and 1 at best: for TER it is 1 - TER.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mert.moses.edits import accuracy, edit_stats, position_free_accuracy, position_free_stats
from mert.moses.preparation import Preparation
from mert.search.lines import Window
from rypt.arrays import Floats, Ints
from rypt.metrics.bleu import Bleu, bleu_scores
from rypt.metrics.chrf import ChrF, chrf_scores
from rypt.metrics.metric import Resources
from rypt.metrics.ter import Ter
from rypt.options import Options
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.references import References

if TYPE_CHECKING:
    from rypt.metrics.campaign_rypt import Rypt

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
    preparation = Preparation()

    @property
    def signature(self) -> str:
        """The name."""
        return self.name

    def measure(self, references: References | None, candidates: Sequence[Candidate]) -> Ints:
        """The statistics of candidates, (candidates, columns), in the order of Moses' files."""
        if references is None and self.needs_references:
            raise RyptError(f"the metric {self.name} needs --reference")
        prepared = self.preparation.references(references) if references is not None else References([[]])
        return self.stats_from(prepared, self.preparation.candidates(candidates))

    def stats_from(self, references: References, candidates: Sequence[Candidate]) -> Ints:
        """The statistics of prepared candidates."""
        raise TypeError("each metric has its own")

    def score(self, sums: Ints) -> Floats:
        """The score of each row, higher is better."""
        raise TypeError("each metric has its own")

    def sentence_score(self, rows: Ints, *, smooth_brevity: bool = False) -> Floats:
        """Scores of single candidates."""
        return self.score(rows)

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

    def sentence_score(self, rows: Ints, *, smooth_brevity: bool = False) -> Floats:
        """BLEU with one added to matches and totals, and to the reference length where that is to be smoothed."""
        logs = np.log1p(rows[:, 0:8:2]) - np.log1p(rows[:, 1:8:2])
        lengths = rows[:, 1].astype(np.float64)
        ratios = np.divide(
            rows[:, 8] + smooth_brevity, lengths, out=np.full(len(rows), np.inf), where=lengths > 0
        )
        return np.asarray(np.exp(logs.mean(axis=1) + np.minimum(0.0, 1.0 - ratios)))

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
        return accuracy(sums)


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


class EditFile(FileMetric):
    """1 - WER, or 1 - CDER: edits and reference length."""

    columns = 2

    def __init__(self, name: str, options: Options) -> None:
        self.name = name
        self.lowercase = not options.flag("case", True)

    def stats_from(self, references: References, candidates: Sequence[Candidate]) -> Ints:
        """Edits and length."""
        return edit_stats(references, candidates, jumps=self.name == "CDER", lowercase=self.lowercase)

    def score(self, sums: Ints) -> Floats:
        """1 - edits / length, which may be below 0."""
        return accuracy(sums)


class PerFile(FileMetric):
    """1 - PER: words in common, and the lengths of candidate and reference."""

    name, columns = "PER", 3

    def __init__(self, options: Options) -> None:
        self.lowercase = not options.flag("case", True)

    def stats_from(self, references: References, candidates: Sequence[Candidate]) -> Ints:
        """Common words and lengths."""
        return position_free_stats(references, candidates, lowercase=self.lowercase)

    def score(self, sums: Ints) -> Floats:
        """The share of common words less those too many, which may be below 0."""
        return position_free_accuracy(sums)


class RyptFile(FileMetric):
    """RYPT: the integers of the scorer's model."""

    name = "RYPT"
    needs_references = False

    def __init__(self, rypt: "Rypt") -> None:
        self.rypt = rypt
        self.columns = rypt.stats([]).shape[1]

    @classmethod
    def from_options(cls, options: Options) -> "RyptFile":
        """RYPT with the judgments of ``campaign:FOLDER``, or of ``db:FILE``, which knows segments and trees too.

        With both the database takes the place of the campaign's own. Case is the database's business.
        """
        options.flag("case", True)
        campaign = options.text("campaign", None)
        given = {name: options.text(name, None) for name in ("model", "unknown", "ties", "db")}
        chosen = {name: value for name, value in given.items() if value is not None}
        if campaign is None and "db" not in chosen:
            raise RyptError("the metric RYPT needs campaign:FOLDER or db:FILE in --scconfig")
        if campaign is not None:
            from rypt.metrics.campaign_rypt import make_rypt

            return cls(make_rypt(Resources(campaign=campaign), chosen))
        from mert.moses.database import rypt_of_database

        return cls(rypt_of_database(chosen.pop("db"), Options("RYPT", chosen)))

    def stats_from(self, references: References, candidates: Sequence[Candidate]) -> Ints:
        """The scorer's statistics; references count nothing."""
        if self.preparation.command is not None:
            raise RyptError(
                "--filter cannot be used with the metric RYPT: alignments count tokens as they stand"
            )
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

    def _mean(self, rows: Ints, score: Callable[[FileMetric, Ints], Floats]) -> Floats:
        total: Floats = np.zeros(len(rows))
        for part, weight, block in zip(
            self.parts, self.weights, np.split(rows, self.ends[:-1], axis=1), strict=True
        ):
            total += weight * score(part, block)
        return total

    def score(self, sums: Ints) -> Floats:
        """The weighted mean of the scores of each row."""
        return self._mean(sums, lambda part, block: part.score(block))

    def sentence_score(self, rows: Ints, *, smooth_brevity: bool = False) -> Floats:
        """The weighted mean of the scores of single candidates."""
        return self._mean(rows, lambda part, block: part.sentence_score(block, smooth_brevity=smooth_brevity))


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
    "PER": PerFile,
    "WER": lambda options: EditFile("WER", options),
    "CDER": lambda options: EditFile("CDER", options),
    "RYPT": RyptFile.from_options,
}


def read_file_metric(sctype: str, scconfig: str = "", preparations: Sequence[Preparation] = ()) -> FileMetric:
    """The metric, or the mix of metrics, that ``--sctype`` and ``--scconfig`` name."""
    options = Options(sctype, parse_scconfig(scconfig))
    names = sctype.split(",")
    for name in names:
        if name not in MAKERS:
            raise RyptError(
                f"--sctype {sctype}: {name!r} is not supported, expected some of {', '.join(MAKERS)}"
            )
    parts = [MAKERS[name](options) for name in names]
    for part, preparation in zip(parts, preparations, strict=False):
        part.preparation = preparation
    metric = parts[0] if len(parts) == 1 else MixedFile(parts, options)
    _window(options)
    options.done()
    return metric


def read_window(scconfig: str) -> Window | None:
    """The smoothing over neighbouring intervals that ``regtype`` and ``regwin`` ask for."""
    return _window(Options("--scconfig", parse_scconfig(scconfig)))


def _window(options: Options) -> Window | None:
    kind = options.choice("regtype", "none", ("none", "average", "min"))
    size = options.whole("regwin", 0)
    if (kind == "none") != (size == 0):
        raise RyptError("--scconfig: expected regtype:average or regtype:min together with regwin:N from 1")
    return Window(kind, size) if size else None


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
