"""The complete run: decode, ask people about what is new, tune to their judgments, again (paper, section 8).

Each step of an iteration is a command of its own:

    decode → hits make → hits publish → hits collect → hits workers → score → tune → weights of the next iteration

A finished step is written to ``loop.jsonl``. A step that was done but not written down changes nothing when it is done
again, so a run that was killed anywhere goes on to the same end. Whether there is a reason to stop is asked after each
decoding, so the last weights are always decoded with, too, and can be compared with the earlier ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from hits.market.served import dashboard_url, is_served
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import LoopSettings
from rypt.children import command_line
from rypt.loop.batch import (
    affordable_batch,
    by_hand,
    lifetime,
    market_arguments,
    price_arguments,
    published_hits,
    reuse,
)
from rypt.loop.best import best_iteration, decoded_scores
from rypt.loop.journal import Entry, Journal
from rypt.loop.steps import read_result, run_step
from rypt.metric.report import ScoreReport
from rypt.text import RyptError

JOURNAL = "loop.jsonl"
BUDGET = "budget"  # what a campaign without one was told on the command line, kept in the journal
STEPS = ("decode", "make", "publish", "collect", "workers", "score", "tune")
ASKING = ("publish", "collect", "workers")  # done where a batch was made
SIGNIFICANT = 0.05
FIRST_PAUSE, GROWTH = 1.0, 1.5  # seconds between two looks at the market, and how they grow


@dataclass(frozen=True, slots=True)
class World:
    """What a loop takes from outside: how a command is run, who is told, how time passes."""

    tell: Callable[[str], None]
    pause: Callable[[float], None]
    now: Callable[[], int]
    run: Callable[[Sequence[str]], str] = run_step


@dataclass(frozen=True, slots=True)
class Terms:
    """How one run goes: the settings of the campaign's loop, as this run changes them.

    ``poll`` is the longest pause between two looks at the market. ``go_on`` does not wait for what is missing of the
    batch that is on the market when the run begins; batches published later are waited for.
    """

    loop: LoopSettings
    poll: float = 60.0
    threads: int = 1
    go_on: bool = False

    @property
    def budget(self) -> Decimal:
        """All that may be spent."""
        if self.loop.budget is None:
            raise RyptError('expected a budget: budget = "25.00" in [loop] of rypt.toml, or --budget 25.00')
        return self.loop.budget


class Loop:
    """The run of one campaign, and where it is."""

    def __init__(self, folder: str, terms: Terms, world: World) -> None:
        self.folder = folder
        self.terms = terms
        self.world = world
        self.journal = Journal(Campaign.open(folder).path(JOURNAL))
        self._prices: dict[Path, Decimal] = {}  # of batches that were published by hand
        self._hurried = 0  # the iteration whose missing answers are not waited for

    @property
    def campaign(self) -> Campaign:
        """The campaign as it is now: it grows."""
        return Campaign.open(self.folder)

    @property
    def spent(self) -> Decimal:
        """What all published batches cost, also those of the campaign's folder that were published by hand."""
        published = self.journal.results("publish")
        found = by_hand(self.campaign, {*published, self.iteration})
        for batch in found:
            if batch not in self._prices:
                price = _quietly(self.world)(price_arguments(self.campaign.settings.market, batch))
                self._prices[batch] = Decimal(price["total"])
        return sum(
            [Decimal(result["cost"]) for result in published.values()] + [self._prices[batch] for batch in found],
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

    def run(self) -> str:
        """Go on until there is a reason to stop, and say it."""
        do = {
            "decode": self._decode, "make": self._make, "publish": self._publish, "collect": self._collect,
            "workers": self._workers, "score": self._score, "tune": self._tune,
        }  # fmt: skip
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
        """Why nothing is left to do, None where something is."""
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
        still = [result["p"] > SIGNIFICANT for result in list(tuned.values())[-loop.patience :]]
        if len(tuned) > loop.patience and all(still):
            return f"no significant gain in {loop.patience} iterations"
        return None

    def _answered(self, number: int) -> bool:
        """Whether an iteration had the money to ask, and all answers came and count: then only new candidates help."""
        asked, came, who = (self.journal.result(number, step) or {} for step in ("make", "collect", "workers"))
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

    def batch(self, number: int) -> Path:
        """The batch of an iteration."""
        return self.campaign.path(f"batches/{number}")

    def preview(self, folder: Path) -> dict[str, Any]:
        """The batch that would be made now, made in another folder instead."""
        return self._affordable(self.iteration, folder / "batch", lambda text: None)

    def weights(self, number: int) -> Path:
        """The weights that an iteration decodes with."""
        return self.campaign.path(f"weights/{number}.weights")

    def scores(self) -> dict[int, ScoreReport]:
        """RYPT of what each iteration decoded, by the labels there are now."""
        return decoded_scores(self.campaign, {n: self._list(n) for n in self.journal.results("decode")})

    def best_weights(self, scores: Mapping[int, ScoreReport]) -> Path | None:
        """What the run has come to: the weights whose list is best by these scores; None before anything is tuned."""
        return self.weights(best_iteration(scores)) if self.journal.results("tune") and scores else None

    def _list(self, number: int) -> str:
        return f"lists/{number}.nbest.gz"

    def _remember_budget(self) -> None:
        """Keep a budget that only the command line says: who goes on need not say it again."""
        said = str(self.terms.budget)
        if self.campaign.settings.loop.budget is None and self.journal.results(BUDGET).get(0) != {"budget": said}:
            self.journal.add(Entry(0, BUDGET, self.world.now(), {"budget": said}))

    def _do(self, arguments: Sequence[str]) -> Any:
        """Run a command, as it is told to the person who watches."""
        self.world.tell(f"$ {command_line(arguments)}")
        return read_result(arguments, self.world.run(arguments))

    def _decode(self, number: int) -> dict[str, Any]:
        found = self._do(["decode", self.folder, "--json", "-q"])
        self.world.tell(
            f"iteration {found['iteration']}: {found['candidates']} candidates, {found['new']} new, "
            f"{found['all_candidates']} in all"
        )
        return {name: found[name] for name in ("iteration", "candidates", "new", "all_candidates")}

    def _make(self, number: int) -> dict[str, Any]:
        found = reuse(self.folder, self._list(number), self.terms.loop.select)
        asked = {"questions": found.questions, "reused": found.reused, "open": found.open}
        if not found.open:
            self.world.tell("nothing to ask: no answer would change which candidates are best")
            return {**asked, "hits": 0, "assignments": 0, "answers": 0, "cost": "0", "needs": "0"}
        made = self._affordable(number, self.batch(number), self.world.tell)
        if not made["hits"]:
            self.world.tell(f"${self.left} are left, and the smallest batch costs ${made['needs']}: nothing is asked")
        return {**asked, **made}

    def _affordable(self, number: int, batch: Path, tell: Callable[[str], None]) -> dict[str, Any]:
        loop = self.terms.loop
        return affordable_batch(
            self.campaign, batch, self.left, loop, loop.seed + number, _quietly(self.world), tell
        )  # fmt: skip

    def _publish(self, number: int) -> dict[str, Any]:
        batch = self.batch(number)
        cost = Decimal(_quietly(self.world)(price_arguments(self.campaign.settings.market, batch))["total"])
        made, there = self.journal.result(number, "make") or {}, published_hits(batch)
        if cost > self.left and there < made["hits"]:
            done = f"{there} of {made['hits']} hits were" if there else "nothing was"
            raise RyptError(f"{batch} costs ${cost}, and ${self.left} of the budget are left: {done} published")
        arguments = ["hits", "publish", str(batch), *market_arguments(self.campaign), "--yes", "--json", "-q"]
        found = self._at_market(arguments, self._do)
        self.world.tell(f"{batch}: ${cost} of ${self.left}")
        return {"hits": found["published"] + found["already"], "cost": str(cost)}  # what an earlier try published, too

    def _collect(self, number: int) -> dict[str, Any]:
        """Look again and again, more and more rarely, until all answers are there or none can come any more."""
        made = self.journal.result(number, "make") or {}
        batch, wanted, pause = self.batch(number), int(made["assignments"]), FIRST_PAUSE
        ends = self._published_at(number) + lifetime(batch)
        there = self._brought(batch, number, self._do)
        self._say_where(wanted - there)
        told = -1
        while there < wanted and number != self._hurried and self._may_come(batch, ends, look=there == told):
            if there != told:
                self.world.tell(f"{there} of {wanted} assignments are there; this looks again and again")
                told = there
            self.world.pause(pause)
            pause = min(pause * GROWTH, max(self.terms.poll, FIRST_PAUSE))
            there = self._brought(batch, number, _quietly(self.world))
        if there < wanted:
            self.world.tell(f"going on without {wanted - there} of {wanted} assignments")
            self._at_market(["hits", "expire", str(batch), *market_arguments(self.campaign), "-q"], self.world.run)
            there = self._brought(batch, number, self._do)
        return {"assignments": there, "missing": max(0, wanted - there)}

    def _may_come(self, batch: Path, ends: int, *, look: bool) -> bool:
        """Whether an answer can still come; with ``look`` the market is asked, for hits may have been expired."""
        if self.world.now() >= ends or not look:
            return self.world.now() < ends
        market = self._at_market(self._status(batch), _quietly(self.world))["market"]
        return bool(market["assignable"] or market["pending"])

    def _status(self, batch: Path) -> list[str]:
        market = market_arguments(self.campaign)
        return ["hits", "status", "-C", self.folder, "--batch", str(batch), *market, "--json", "-q"]

    def _brought(self, batch: Path, number: int, run: Callable[[Sequence[str]], Any]) -> int:
        """Collect, also what came late for earlier batches; how many assignments of this batch there are now."""
        market = market_arguments(self.campaign)
        late = [n for n, result in self.journal.results("collect").items() if result["missing"]]
        found: Mapping[str, Any] = {}
        for each in [*(self.batch(n) for n in late), batch]:
            arguments = ["hits", "collect", str(each), "-C", self.folder, *market, "--json", "-q"]
            found = self._at_market(arguments, run)
        return int(found["assignments"] + found["already"] + found["left_out"])

    def _at_market(self, arguments: Sequence[str], run: Callable[[Sequence[str]], Any]) -> Any:
        """Run a command that needs the market; when that goes away in the middle, wait for it and run it again."""
        while True:
            self._wait_for_market()
            try:
                return run(arguments)
            except RyptError:
                if self._is_served():
                    raise

    def _published_at(self, number: int) -> int:
        return max(e.time for e in self.journal.entries if (e.iteration, e.step) == (number, "publish"))

    def _is_served(self) -> bool:
        market = self.campaign.settings.market
        return market.endpoint is not None or is_served(self.campaign.path(market.folder))

    def _wait_for_market(self) -> None:
        pause = FIRST_PAUSE
        while not self._is_served():
            if pause == FIRST_PAUSE:
                folder = self.campaign.path(self.campaign.settings.market.folder)
                serve = command_line(["hits", "serve", str(folder)])
                self.world.tell(f"the market in {folder} is not served; this waits for: {serve}")
            self.world.pause(pause)
            pause = min(pause * GROWTH, max(self.terms.poll, FIRST_PAUSE))

    def _say_where(self, missing: int) -> None:
        """Where workers and the person who watches find the market."""
        market = self.campaign.settings.market
        if missing <= 0 or market.endpoint is not None:
            return
        folder = self.campaign.path(market.folder)
        invite = command_line(["hits", "invite", "NAME", "--at", str(folder)])
        self.world.tell(f"waiting for workers; dashboard: {dashboard_url(folder)}; invite workers: {invite}")

    def _workers(self, number: int) -> dict[str, Any]:
        """Let workers with a bad verdict not count; one whom a person let count again is left alone."""
        show = ["hits", "workers", "-C", self.folder, *market_arguments(self.campaign), "--json", "-q"]
        rows = self._at_market(show, self._do)
        before = {w for result in self.journal.results("workers").values() for w in result["excluded"]}
        ours = self._excluded(number)  # by this step, before it was killed
        bad = [row for row in rows if row["verdict"] == "bad" and row["worker"] not in before]
        bad = [row for row in bad if not row["excluded"] or row["worker"] in ours]
        how = "--block" if self.terms.loop.block_bad else "--exclude"
        for row in bad if self.terms.loop.exclude_bad else ():
            why = "; ".join(row["reasons"])
            self.world.tell(f"worker {row['worker']} is excluded: {why}")
            self._at_market([*show, how, row["worker"], "--reason", f"{_by_loop(number)}{why}"], self._do)
        counted = self._at_market(self._status(self.batch(number)), self._do)["labels"]
        return {"workers": len(rows), "excluded": self._excluded(number), "labels": counted}

    def _excluded(self, number: int) -> dict[str, str]:
        """The workers whom an iteration excluded, and why."""
        with self.campaign.database() as db:
            return {who: why for who, why in db.excluded().items() if why.startswith(_by_loop(number))}

    def _score(self, number: int) -> dict[str, Any]:
        """What the decoder's own choice is worth by the labels there are now, and how many it has."""
        listed = str(self.campaign.path(self._list(number)))
        found = self._do(["score", self.folder, "--candidates", listed, "--json", "-q"])
        coverage = found["coverage"]
        return {"decoded": found["score"], "labelled": coverage["before"], "coverage": coverage["after"]}

    def _tune(self, number: int) -> dict[str, Any]:
        """New weights from all lists so far; weights that were decoded with already are not touched."""
        seed = self.terms.loop.seed + 1000 * number
        arguments = ["tune", self.folder, "--metric", "rypt", "--weights", str(self.weights(number))]
        arguments += ["--seed", str(seed), "--threads", str(self.terms.threads)]
        if not self.campaign.path(self._list(number + 1)).exists():
            arguments += ["-o", str(self.weights(number + 1))]
        found = self._do([*arguments, "--json", "-q"])
        gain = found["gain"]
        self.world.tell(
            f"iteration {number}: RYPT {found['start_score']:.4f} → {found['score']:.4f} (p = {gain['p']:.3f}); "
            f"${self.spent} of ${self.terms.budget} spent"
        )
        return {
            "before": found["start_score"], "after": found["score"], "gain": gain["gain"], "p": gain["p"],
            "weights": found["weights"], "signature": found["signature"],
        }  # fmt: skip


def known_budget(campaign: Campaign) -> Decimal | None:
    """The budget that the settings say, or else the one that the loop was last told; None where it never was."""
    if campaign.settings.loop.budget is not None:
        return campaign.settings.loop.budget
    said = Journal(campaign.path(JOURNAL)).results(BUDGET).get(0)
    return None if said is None else Decimal(said["budget"])


def _by_loop(number: int) -> str:
    """How the reason begins for which an iteration excludes somebody."""
    return f"rypt loop, iteration {number}: "


def _quietly(world: World) -> Callable[[Sequence[str]], Any]:
    """Run commands without telling."""
    return lambda arguments: read_result(arguments, world.run(arguments))
