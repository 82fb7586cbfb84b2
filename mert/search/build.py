"""Shares made from lists: the candidates of some segments read, their statistics counted, the arrays written."""

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from mert.lists.arrays import NBest
from mert.lists.columns import ColumnPlan
from mert.lists.index import Piece, Range, RangeIndex, index_range, read_pieces
from mert.search.share import ColumnFacts, Rate, Share, column_facts
from mert.search.shares import ShareFolder, Shares, SharesInFiles
from rypt.arrays import Floats, Ints
from rypt.metrics.metric import Metric, counted, parts_of
from rypt.text import PathLike
from rypt.texts.tokenizer import is_raw

NEED = 5  # bytes of memory that a byte of a list takes while it is read and searched, at most
BESIDES = 300 << 20  # bytes that a process needs besides its shares


@dataclass(frozen=True, slots=True)
class Reading:
    """How candidates become arrays: the columns of features, of which ``kept`` are tuned, and what is held."""

    plan: ColumnPlan
    kept: tuple[int, ...] | None
    sparse_weights: Floats | None
    metric: Metric


@dataclass(frozen=True, slots=True)
class ShareSummary:
    """What is known of a share that was made: sizes of segments, facts on features, whether held features add."""

    sizes: Ints
    facts: ColumnFacts
    held: bool
    advice: tuple[str, ...]


def build(reading: Reading, pieces: Sequence[Piece], folder: ShareFolder, scratch: Path) -> ShareSummary:
    """Read the candidates in pieces of lists, count their statistics, and write the share."""
    lists = read_pieces(pieces, reading.plan, scratch)
    features = lists.features
    if reading.kept is not None:
        features = np.ascontiguousarray(features.T[list(reading.kept)]).T
    base = None if reading.sparse_weights is None else lists.sparse_dot(reading.sparse_weights)
    stats = counted(reading.metric, lists.candidates)
    folder.write(Share(lists.offsets, np.asfortranarray(features), base, stats))
    facts = column_facts(features, lists.offsets)
    held = base is not None and bool(base.any())
    return ShareSummary(np.diff(lists.offsets), facts, held, tuple(advice_on(reading.metric, lists)))


def advice_on(metric: Metric, lists: NBest) -> list[str]:
    """What a metric says of lists whose statistics it counted, and a note where BLEU takes raw words for tokens."""
    advice = [part.advice for part in parts_of(metric) if getattr(part, "advice", "")]
    if "tok:none" in str(metric.signature) and is_raw(
        map(lists.candidates.text, range(len(lists.candidates)))
    ):
        advice.append(
            "the candidates are raw text, and BLEU takes tokens as they are: bleu(tokenize=13a) cuts them"
        )
    return advice


class Workplace(Protocol):
    """Where shares are made and searched: this machine, or the workers of a cluster."""

    @property
    def scratch(self) -> Path:
        """A folder for files of this process."""

    @property
    def executor(self) -> Executor | None:
        """Where restarts run, if not in threads of this process."""

    @property
    def share_bytes(self) -> int:
        """The number of bytes of a list that a share should be made of at most."""

    @property
    def least(self) -> int:
        """The least number of shares, so that all have work."""

    def index(self, parts: Sequence[Range], head: tuple[PathLike, bytes]) -> Iterator[RangeIndex]:
        """What is in each part of the lists."""

    def make(self, reading: Reading, pieces: Sequence[Sequence[Piece]]) -> "Iterator[ShareSummary]":
        """Make shares, one for each of the pieces."""

    def shares(self, sizes: Sequence[Ints]) -> Shares:
        """The shares that were made."""


class ThisMachine:
    """Shares in files of this machine, made and searched by threads, within ``memory`` bytes."""

    def __init__(self, scratch: Path, pool: Executor, threads: int, memory: int) -> None:
        self.scratch, self.pool, self.threads = scratch, pool, threads
        self.share_bytes = max(1 << 20, (memory - BESIDES) // (NEED * threads))
        self.least = threads
        self.executor = None
        self.reading: Reading | None = None
        self.folders: list[ShareFolder] = []

    def index(self, parts: Sequence[Range], head: tuple[PathLike, bytes]) -> Iterator[RangeIndex]:
        """What is in each part of the lists."""
        return self.pool.map(lambda part: index_range(part, head, self.scratch), parts)

    def make(self, reading: Reading, pieces: Sequence[Sequence[Piece]]) -> Iterator[ShareSummary]:
        """Make shares, one for each of the pieces."""
        for folder in self.folders:  # of an earlier iteration
            shutil.rmtree(folder.path)
        self.reading = reading
        self.folders = [ShareFolder(self.scratch / f"share{i}") for i in range(len(pieces))]
        return self.pool.map(
            lambda each, folder: build(reading, each, folder, self.scratch), pieces, self.folders
        )

    def shares(self, sizes: Sequence[Ints]) -> Shares:
        """The shares that were made."""
        assert self.reading is not None
        return SharesInFiles(self.folders, sizes, Rate(self.reading.metric), self.pool)
