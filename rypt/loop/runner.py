"""The complete run: decode, ask people about what is new, tune to their judgments, again (paper, section 8).

    decode → make → publish → collect → workers → score → tune → weights of the next iteration

Each step calls the function of a command and shows that command. A finished step is written to ``loop.jsonl``.
Repeating a step that was done but not recorded changes nothing, so a run that was killed at any point can be resumed
and ends the same. The conditions to stop are checked after each decoding, so the last weights are always decoded with
and can be compared with the earlier ones.
"""

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from hits.batch.folder import read_batch
from hits.batch.make import price
from hits.market.client import MarketAddress
from hits.market.collect import collect
from hits.market.ledger import ledgers, published_hits
from hits.market.publish import expire, opened_batch, publish
from hits.market.served import command_line, dashboard_url, is_served, serving
from hits.market.status import batch_status, collection_status
from hits.results.quality import worker_reports
from hits.results.workers import exclude_workers
from mert.campaign import decode_campaign
from mert.search import SearchSettings
from mert.tuning import tune
from rypt.campaign.folder import Campaign
from rypt.campaign.scoring import campaign_scorer, score
from rypt.loop.batch import NOTHING, affordable_batch, count_questions
from rypt.loop.journal import Entry, Journal
from rypt.loop.report import LoopReport, best_iteration, iterations
from rypt.options import money
from rypt.scoring.report import ScoreReport, score_report
from rypt.signature import signature
from rypt.text import PathLike, RyptError, plural

T = TypeVar("T")
JOURNAL = "loop.jsonl"
BUDGET = "budget"  # the budget of a campaign whose settings have none, recorded in the journal
STEPS = ("decode", "make", "publish", "collect", "workers", "score", "tune")
ASKING = ("publish", "collect", "workers")  # only where a batch was made
SIGNIFICANT = 0.05
FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 1.0, 1.5, 60.0  # seconds between two checks of the market


def known_budget(campaign: Campaign) -> Decimal | None:
    """The budget in the settings, else the one that was last given to the loop; None if there is none."""
    if campaign.settings.loop.budget is not None:
        return campaign.settings.loop.budget
    recorded = Journal(campaign.path(JOURNAL)).results(BUDGET).get(0)
    return None if recorded is None else Decimal(recorded["budget"])


