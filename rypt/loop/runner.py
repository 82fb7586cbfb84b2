"""The complete run: decode, ask people about what is new, tune to their judgments, again (paper, section 8).

    decode → make → publish → collect → workers → score → tune → weights of the next iteration

Each step calls the function of a command and shows that command. A finished step is written to ``loop.jsonl``.
Repeating a step that was done but not recorded changes nothing, so a run that was killed at any point can be resumed
and ends the same. The conditions to stop are checked after each decoding, so the last weights are always decoded with
and can be compared with the earlier ones.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from hits.batch.folder import read_batch
from hits.batch.make import make_batch, price
from hits.batch.options import BatchOptions
from hits.market.client import MarketAddress
from hits.market.collect import collect
from hits.market.ledger import ledgers, published_hits
from hits.market.publish import expire, opened_batch, publish
from hits.market.served import command_line, dashboard_url, is_served, serving
from hits.market.status import batch_status, collection_status
from hits.payment import Price
from hits.results.quality import worker_reports
from hits.results.workers import exclude_workers
from mert.campaign import decode_campaign
from mert.search import SearchSettings
from mert.tuning import tune
from rypt.campaign.folder import Campaign
from rypt.campaign.queries import LabelPrice
from rypt.campaign.queries import queries as campaign_queries
from rypt.campaign.scoring import campaign_scorer, score
from rypt.loop.report import Entry, Journal, LoopReport, best_iteration, iterations
from rypt.options import money
from rypt.scoring.queries import queries
from rypt.scoring.report import ScoreReport, score_report
from rypt.signature import signature
from rypt.text import PathLike, RyptError, plural
from rypt.texts.phrases import phrase_key

T = TypeVar("T")
JOURNAL = "loop.jsonl"
BUDGET = "budget"  # the budget of a campaign whose settings have none, recorded in the journal
STEPS = ("decode", "make", "publish", "collect", "workers", "score", "tune")
ASKING = ("publish", "collect", "workers")  # only where a batch was made
SIGNIFICANT = 0.05
NOTHING = {"hits": 0, "assignments": 0, "answers": 0, "cost": "0", "needs": "0"}  # where no batch is made
PLENTY = Decimal(1_000_000)  # dollars, for a batch that is only made to know its price
FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 1.0, 1.5, 60.0  # seconds between two checks of the market


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
        self.folder = str(opened.folder)
        self.market = opened.settings.market
        self.market_folder = opened.path(self.market.folder)  # where it is a local one
        self.journal = Journal(opened.path(JOURNAL))
        amount = opened.settings.loop.budget
        if budget is not None:
            amount = money(str(budget))
            if amount is None:
                raise RyptError(f"expected a budget such as 25.00, got {budget!r}")
        elif amount is None and (recorded := self.journal.results(BUDGET)):
            amount = Decimal(recorded[0]["budget"])
        self.settings = replace(opened.settings.loop, budget=amount)
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
        by_hand = [batch for batch in folders if batch.name not in ours and ledgers(batch)]
        costs = [Decimal(result["cost"]) for result in published.values()]
        return sum([*costs, *(self._price(batch).total for batch in by_hand)], Decimal(0))

    @property
    def left(self) -> Decimal:
        return max(Decimal(0), self.budget - self.spent)

    @property
    def iteration(self) -> int:
        """The current iteration, or 0 between iterations."""
        last = max(self.journal.results("decode"), default=0)
        return 0 if last in self.journal.results("tune") else last

    def _result(self, number: int, step: str) -> Mapping[str, Any]:
        """The result of a step, empty while it is not done."""
        return self.journal.results(step).get(number, {})

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
            budget = {"budget": str(self.budget)}  # so that it need not be given again to resume
            if self.campaign.settings.loop.budget is None and self._result(0, BUDGET) != budget:
                self.journal.add(Entry(0, BUDGET, int(self._now()), budget))
            while (reason := self.stopped()) is None:
                step = self.pending()
                result = getattr(self, f"_{step}")(self.iteration)
                number = result["iteration"] if step == "decode" else self.iteration
                self.journal.add(Entry(number, step, int(self._now()), result))
            return reason

    def stopped(self) -> str | None:
        number, tuned = self.iteration, self.journal.results("tune")
        if not number or not tuned or self._result(number, "make"):
            return None
        before, patience = max(tuned), self.settings.patience
        needs = Decimal(self._result(before, "make").get("needs", "0"))
        missing, excluded = self._result(before, "collect"), self._result(before, "workers")
        answered = not (needs or missing.get("missing") or excluded.get("excluded"))
        if self._result(number, "decode")["new"] == 0 and answered:  # then only new candidates help
            return "no candidate is new"
        if self.left <= 0 or needs > self.left:
            return "the budget is spent"
        if len(tuned) >= self.settings.max_iterations:
            return f"{len(tuned)} iterations are done" if len(tuned) > 1 else "1 iteration is done"
        last = [result["p"] > SIGNIFICANT for result in list(tuned.values())[-patience:]]
        if len(tuned) > patience and all(last):
            return f"no significant gain in {patience} iterations"
        return None

    def pending(self) -> str:
        number = self.iteration
        if not number:
            return "decode"
        asks = self._result(number, "make").get("hits", 1) > 0
        steps = [step for step in STEPS if asks or step not in ASKING]
        return next(step for step in steps if number not in self.journal.results(step))

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
            made = dict(self._result(self.iteration, "make"))
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
            weights=self.weights(best_iteration(scores)) if tuned else None,
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

    def _show(self, *arguments: object) -> None:
        self.tell(f"$ {command_line([str(argument) for argument in arguments])}")

    def _price(self, batch: Path) -> Price:
        return price(batch, market=self.market.fees)

    def _decode(self, number: int) -> dict[str, Any]:
        self._show("loop", self.folder, "--once")
        decoded = decode_campaign(self.campaign)
        self.tell(f"iteration {decoded.iteration}: {decoded}")
        return {name: getattr(decoded, name) for name in ("iteration", "candidates", "new", "all_candidates")}

    def _make(self, number: int) -> dict[str, Any]:
        settings, batch = self.settings, self.batch(number)
        counts = self._count_questions(number)
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

    def _count_questions(self, number: int) -> dict[str, int]:
        """Count the ``questions`` of a list's frontier, the ``reused`` ones with a label, and the ``open`` ones.

        Open are those of all lists so far, or those of them whose answers may change which candidates are best.
        """
        campaign, settings = self.campaign, self.settings
        with campaign.database() as db:
            judged = {(votes.segment, votes.span, votes.phrase) for votes in db.votes()}
            case = db.case
        candidates = campaign.read_candidates(self.list_file(number))
        asked = queries(campaign.trees, candidates, max_len=campaign.scoring.max_len, case=case)
        reused = sum((query.segment, query.span, phrase_key(query.phrase, case)) in judged for query in asked)
        select = "value" if settings.select == "value" else "frontier"
        label = LabelPrice(assignments=self.market.assignments)
        left = campaign_queries(campaign, select=select, price=label)
        return {"questions": len(asked), "reused": reused, "open": left.useful}

    def _affordable_batch(self, number: int, batch: Path) -> dict[str, Any]:
        """Make a batch that costs at most what is left, or take the existing one if it does; return its numbers.

        Where even one question is too expensive, there are no hits, and ``needs`` is what one costs.
        """
        if batch.exists() and self._price(batch).total > self.left:
            if ledgers(batch):
                raise RyptError(f"{batch} is published and costs more than what is left: raise the budget")
            discarded = batch.with_name(f".{batch.name}.discarded")  # so that it disappears at once
            shutil.rmtree(discarded, ignore_errors=True)
            batch.rename(discarded)
            shutil.rmtree(discarded, ignore_errors=True)
        options = BatchOptions(
            budget=self.left,
            limit=self.settings.labels,
            select=self.settings.select,
            market=self.market.fees,
            seed=self.settings.seed + number,
        )
        if not batch.exists():
            try:
                make_batch(self.folder, batch, options)
            except RyptError:
                with tempfile.TemporaryDirectory() as folder:
                    trial = Path(folder, "batch")
                    make_batch(self.folder, trial, replace(options, limit=1, budget=PLENTY))
                    least = self._price(trial).total
                if least <= self.left:
                    raise
                return {**NOTHING, "needs": str(least)}
        cost = self._price(batch)
        counts = {"hits": cost.hits, "assignments": cost.assignments, "answers": cost.answers}
        return {"batch": read_batch(batch).settings.id, **counts, "cost": str(cost.total), "needs": "0"}

    def _publish(self, number: int) -> dict[str, Any]:
        batch = self.batch(number)
        cost, hits = self._price(batch).total, self._result(number, "make")["hits"]
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
        wanted = self._result(number, "make")["assignments"]
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
