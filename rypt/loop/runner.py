"""The complete run: decode, ask people about what is new, tune to their judgments, again (paper, section 8).

    decode → make → publish → collect → workers → score → tune → weights of the next iteration

Each step is one call of `rypt.loop.steps.Steps`, and a command does the same by hand. A finished step is written to
``loop.jsonl``. Repeating a step that was done but not recorded changes nothing, so a run that was killed at
any point can be resumed and ends the same. The conditions to stop are checked after each decoding, so the last weights
are always decoded with and can be compared with the earlier ones.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from hits.market.ledger import published_hits
from hits.market.served import dashboard_url, is_served, serving
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import LoopSettings, MarketSettings
from rypt.loop.batch import NOTHING, Bought, affordable_batch, lifetime, published_by_hand, reuse
from rypt.loop.best import best_iteration, decoded_scores
from rypt.loop.commands import HandCommands
from rypt.loop.journal import Entry, Journal
from rypt.loop.report import LoopReport, loop_report
from rypt.loop.steps import Steps
from rypt.options import money
from rypt.scoring.report import ScoreReport
from rypt.text import PathLike, RyptError, plural

T = TypeVar("T")
JOURNAL = "loop.jsonl"
BUDGET = "budget"  # the budget of a campaign whose settings name none, kept in the journal
STEPS = ("decode", "make", "publish", "collect", "workers", "score", "tune")
ASKING = ("publish", "collect", "workers")  # done where a batch was made
SIGNIFICANT = 0.05
FIRST_PAUSE, GROWTH = 1.0, 1.5  # seconds between two looks at the market, and how they grow


def _seconds() -> int:
    return int(time.time())


@dataclass(frozen=True, slots=True)
class World:
    """What a loop takes from outside: a callback for messages, and the clock."""

    tell: Callable[[str], None] = lambda text: None
    pause: Callable[[float], None] = time.sleep
    now: Callable[[], int] = _seconds


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings of one run: those of the campaign's loop and market, with this run's changes.

    ``poll`` is the maximum time between two checks of the market. ``go_on`` does not wait for missing answers to the
    batch that is on the market when the run begins; later batches are waited for. ``threads`` are for tuning.
    """

    loop: LoopSettings
    market: MarketSettings = field(default_factory=MarketSettings)
    poll: float = 60.0
    threads: int = 1
    go_on: bool = False

    @property
    def budget(self) -> Decimal:
        """The total budget."""
        if self.loop.budget is None:
            raise RyptError('expected a budget: budget = "25.00" in [loop] of rypt.toml, or --budget 25.00')
        return self.loop.budget