class Loop:
    """Tune a campaign's decoder to people's judgments, in a loop, until there is a reason to stop.

    Decode with the current weights, ask workers about new phrases, wait for their answers, tune to all labels so far,
    and repeat until the budget is spent, no candidate is new, or there is no significant gain. The loop may take days;
    if it is killed, run it again to resume it. Limits are those of the campaign's ``rypt.toml``; ``budget``, the maximum
    total cost in dollars, overrides theirs. ``tell`` is called with progress messages, ``pause`` to wait for seconds,
    and ``now`` for the time.

        loop = rypt.loop.Loop("campaign", budget="25.00")
        loop.run(serve=True)                        # also serves the local market while the loop runs
        loop.report().write("best.weights")
    """

    def __init__(
        self,
        campaign: Campaign | PathLike,
        *,
        budget: Decimal | str | None = None,
        tell: Callable[[str], None] = lambda text: None,
        pause: Callable[[float], object] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        opened = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
        amount = known_budget(opened) if budget is None else money(str(budget))
        if budget is not None and amount is None:
            raise RyptError(f"expected a budget such as 25.00, got {budget!r}")
        self.settings = replace(opened.settings.loop, budget=amount)
        self.folder = str(opened.folder)
        self.market = opened.settings.market
        self.market_folder = opened.path(self.market.folder)  # where it is a local one
        self.journal = Journal(opened.path(JOURNAL))
        self.tell, self._pause, self._now = tell, pause, now

    @property
    def campaign(self) -> Campaign:
        """The campaign as it is now, with all lists so far."""
        return Campaign.open(self.folder)

    @property
    def address(self) -> MarketAddress:
        if self.market.endpoint is not None:
            return MarketAddress(endpoint=self.market.endpoint)
        return MarketAddress(folder=self.market_folder)

    @property
    def budget(self) -> Decimal:
        if self.settings.budget is None:
            raise RyptError('expected a budget: budget = "25.00" in [loop] of rypt.toml, or --budget 25.00')
        return self.settings.budget

    @property
    def spent(self) -> Decimal:
        """The cost of all published batches, including those of the campaign's folder that were published by hand."""
        published = self.journal.results("publish")
        ours = {str(number) for number in (*published, self.iteration)}
        folders = sorted(self.campaign.path("batches").glob("[!.]*"))
        by_hand = [folder for folder in folders if folder.name not in ours and ledgers(folder)]
        costs = [Decimal(result["cost"]) for result in published.values()]
        return sum([*costs, *map(self._price_of, by_hand)], Decimal(0))

    @property
    def left(self) -> Decimal:
        return max(Decimal(0), self.budget - self.spent)

    @property
    def iteration(self) -> int:
        """The current iteration, or 0 between iterations."""
        last = max(self.journal.results("decode"), default=0)
        return 0 if self.journal.result(last, "tune") is not None else last

    def batch(self, number: int) -> Path:
        return self.campaign.path(f"batches/{number}")

    def weights(self, number: int) -> Path:
        """The weights that an iteration decodes with."""
        return self.campaign.path(f"weights/{number}.weights")

    def list_file(self, number: int) -> Path:
        """The list that an iteration decoded."""
        return self.campaign.path(f"lists/{number}.nbest.gz")

    def run(self, *, serve: bool = False) -> str:
        """Run until there is a reason to stop, and return it; ``serve`` also serves the local market meanwhile."""
        if serve and self.market.endpoint is not None:
            raise RyptError(
                f"only a local market can be served, and this campaign's is {self.market.endpoint}"
            )
        serves = serve and self.stopped() is None
        with serving(self.market_folder) if serves else nullcontext() as market, self.journal.opened():
            if market is not None:
                self.tell(f"market at {market.url}")
            budget = {"budget": str(self.budget)}  # kept, so that it need not be given again to resume
            if self.campaign.settings.loop.budget is None and self.journal.results(BUDGET).get(0) != budget:
                self._record(0, BUDGET, budget)
            while (reason := self.stopped()) is None:
                step = self.pending()
                result = getattr(self, f"_{step}")(self.iteration)
                self._record(result["iteration"] if step == "decode" else self.iteration, step, result)
            return reason

    def _record(self, number: int, step: str, result: Mapping[str, Any]) -> None:
        self.journal.add(Entry(number, step, int(self._now()), result))

    def stopped(self) -> str | None:
        number, tuned = self.iteration, self.journal.results("tune")
        if not number or not tuned or self.journal.result(number, "make") is not None:
            return None
        before, patience = max(tuned), self.settings.patience
        made = self.journal.result(before, "make") or {}
        if self.journal.results("decode")[number]["new"] == 0 and self._is_answered(before):
            return "no candidate is new"
        if self.left <= 0 or Decimal(made.get("needs", "0")) > self.left:
            return "the budget is spent"
        if len(tuned) >= self.settings.max_iterations:
            return f"{len(tuned)} iterations are done" if len(tuned) > 1 else "1 iteration is done"
        last = [result["p"] > SIGNIFICANT for result in list(tuned.values())[-patience:]]
        if len(tuned) > patience and all(last):
            return f"no significant gain in {patience} iterations"
        return None

    def _is_answered(self, number: int) -> bool:
        """Whether an iteration had the money to ask, and all answers came and count: then only new candidates help."""
        made, collected, workers = (
            self.journal.result(number, step) or {} for step in ("make", "collect", "workers")
        )
        return not (Decimal(made.get("needs", "0")) or collected.get("missing") or workers.get("excluded"))

    def pending(self) -> str:
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
        step, spent = self.pending(), f"${self.spent:.2f} of ${self.budget:.2f} are spent"
        if step == "decode":
            later = f"at most ${self.left:.2f} come after it"
            return f"decode with the current weights, which costs nothing; {spent}, {later}"
        if step == "make":
            with tempfile.TemporaryDirectory() as folder:
                made = self._affordable_batch(self.iteration, Path(folder) / "batch")
            if not made["hits"]:
                return f"tune; {spent}"
            what = f"{plural(made['hits'], 'hit')} with {plural(made['answers'], 'answer')}"
            return f"make and publish a batch of {what} for ${made['cost']}; {spent}"
        if step in ("publish", "collect"):
            made = dict(self.journal.result(self.iteration, "make") or {})
            done = "publish" if step == "publish" else "wait for the answers to"
            return f"{done} {self.batch(self.iteration)}: {plural(made['hits'], 'hit')} for ${made['cost']}; {spent}"
        return f"{step}, which costs nothing; {spent}"

    def report(self) -> LoopReport:
        scores, tuned = self.scores(), list(self.journal.results("tune").values())
        with self.campaign.database() as db:
            simulated = db.count_by_source().get("simulation", 0)
        return LoopReport(
            stopped=self.stopped() or "",
            budget=self.budget,
            spent=self.spent,
            weights=self.best_weights(scores),
            simulated=simulated,
            signature=signature(tuned[-1]["signature"], iterations=len(tuned)) if tuned else "",
            iterations=iterations(self.journal, scores),
        )

    def scores(self) -> dict[int, ScoreReport]:
        """RYPT of each iteration's output by all labels so far, as ``rypt score --candidates`` prints it.

        Each iteration was scored with the labels of its time, and only scores with the same labels can be compared.
        """
        campaign = self.campaign
        scorer = campaign_scorer(campaign)
        decoded = self.journal.results("decode")
        return {n: score_report(scorer, campaign.read_candidates(self.list_file(n))) for n in decoded}

    def best_weights(self, scores: Mapping[int, ScoreReport]) -> Path | None:
        """The weights whose list is best by these scores; None before anything is tuned."""
        return self.weights(best_iteration(scores)) if self.journal.results("tune") and scores else None

    def _show(self, *arguments: object) -> None:
        self.tell(f"$ {command_line([str(argument) for argument in arguments])}")

    def _price_of(self, batch: Path) -> Decimal:
        return price(batch, market=self.market.fees).total

    def _decode(self, number: int) -> dict[str, Any]:
        self._show("loop", self.folder, "--once")
        decoded = decode_campaign(self.campaign)
        self.tell(f"iteration {decoded.iteration}: {decoded}")
        return {name: getattr(decoded, name) for name in ("iteration", "candidates", "new", "all_candidates")}

    def _make(self, number: int) -> dict[str, Any]:
        settings, batch = self.settings, self.batch(number)
        counts = count_questions(self.campaign, self.list_file(number), settings.select)
        if not counts["open"]:
            self.tell("nothing to ask: no answer would change which candidates are best")
            return {**counts, **NOTHING}
        limits = ["--select", settings.select, "--budget", self.left, "--limit", settings.labels]
        options = ["--seed", settings.seed + number]
        self._show("hits", "make", self.folder, "-o", batch, *limits, *options)
        made = self._affordable_batch(number, batch)
        if not made["hits"]:
            least = made["needs"]
            self.tell(f"${self.left} are left, and the smallest batch costs ${least}: nothing is asked")
        return {**counts, **made}

    def _affordable_batch(self, number: int, batch: Path) -> dict[str, Any]:
        return affordable_batch(self.campaign, self.settings, batch, self.left, self.settings.seed + number)

    def _publish(self, number: int) -> dict[str, Any]:
        batch = self.batch(number)
        cost, hits = self._price_of(batch), (self.journal.result(number, "make") or {})["hits"]
        published = max(published_hits(batch).values(), default=0)
        if cost > self.left and published < hits:
            done = f"{published} of {hits} hits were" if published else "nothing was"
            left = f"${self.left} of the budget are left"
            raise RyptError(f"{batch} costs ${cost}, and {left}: {done} published")
        self._show("hits", "publish", batch)
        hits = self._at_market(lambda: publish(batch, self.address)).hits
        self.tell(f"{batch}: ${cost} of ${self.left}")
        return {"hits": hits, "cost": str(cost)}

    def _collect(self, number: int) -> dict[str, Any]:
        """Poll at growing intervals until all answers came or no more can come."""
        batch, pause, before = self.batch(number), FIRST_PAUSE, -1
        wanted = (self.journal.result(number, "make") or {})["assignments"]
        settings = read_batch(batch).settings
        ends = self.journal.time(number, "publish") + settings.lifetime + settings.duration
        self._show("hits", "collect", batch)
        count = self._collected(batch)
        if count < wanted and self.market.endpoint is None:
            invite = command_line(["hits", "invite", "NAME", "--market", self.folder])
            dashboard = dashboard_url(self.market_folder)
            self.tell(f"waiting for workers; dashboard: {dashboard}; invite workers: {invite}")
        while count < wanted and self._may_come(batch, ends, ask=count == before):
            if count != before:
                self.tell(f"{count} of {wanted} answers so far; checking every few seconds")
                before = count
            self._pause(pause)
            pause = min(pause * GROWTH, LONGEST_PAUSE)
            count = self._collected(batch)
        if count < wanted:
            self.tell(f"going on without {wanted - count} of {wanted} assignments")
            self._at_market(lambda: expire(batch, self.address))
            count = self._collected(batch)
        if unread := collection_status(self.campaign, batch).numbers.left_out_waiting:
            what = plural(unread, "unreadable assignment")
            self.tell(f"{what} left out of the results: unpaid, please review")
        return {"assignments": count, "missing": max(0, wanted - count)}

    def _may_come(self, batch: Path, ends: int, *, ask: bool) -> bool:
        """Whether an answer can still come; with ``ask`` ask the market, because hits may have been expired."""
        if self._now() >= ends or not ask:
            return self._now() < ends
        status = self._at_market(lambda: batch_status(*opened_batch(batch), self.address))
        if status.market is None:
            raise RyptError(status.note or f"{batch} is on no market")
        return bool(status.market.assignable or status.market.pending)

    def _collected(self, batch: Path) -> int:
        """Collect answers, also late ones to earlier batches; return the number of assignments of this batch."""
        late = [self.batch(n) for n, result in self.journal.results("collect").items() if result["missing"]]
        for each in (*late, batch):
            count = self._at_market(lambda: collect(each, self.address, self.campaign).submitted)  # noqa: B023
        return count

    def _at_market(self, step: Callable[[], T]) -> T:
        """Run a step that needs the market; while that cannot be reached, wait and repeat the step."""
        pause = FIRST_PAUSE
        while True:
            try:
                if self._is_served():
                    return step()
            except RyptError:
                if self._is_served():
                    raise
            if pause == FIRST_PAUSE:
                serve = command_line(["hits", "serve", str(self.market_folder)])
                self.tell(f"the market in {self.market_folder} is not served; this waits for: {serve}")
            self._pause(pause)
            pause = min(pause * GROWTH, LONGEST_PAUSE)

    def _is_served(self) -> bool:
        return self.market.endpoint is not None or is_served(self.market_folder)

    def _workers(self, number: int) -> dict[str, Any]:
        """Exclude workers with a bad verdict, except those whom a person has included again."""
        show = ["hits", "workers", "-C", self.folder]
        self._show(*show)
        reports = self._at_market(lambda: worker_reports(self.campaign))
        earlier = {w for result in self.journal.results("workers").values() for w in result["excluded"]}
        excluded = self._excluded(number)  # by this step, before it was killed
        for report in reports if self.settings.exclude_bad else ():
            worker, block = report.worker, self.settings.block_bad
            again = report.excluded and worker not in excluded
            if report.verdict != "bad" or worker in earlier or again:
                continue
            why = "; ".join(report.reasons)
            reason = f"{_by_loop(number)}{why}"
            self.tell(f"worker {worker} is excluded: {why}")
            self._show(*show, "--block" if block else "--exclude", worker, "--reason", reason)
            with self.campaign.database(readonly=False) as db:
                exclude_workers(db, [worker], reason, int(time.time()))
            if block:
                self._at_market(lambda: self.address.open().block(worker, reason))  # noqa: B023
        labels = collection_status(self.campaign, self.batch(number)).numbers.labels
        return {"workers": len(reports), "excluded": self._excluded(number), "labels": labels}

    def _excluded(self, number: int) -> dict[str, str]:
        """The workers whom an iteration excluded, and why."""
        with self.campaign.database() as db:
            return {who: why for who, why in db.excluded().items() if why.startswith(_by_loop(number))}

    def _score(self, number: int) -> dict[str, Any]:
        """Score the decoder's choice by the current labels, and count its labels."""
        self._show("score", self.folder, "--candidates", self.list_file(number))
        report = score(self.campaign, candidates=self.list_file(number))
        coverage = report.coverage
        return {"decoded": report.score, "labelled": coverage.before, "coverage": coverage.after}

    def _tune(self, number: int) -> dict[str, Any]:
        """New weights from all lists so far; weights that were decoded with already are not replaced."""
        weights, output = self.weights(number), self.weights(number + 1)
        decoded = self.list_file(number + 1).exists()
        search = SearchSettings(seed=self.settings.seed + 1000 * number, threads=os.cpu_count() or 1)
        options = ["--metric", "rypt", "--weights", weights]
        numbers = ["--seed", search.seed, "--threads", search.threads]
        self._show("tune", self.folder, *options, *numbers, *([] if decoded else ["-o", output]))
        tuned = tune(campaign=self.campaign, metric="rypt", weights=weights, search=search)
        if not decoded:
            tuned.write(output)
        self.tell(
            f"iteration {number}: RYPT {tuned.start_score:.4f} → {tuned.score:.4f} (p = {tuned.gain.p:.3f}); "
            f"${self.spent} of ${self.budget} spent"
        )
        return {
            "before": tuned.start_score,
            "after": tuned.score,
            "gain": tuned.gain.gain,
            "p": tuned.gain.p,
            "weights": dict(tuned.weights),
            "signature": tuned.signature,
        }


def _by_loop(number: int) -> str:
    """The beginning of the reason with which an iteration excludes a worker."""
    return f"rypt loop, iteration {number}: "
