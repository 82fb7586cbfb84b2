"""What a loop does to a campaign, step by step: calls of the functions that the commands call, too."""

import io
import json
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from hits.asking.make import make_batch, price
from hits.asking.questions import BatchOptions, LabelQuestions
from hits.batches.reader import read_batch
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import LoopSettings, MarketSettings
from rypt.children import command_line
from rypt.loop.commands import market_options
from rypt.text import RyptError


@dataclass(frozen=True, slots=True)
class Decoded:
    """A list that was decoded: its candidates, how many of them no list had before, and how many there are in all."""

    iteration: int
    candidates: int
    new: int
    all_candidates: int


@dataclass(frozen=True, slots=True)
class BatchPrice:
    """A batch and what it costs."""

    batch: str
    hits: int
    assignments: int
    answers: int
    total: Decimal


@dataclass(frozen=True, slots=True)
class Decided:
    """What is thought of a worker."""

    worker: str
    verdict: str
    reasons: tuple[str, ...]
    excluded: bool


@dataclass(frozen=True, slots=True)
class Score:
    """What the decoder's own choice is worth, and how many constituents have a label before and after percolation."""

    score: float
    labelled: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Tuned:
    """New weights, and how sure it is that they are better."""

    before: float
    after: float
    gain: float
    p: float
    weights: Mapping[str, float]
    signature: str


class Steps:
    """The steps on one campaign and its market."""

    def __init__(self, folder: str, market: MarketSettings | None = None) -> None:
        self.folder = folder
        self._market = market

    @property
    def campaign(self) -> Campaign:
        """The campaign as it is now: it grows."""
        return Campaign.open(self.folder)

    @property
    def market(self) -> MarketSettings:
        """Where workers are."""
        return self._market or self.campaign.settings.market

    @property
    def _at(self) -> list[str]:
        return market_options(self.market, self.campaign.path(self.market.folder))

    @property
    def _fees(self) -> str:
        return "local" if self.market.endpoint is None else "mturk"

    def decode(self) -> Decoded:
        """Decode with the current weights."""
        facts = _result(["decode", self.folder, "--json", "-q"])
        return Decoded(*(facts[name] for name in ("iteration", "candidates", "new", "all_candidates")))

    def make(self, batch: Path, money: Decimal, loop: LoopSettings, seed: int) -> None:
        """Make a batch of labels for no more than this money; that this buys nothing is an error."""
        campaign, market = self.campaign, self.market
        questions = LabelQuestions(
            budget=money, labels=loop.labels, select=loop.select, max_len=campaign.scoring.max_len
        )  # fmt: skip
        options = BatchOptions(assignments=market.assignments, wage=market.wage, market=self._fees, seed=seed)
        make_batch(self.folder, batch, questions, options=options)

    def price(self, batch: Path) -> BatchPrice:
        """What a batch costs."""
        cost = price(batch, market=self._fees)
        return BatchPrice(read_batch(batch).settings.id, cost.hits, cost.assignments, cost.answers, cost.total)

    def publish(self, batch: Path) -> int:
        """Put a batch on the market; how many of its hits are there now, also by earlier tries."""
        facts = _result(["hits", "publish", str(batch), *self._at, "--yes", "--json", "-q"])
        return int(facts["published"] + facts["already"])

    def collect(self, batch: Path) -> int:
        """Bring the answers to a batch; how many assignments of it there are now."""
        facts = _result(["hits", "collect", str(batch), "-C", self.folder, *self._at, "--json", "-q"])
        return int(facts["assignments"] + facts["already"] + facts["left_out"])

    def expire(self, batch: Path) -> None:
        """Let nobody begin a hit of a batch any more."""
        run_step(["hits", "expire", str(batch), *self._at, "-q"])

    def is_open(self, batch: Path) -> bool:
        """Whether the market still has hits of a batch that somebody can begin, or has begun."""
        market = self._status(batch)["market"]
        return bool(market["assignable"] or market["pending"])

    def labels(self, batch: Path) -> int:
        """How many labels of a batch count."""
        return int(self._status(batch)["labels"])

    def _status(self, batch: Path) -> Any:
        return _result(["hits", "status", "-C", self.folder, "--batch", str(batch), *self._at, "--json", "-q"])

    def workers(self) -> list[Decided]:
        """What is thought of each worker."""
        rows = _result(["hits", "workers", "-C", self.folder, *self._at, "--json", "-q"])
        return [Decided(row["worker"], row["verdict"], tuple(row["reasons"]), row["excluded"]) for row in rows]

    def exclude(self, worker: str, reason: str, *, block: bool) -> None:
        """Let a worker's judgments not count; with ``block`` the worker gets no more hits, either."""
        how = ["--block" if block else "--exclude", worker, "--reason", reason]
        _result(["hits", "workers", "-C", self.folder, *self._at, "--json", "-q", *how])

    def score(self, candidates: Path) -> Score:
        """RYPT of the first candidates of a list, by the labels there are now."""
        facts = _result(["score", self.folder, "--candidates", str(candidates), "--json", "-q"])
        return Score(facts["score"], facts["coverage"]["before"], facts["coverage"]["after"])

    def tune(self, weights: Path, output: Path | None, *, seed: int, threads: int) -> Tuned:
        """New weights from all lists so far, written to ``output``."""
        arguments = ["tune", self.folder, "--metric", "rypt", "--weights", str(weights)]
        arguments += ["--seed", str(seed), "--threads", str(threads), *(["-o", str(output)] if output else [])]
        facts = _result([*arguments, "--json", "-q"])
        gain = facts["gain"]
        return Tuned(
            facts["start_score"], facts["score"], gain["gain"], gain["p"], facts["weights"], facts["signature"]
        )


def run_step(arguments: Sequence[str]) -> str:
    """Run one command in this process and return what it prints; what it cannot do is a `RyptError`."""
    from rypt.cli.program import rypt

    said = io.StringIO()
    try:
        with redirect_stdout(said):
            code = rypt.main(list(arguments), prog_name="rypt", standalone_mode=False)
    except click.ClickException as error:
        raise RyptError(f"{command_line(arguments)}: {error.format_message()}") from None
    except click.Abort:
        raise KeyboardInterrupt from None
    if code:
        raise RyptError(f"{command_line(arguments)}: ended with exit code {code}")
    return said.getvalue()


def _result(arguments: Sequence[str]) -> Any:
    return read_result(arguments, run_step(arguments))


def read_result(arguments: Sequence[str], said: str) -> Any:
    """What a step with ``--json`` said."""
    try:
        return json.loads(said)
    except ValueError:
        raise RyptError(f"{command_line(arguments)}: expected JSON, found {said[:60]!r}") from None