def run(
    campaign: Campaign | PathLike,
    market: PathLike | None = None,
    *,
    budget: Decimal | str | None = None,
    max_iterations: int | None = None,
    poll: float = 60.0,
    go_on: bool = False,
    threads: int = 1,
    serve: bool = False,
    port: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> LoopReport:
    """Tune a campaign's decoder to people's judgments, in a loop, until there is a reason to stop.

    Decode with the current weights, ask workers about new phrases, wait for their answers, tune to all labels so far,
    and repeat until the budget is spent, no candidate is new, or there is no significant gain. The loop may take days;
    if it is killed, run it again to resume it. Parameters that are not given come from the campaign's ``rypt.toml``.

    ``market`` is the folder of a local market or the URL of an endpoint, ``budget`` the maximum total cost in dollars,
    ``poll`` the maximum time in seconds between two checks of the market. ``go_on`` does not wait for missing
    answers to the batch that is on the market now. ``serve`` serves the local market while the loop runs. ``tell`` is
    called with progress messages.

        report = rypt.loop.run("campaign", budget="25.00", serve=True)
        report.write("best.weights")
    """
    loop = open_loop(
        campaign,
        market,
        budget=budget,
        max_iterations=max_iterations,
        poll=poll,
        go_on=go_on,
        threads=threads,
        tell=tell,
    )
    return loop.report(loop.run(serve=serve, port=port))


def open_loop(
    campaign: Campaign | PathLike,
    market: PathLike | None = None,
    *,
    budget: Decimal | str | None = None,
    max_iterations: int | None = None,
    poll: float = 60.0,
    go_on: bool = False,
    threads: int = 1,
    tell: Callable[[str], None] | None = None,
) -> "Loop":
    """Open the loop of a campaign in its current state; `run` describes the parameters."""
    opened = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
    settings = opened.settings.loop
    limit = known_budget(opened) if budget is None else money(str(budget))
    if budget is not None and limit is None:
        raise RyptError(f"expected a budget such as 25.00, got {budget!r}")
    settings = replace(settings, budget=limit, max_iterations=max_iterations or settings.max_iterations)
    terms = Terms(settings, _market(opened, market), poll, threads, go_on)
    return Loop(str(opened.folder), terms, World() if tell is None else World(tell))


def _market(campaign: Campaign, market: PathLike | None) -> MarketSettings:
    """The campaign's market, or another one in its place."""
    settings = campaign.settings.market
    if market is None:
        return settings
    if "://" in str(market):
        return replace(settings, endpoint=str(market))
    return replace(settings, folder=str(Path(market).resolve()), endpoint=None)


class Loop:
    """The loop of one campaign, and its state."""

    def __init__(self, folder: str, terms: Terms, world: World, steps: Steps | None = None) -> None:
        self.folder = folder
        self.terms = terms
        self.world = world
        self.steps = steps or Steps(folder, terms.market)
        self.journal = Journal(Campaign.open(folder).path(JOURNAL))
        self._prices: dict[Path, Decimal] = {}  # of batches that were published by hand
        self._hurried = 0  # the iteration whose missing answers are not waited for

    @property
    def campaign(self) -> Campaign:
        """The campaign as it is now: it grows."""
        return Campaign.open(self.folder)

    @property
    def commands(self) -> HandCommands:
        """The equivalent commands."""
        return HandCommands(self.campaign, self.terms.market)

    @property
    def market_folder(self) -> Path:
        """Where the local market is."""
        return self.campaign.path(self.terms.market.folder)

    @property
    def spent(self) -> Decimal:
        """What all published batches cost, also those of the campaign's folder that were published by hand."""
        published = self.journal.results("publish")
        others = published_by_hand(self.campaign, {*published, self.iteration})
        for batch in others:
            if batch not in self._prices:
                self._prices[batch] = self.steps.price(batch).total
        return sum(
            [Decimal(result["cost"]) for result in published.values()]
            + [self._prices[batch] for batch in others],
            Decimal(0),
        )

    @property
    def left(self) -> Decimal:
        """What may still be spent."""
        return max(Decimal(0), self.terms.budget - self.spent)

    @property
    def iteration(self) -> int:
        """The iteration under way, 0 between two."""
        last = max(self.journal.results("decode"), default=0)
        return 0 if self.journal.result(last, "tune") is not None else last

    def run(self, *, serve: bool = False, port: int | None = None) -> str:
        """Run until there is a reason to stop, and return it; ``serve`` also serves the local market meanwhile."""
        if serve and self.terms.market.endpoint is not None:
            raise RyptError(
                f"only a local market can be served, and this campaign's is {self.terms.market.endpoint}"
            )
        serves = serve and self.stopped() is None
        with serving(self.market_folder, port) if serves else nullcontext() as market:
            if market is not None:
                self.world.tell(f"market at {market.url}")
            return self._run()

    def _run(self) -> str:
        do = {
            "decode": self._decode,
            "make": self._make,
            "publish": self._publish,
            "collect": self._collect,
            "workers": self._workers,
            "score": self._score,
            "tune": self._tune,
        }
        with self.journal.opened():
            self._remember_budget()
            self._hurried = self.iteration if self.terms.go_on and self.pending() == "collect" else 0
            while (reason := self.stopped()) is None:
                step = self.pending()
                result = do[step](self.iteration)
                number = int(result["iteration"]) if step == "decode" else self.iteration
                self.journal.add(Entry(number, step, self.world.now(), result))
            return reason

    def stopped(self) -> str | None:
        """The reason to stop, None if there is a next step."""
        number, tuned = self.iteration, self.journal.results("tune")
        if not number or not tuned or self.journal.result(number, "make") is not None:
            return None
        loop, before = self.terms.loop, max(tuned)
        made = self.journal.result(before, "make") or {}
        if self.journal.results("decode")[number]["new"] == 0 and self._answered(before):
            return "no candidate is new"
        if self.left <= 0 or Decimal(made.get("needs", "0")) > self.left:
            return "the budget is spent"
        if len(tuned) >= loop.max_iterations:
            return f"{len(tuned)} iterations are done" if len(tuned) > 1 else "1 iteration is done"
        last = [result["p"] > SIGNIFICANT for result in list(tuned.values())[-loop.patience :]]
        if len(tuned) > loop.patience and all(last):
            return f"no significant gain in {loop.patience} iterations"
        return None

    def _answered(self, number: int) -> bool:
        """Whether an iteration had the money to ask, and all answers came and count: then only new candidates help."""
        asked, came, who = (
            self.journal.result(number, step) or {} for step in ("make", "collect", "workers")
        )
        return not (Decimal(asked.get("needs", "0")) or came.get("missing") or who.get("excluded"))

    def pending(self) -> str:
        """The next step."""
        number = self.iteration
        if not number:
            return "decode"
        made = self.journal.result(number, "make")
        asks = made is None or made["hits"] > 0
        steps = [step for step in STEPS if asks or step not in ASKING]
        return next(step for step in steps if self.journal.result(number, step) is None)

    def forecast(self) -> str:
        """What the next step is and what it costs, without doing it."""
        if (reason := self.stopped()) is not None:
            return f"nothing: {reason}"
        step, spent = self.pending(), f"${self.spent:.2f} of ${self.terms.budget:.2f} are spent"
        if step == "decode":
            return f"decode with the current weights, which costs nothing; {spent}, at most ${self.left:.2f} come after it"
        if step == "make":
            with tempfile.TemporaryDirectory() as folder:
                bought = self._affordable(self.iteration, Path(folder) / "batch")
            what = f"{plural(bought.hits, 'hit')} with {plural(bought.answers, 'answer')} for ${bought.cost}"
            return f"make and publish a batch of {what}; {spent}" if bought.hits else f"tune; {spent}"
        if step in ("publish", "collect"):
            asked = self.journal.result(self.iteration, "make") or {}
            done = "publish" if step == "publish" else "wait for the answers to"
            return f"{done} {self.batch(self.iteration)}: {plural(asked['hits'], 'hit')} for ${asked['cost']}; {spent}"
        return f"{step}, which costs nothing; {spent}"

    def report(self, stopped: str) -> LoopReport:
        """The result of the run so far."""
        scores = self.scores()
        return loop_report(
            self.campaign,
            self.journal,
            scores,
            stopped=stopped,
            budget=self.terms.budget,
            spent=self.spent,
            weights=self.best_weights(scores),
        )

    def batch(self, number: int) -> Path:
        """The batch of an iteration."""
        return self.campaign.path(f"batches/{number}")

    def weights(self, number: int) -> Path:
        """The weights that an iteration decodes with."""
        return self.campaign.path(f"weights/{number}.weights")

    def scores(self) -> dict[int, ScoreReport]:
        """RYPT of what each iteration decoded, by the labels there are now."""
        return decoded_scores(self.campaign, {n: self._list(n) for n in self.journal.results("decode")})

    def best_weights(self, scores: Mapping[int, ScoreReport]) -> Path | None:
        """The weights whose list is best by these scores; None before anything is tuned."""
        return self.weights(best_iteration(scores)) if self.journal.results("tune") and scores else None

    def _list(self, number: int) -> str:
        return f"lists/{number}.nbest.gz"

    def _remember_budget(self) -> None:
        """Record a budget that the settings do not have, so that it need not be given again to resume."""
        kept = {"budget": str(self.terms.budget)}
        if self.campaign.settings.loop.budget is None and self.journal.results(BUDGET).get(0) != kept:
            self.journal.add(Entry(0, BUDGET, self.world.now(), kept))

    def _show(self, command: str) -> None:
        """Report the equivalent command."""
        self.world.tell(f"$ {command}")

    def _decode(self, number: int) -> dict[str, Any]:
        self._show(self.commands.decode())
        decoded = self.steps.decode()
        self.world.tell(
            f"iteration {decoded.iteration}: {decoded.candidates} candidates, {decoded.new} new, "
            f"{decoded.all_candidates} in all"
        )
        return {
            "iteration": decoded.iteration,
            "candidates": decoded.candidates,
            "new": decoded.new,
            "all_candidates": decoded.all_candidates,
        }

    def _make(self, number: int) -> dict[str, Any]:
        raised = reuse(self.campaign, self._list(number), self.terms.loop.select)
        asked = {"questions": raised.questions, "reused": raised.reused, "open": raised.open}
        if not raised.open:
            self.world.tell("nothing to ask: no answer would change which candidates are best")
            return {**asked, **NOTHING.as_dict()}
        self._show(
            self.commands.make(self.batch(number), self.left, self.terms.loop, self._batch_seed(number))
        )
        bought = self._affordable(number, self.batch(number))
        if not bought.hits:
            self.world.tell(
                f"${self.left} are left, and the smallest batch costs ${bought.needs}: nothing is asked"
            )
        return {**asked, **bought.as_dict()}

    def _affordable(self, number: int, batch: Path) -> Bought:
        return affordable_batch(self.steps, batch, self.left, self.terms.loop, self._batch_seed(number))

    def _batch_seed(self, number: int) -> int:
        return self.terms.loop.seed + number

    def _publish(self, number: int) -> dict[str, Any]:
        batch = self.batch(number)
        cost = self.steps.price(batch).total
        made = self.journal.result(number, "make") or {}
        published = max(published_hits(batch).values(), default=0)
        if cost > self.left and published < made["hits"]:
            done = f"{published} of {made['hits']} hits were" if published else "nothing was"
            raise RyptError(
                f"{batch} costs ${cost}, and ${self.left} of the budget are left: {done} published"
            )
        self._show(self.commands.publish(batch))
        hits = self._at_market(lambda: self.steps.publish(batch))
        self.world.tell(f"{batch}: ${cost} of ${self.left}")
        return {"hits": hits, "cost": str(cost)}

    def _collect(self, number: int) -> dict[str, Any]:
        """Poll at growing intervals until all answers came or no more can come."""
        made = self.journal.result(number, "make") or {}
        batch, wanted, pause = self.batch(number), int(made["assignments"]), FIRST_PAUSE
        ends = self.journal.time(number, "publish") + lifetime(batch)
        self._show(self.commands.collect(batch))
        count = self._collected(batch)
        self._tell_where(wanted - count)
        before = -1
        while (
            count < wanted and number != self._hurried and self._may_come(batch, ends, look=count == before)
        ):
            if count != before:
                self.world.tell(f"{count} of {wanted} assignments are there; this looks again and again")
                before = count
            self.world.pause(pause)
            pause = self._longer(pause)
            count = self._collected(batch)
        if count < wanted:
            self.world.tell(f"going on without {wanted - count} of {wanted} assignments")
            self._at_market(lambda: self.steps.expire(batch))
            count = self._collected(batch)
        if unread := self.steps.left_out(batch):
            self.world.tell(
                f"{plural(unread, 'unreadable assignment')} left out of the results: unpaid, please review"
            )
        return {"assignments": count, "missing": max(0, wanted - count)}

    def _longer(self, pause: float) -> float:
        return min(pause * GROWTH, max(self.terms.poll, FIRST_PAUSE))

    def _may_come(self, batch: Path, ends: int, *, look: bool) -> bool:
        """Whether an answer can still come; with ``look`` ask the market, because hits may have been expired."""
        if self.world.now() >= ends or not look:
            return self.world.now() < ends
        return self._at_market(lambda: self.steps.is_open(batch))

    def _collected(self, batch: Path) -> int:
        """Collect answers, also late ones to earlier batches; return the number of assignments of this batch."""
        for number, result in self.journal.results("collect").items():
            if result["missing"]:
                late = self.batch(number)
                self._at_market(lambda: self.steps.collect(late))  # noqa: B023 — called at once
        return self._at_market(lambda: self.steps.collect(batch))

    def _at_market(self, step: Callable[[], T]) -> T:
        """Run a step that needs the market; if the market becomes unreachable, wait and repeat the step."""
        while True:
            self._wait_for_market()
            try:
                return step()
            except RyptError:
                if self._is_served():
                    raise

    def _is_served(self) -> bool:
        return self.terms.market.endpoint is not None or is_served(self.market_folder)

    def _wait_for_market(self) -> None:
        pause = FIRST_PAUSE
        while not self._is_served():
            if pause == FIRST_PAUSE:
                serve = self.commands.serve()
                self.world.tell(f"the market in {self.market_folder} is not served; this waits for: {serve}")
            self.world.pause(pause)
            pause = self._longer(pause)

    def _tell_where(self, missing: int) -> None:
        """Report where workers and the requester find the market."""
        if missing > 0 and self.terms.market.endpoint is None:
            url, invite = dashboard_url(self.market_folder), self.commands.invite()
            self.world.tell(f"waiting for workers; dashboard: {url}; invite workers: {invite}")

    def _workers(self, number: int) -> dict[str, Any]:
        """Exclude workers with a bad verdict, except those whom a person has included again."""
        self._show(self.commands.workers())
        reports = self._at_market(self.steps.workers)
        before = {
            worker for result in self.journal.results("workers").values() for worker in result["excluded"]
        }
        excluded = self._excluded(number)  # by this step, before it was killed
        bad = [report for report in reports if report.verdict == "bad" and report.worker not in before]
        bad = [report for report in bad if not report.excluded or report.worker in excluded]
        block = self.terms.loop.block_bad
        for worker, why in [(r.worker, "; ".join(r.reasons)) for r in bad if self.terms.loop.exclude_bad]:
            reason = f"{_by_loop(number)}{why}"
            self.world.tell(f"worker {worker} is excluded: {why}")
            self._show(self.commands.workers("--block" if block else "--exclude", worker, "--reason", reason))
            self._at_market(lambda: self.steps.exclude(worker, reason, block=block))  # noqa: B023 — called at once
        labels = self.steps.labels(self.batch(number))
        return {"workers": len(reports), "excluded": self._excluded(number), "labels": labels}

    def _excluded(self, number: int) -> dict[str, str]:
        """The workers whom an iteration excluded, and why."""
        with self.campaign.database() as db:
            return {who: why for who, why in db.excluded().items() if why.startswith(_by_loop(number))}

    def _score(self, number: int) -> dict[str, Any]:
        """Score the decoder's choice by the current labels, and count its labels."""
        candidates = self.campaign.path(self._list(number))
        self._show(self.commands.score(candidates))
        report = self.steps.score(candidates)
        return {
            "decoded": report.score,
            "labelled": report.coverage.before,
            "coverage": report.coverage.after,
        }

    def _tune(self, number: int) -> dict[str, Any]:
        """New weights from all lists so far; weights that were decoded with already are not touched."""
        seed, threads = self.terms.loop.seed + 1000 * number, self.terms.threads
        decoded = self.campaign.path(self._list(number + 1)).exists()
        weights, output = self.weights(number), None if decoded else self.weights(number + 1)
        self._show(self.commands.tune(weights, output, seed, threads))
        tuned = self.steps.tune(weights, output, seed=seed, threads=threads)
        self.world.tell(
            f"iteration {number}: RYPT {tuned.start_score:.4f} → {tuned.score:.4f} (p = {tuned.gain.p:.3f}); "
            f"${self.spent} of ${self.terms.budget} spent"
        )
        return {
            "before": tuned.start_score,
            "after": tuned.score,
            "gain": tuned.gain.gain,
            "p": tuned.gain.p,
            "weights": dict(tuned.weights),
            "signature": tuned.signature,
        }


def known_budget(campaign: Campaign) -> Decimal | None:
    """The budget in the settings, else the one that was last given to the loop; None if there is none."""
    if campaign.settings.loop.budget is not None:
        return campaign.settings.loop.budget
    kept = Journal(campaign.path(JOURNAL)).results(BUDGET).get(0)
    return None if kept is None else Decimal(kept["budget"])


def _by_loop(number: int) -> str:
    """The beginning of the reason with which an iteration excludes a worker."""
    return f"rypt loop, iteration {number}: "
