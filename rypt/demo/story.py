"""The demo in one run: judgments, tuning to RYPT and to BLEU, and which result people prefer on unseen segments.

    init → serve, simulate → loop → tune to BLEU → decode unseen segments → compare → results for the report

Each step calls the function of a command and shows that command. Steps whose results exist are skipped, so an
interrupted demo can be resumed.
"""

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hits.batch.make import make_batch, price
from hits.batch.options import BatchOptions
from hits.compare.systems import system_preferences
from hits.market.collect import collect
from hits.market.publish import publish
from hits.market.served import Serving, command_line, market_url, serving
from hits.ranking.rank import rank
from hits.ranking.readers.files import ComparisonFiles
from hits.records import Kind
from hits.results.answers import Results
from hits.results.quality import worker_reports
from hits.results.workers import exclude_workers
from hits.server.invitations import invite, worker_names
from hits.simulate.crowd import Crew, simulate
from hits.simulate.truth import read_truth
from hits.simulated import is_simulated
from mert.loop import Stopping
from mert.search import SearchSettings
from mert.tuning import tune_decoder
from mert.weights import read_weights
from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.campaign.scoring import explain_candidate, score
from rypt.campaign.settings import DecoderSettings, Languages, LoopSettings
from rypt.demo.decoder import decode, read_pool
from rypt.demo.texts import START, TUNE, UNSEEN, Plan, begin
from rypt.loop.runner import Loop
from rypt.records import Label, Span
from rypt.scoring.explain import as_text
from rypt.scoring.queries import queries
from rypt.text import open_output, read_lines

BASELINE, BLEU, RYPT = "baseline", "BLEU-tuned", "RYPT-tuned"
SYSTEMS = (BASELINE, BLEU, RYPT)
STAGES = 7
MOST_SHOWN = 8  # labels in the report; all of a person's
PAUSE = 0.3  # seconds at most between two checks of the market


class Demo:
    """A demo in a folder; ``tell`` is called with progress messages, ``invite`` with the link for a person."""

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        tell: Callable[[str], None],
        *,
        invite: Callable[[str], None] = lambda link: None,
    ) -> None:
        self.folder, self.plan, self.tell, self.invite = folder, plan, tell, invite
        self.campaign, self.unseen = folder / "campaign", folder / "unseen"
        self.market = self.campaign / "market"
        self._comparisons = self.unseen / "batches"
        self._collected = self.unseen / "collected"  # exists once all comparisons are collected
        self._served: Serving | None = None
        self._link = ""  # for the person who judges
        self._person_judges = plan.people  # otherwise whoever answers is simulated
        self._stage = self._invited = 0  # the stage, and the one in which the person was last told to judge

    def run(self) -> dict[str, Any]:
        """Run all steps that are not done yet; return the results as plain values."""
        begin(self.folder, self.plan)
        self._begin("making a campaign")
        if not (self.campaign / "rypt.toml").exists():
            self._make_campaign()
        asks = self._loop().stopped() is None or not self._collected.exists()
        with self._serving() if asks else nullcontext():
            self._run_loop()
            self._tune_to_bleu()
            self._decode_unseen()
            self._compare()
        return self._results()

    def _begin(self, what: str) -> None:
        self._stage += 1
        self.tell(f"{self._stage}/{STAGES} {what}")

    def _show(self, *arguments: object) -> None:
        self.tell(f"  $ {command_line([str(argument) for argument in arguments])}")

    def _text(self, name: str) -> Path:
        return (self.folder / "texts" / name).resolve()

    @property
    def decoder(self) -> str:
        program = [sys.executable, "-P", "-m", "rypt.demo.decoder", str(self._text(f"{TUNE}.pool"))]
        decoder = shlex.join([*program, "--size", str(self.plan.size)])
        return f"{decoder} --weights {{weights}} --nbest {{nbest}}"

    def _make_campaign(self) -> None:
        start, plan = self._text(START), self.plan
        texts = ["--source", self._text(f"{TUNE}.de"), "--trees", self._text(f"{TUNE}.trees")]
        texts += ["--references", self._text(f"{TUNE}.en"), "--languages", "de-en"]
        limits = ["--weights", start, "--budget", plan.budget, "--labels", plan.labels]
        self._show("init", self.campaign, *texts, *limits, "--decoder", self.decoder)
        decoder = DecoderSettings.run_from_here(self.campaign, self.decoder, start)
        self._create(self.campaign, TUNE, [], decoder, LoopSettings(Decimal(plan.budget), plan.labels))

    def _create(
        self,
        folder: Path,
        name: str,
        lists: Sequence[Path],
        decoder: DecoderSettings | None = None,
        loop: LoopSettings | None = None,
    ) -> None:
        create_campaign(
            folder,
            source=self._text(f"{name}.de"),
            trees=self._text(f"{name}.trees"),
            nbest=lists,
            references=[self._text(f"{name}.en")],
            languages=Languages("de", "en"),
            decoder=decoder,
            loop=loop,
        )

    @contextmanager
    def _serving(self) -> Iterator[None]:
        """Serve the market, with a link for the person who judges."""
        workers = "" if self.plan.people else ", with SIMULATED workers who come over HTTP"
        self._begin(f"serving a market{workers}")
        last = urlsplit(market_url(self.market)).port if self.plan.people else None  # links name the port
        with serving(self.market, last or 0) as market:
            self._served = market
            self._show("hits", "serve", self.market)
            self.tell(f"  the market is at {market.url}")
            if self.plan.people:
                self._link = invite(self.market, ["you"])[0].link
            yield
        self._served = None

    def _simulate(self, truth: Path) -> None:
        """Let simulated workers do all that is on the market."""
        plan = self.plan
        crew = ["--workers", plan.workers, "--accuracy", plan.accuracy, "--spam", plan.spam]
        self._show("simulate", "--market", self.market, "--truth", truth, *crew, "--seed", plan.seed)
        simulate(self.market, truth, Crew(plan.workers, plan.accuracy, plan.spam, seed=plan.seed))

    def _pause(self, seconds: float) -> None:
        """Wait for answers: a person's, or those of simulated workers, who do now all there is to do.

        Simulated workers come when a batch is on the market as a whole, so the same workers do the same hits in every
        run.
        """
        if self._served is not None:
            self._served.check()
        if not self._person_judges:
            self._simulate(self._text(f"{TUNE}.truth.jsonl"))
            return
        if self._invited != self._stage:
            self._invited = self._stage
            what = "which of two outputs is better" if self._comparisons.exists() else "a few phrases"
            self.tell(f"\n  Judge here, {what}: {self._link}")
            self.tell("  This waits for your answers, and goes on by itself.\n")
            self.invite(self._link)
        time.sleep(min(seconds, PAUSE))

    def _loop(self, *, simulated: bool = False) -> Loop:
        """The loop; where a person judges, ``simulated`` are the iterations before."""
        plan, campaign = self.plan, Campaign.open(self.campaign)
        iterations = plan.iterations - simulated
        limits = replace(
            campaign.settings.loop,
            labels=plan.begun if simulated else plan.labels,
            max_iterations=iterations,
            patience=iterations,
            exclude_bad=not self._person_judges,  # a person who only looks around is not excluded
        )
        campaign = replace(campaign, settings=replace(campaign.settings, loop=limits))
        return Loop(campaign, tell=lambda text: self.tell(f"  {text}"), pause=self._pause)

    def _run_loop(self) -> None:
        self._begin("the loop: decode, ask, tune to RYPT, again")
        if self.plan.begun and self.plan.iterations > 1:
            self._person_judges = False
            loop = self._loop(simulated=True)
            if len(loop.journal.results("tune")) < self.plan.iterations - 1:
                self.tell("  SIMULATED workers begin; then it is your turn")
                loop.run()
            self._person_judges = self.plan.people
        self._show("loop", self.campaign)
        self.tell(f"  stopped: {self._loop().run()}")

    def _tune_to_bleu(self) -> None:
        self._begin("tuning to BLEU, with the same decoder")
        record, weights, seed = self.folder / "bleu.json", self.folder / "bleu.weights", self.plan.seed
        if record.exists():
            return
        start, references, iterations = self._text(START), self._text(f"{TUNE}.en"), self.plan.iterations
        texts = ["--decoder", self.decoder, "--references", references, "--weights", start]
        options = ["--metric", "bleu", "--folder", self.folder / "bleu", "--max-iterations", iterations]
        self._show("tune", *texts, *options, "--seed", seed, "-o", weights)
        tuned = tune_decoder(
            self.decoder,
            weights=start,
            folder=self.folder / "bleu",
            references=[references],
            search=SearchSettings(seed=seed),
            stopping=Stopping(max_iterations=iterations),
        )
        tuned.write(weights)
        with open_output(record) as stream:
            stream.write(json.dumps({"start_score": tuned.start_score, "score": tuned.score}) + "\n")

    def _weights(self, system: str) -> Path:
        if system == RYPT:
            weights = self._loop().report().weights
            assert weights is not None
            return weights
        return self._text(START) if system == BASELINE else self.folder / "bleu.weights"

    def _output(self, system: str, ending: str = "txt") -> Path:
        return self.unseen / "outputs" / f"{system}.{ending}"

    def _texts(self, system: str) -> list[str]:
        return [line.split(" ||| ")[1] for _, line in read_lines(self._output(system, "nbest"))]

    def _decode_unseen(self) -> None:
        """Decode segments that nothing was tuned on, with the weights of all systems."""
        self._begin("decoding segments that no tuning has seen, with all three weights")
        self._output(BASELINE).parent.mkdir(parents=True, exist_ok=True)
        for system in SYSTEMS:
            if not self._output(system).exists():
                nbest = self._output(system, "nbest")
                decode(self._text(f"{UNSEEN}.pool"), self._weights(system), nbest, 1)
                with open_output(self._output(system)) as stream:
                    stream.writelines(f"{text}\n" for text in self._texts(system))
        if not (self.unseen / "rypt.toml").exists():
            self._create(self.unseen, UNSEEN, [self._output(system, "nbest") for system in SYSTEMS])

    def _compare(self) -> None:
        """Let workers compare the systems on unseen segments, on the same market."""
        self._begin("asking which output is better: comparisons on the same market")
        if self._collected.exists():
            return
        pairs = [(RYPT, BLEU, self.plan.judges), (BASELINE, RYPT, 1), (BASELINE, BLEU, 1)]
        pairs = [pair for pair in pairs if self._differ(*pair[:2])]
        batches = [self._published(*pair) for pair in (pairs[:1] if self.plan.people else pairs)]
        if batches and not self.plan.people:
            self._simulate(self._truth_of_outputs())
        for batch in batches:
            self._show("hits", "collect", batch, "-C", self.unseen, "--market", self.market)
            while collect(batch, self.market, self.unseen).submitted < price(batch).assignments:
                self._pause(1.0)
        bad = [r for r in worker_reports(self.unseen) if r.verdict == "bad" and not r.excluded]
        with Campaign.open(self.unseen).database(readonly=False) as db:
            for report in [] if self.plan.people else bad:
                exclude_workers(db, [report.worker], "; ".join(report.reasons), int(time.time()))
        self._collected.touch()

    def _differ(self, first: str, second: str) -> bool:
        return self._texts(first) != self._texts(second)

    def _published(self, first: str, second: str, judges: int) -> Path:
        batch, plan = self._comparisons / f"{first}-{second}", self.plan
        if not batch.exists():
            outputs = {name: self._output(name) for name in (first, second)}
            options = BatchOptions(
                kind=Kind.COMPARISON, outputs=outputs, assignments=judges, limit=plan.compared, seed=plan.seed
            )
            if plan.people:
                options = replace(options, controls=0.0)
            texts = [word for name, path in outputs.items() for word in ("--output-of", f"{name}={path}")]
            numbers = ["--assignments", judges, "--limit", plan.compared, "--seed", plan.seed]
            self._show("hits", "make", self.unseen, "-o", batch, "--kind", "comparison", *texts, *numbers)
            make_batch(self.unseen, batch, options)
        self._show("hits", "publish", batch, "--market", self.market)
        publish(batch, self.market)
        return batch

    def _truth_of_outputs(self) -> Path:
        """What simulated workers know of the outputs: the share of constituents that is acceptable.

        Outputs have 1 more than their share, so that a damaged one, which only controls have, is always worse.
        """
        path = self._text(f"{UNSEEN}.scores.jsonl")
        shares: dict[str, dict[str, float]] = {}
        for candidate in read_pool(self._text(f"{UNSEEN}.pool")):
            shares.setdefault(candidate.segment, {})[candidate.text] = 1 + candidate.acceptable
        with open_output(path) as stream:
            stream.writelines(f"{line}\n" for _, line in read_lines(self._text(f"{UNSEEN}.truth.jsonl")))
            for segment, scores in shares.items():
                record = {"segment": segment, "candidates": scores}
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
        return path

    def _results(self) -> dict[str, Any]:
        """Measure: true acceptability, preferences, the ranking, and one explained tree."""
        self._begin("measuring, and writing the report")
        loop = self._loop()
        report = loop.report()
        report.plot(self.folder / "loop.svg")
        self._show("rank", "systems", self.unseen)
        compared = any(self._differ(BASELINE, name) for name in (BLEU, RYPT))
        preferences = None
        if self._differ(RYPT, BLEU):
            self._show("rank", "pairs", self.unseen, "--systems", f"{RYPT},{BLEU}")
            preferences = system_preferences(ComparisonFiles((self.unseen,)), RYPT, BLEU).as_dict()
        workers = self._workers(self.campaign)
        with Campaign.open(self.campaign).database() as db:
            labels = db.count_counted()
            person = {(j.segment, j.span, j.phrase) for j in db.judgments() if j.source == "hit"}
        with Campaign.open(self.unseen).database() as db:
            pairs = sum(not is_simulated(comparison.worker) for comparison in Results(db).comparisons())
        return {
            "simulated": not self.plan.people or report.simulated > 0,
            "folder": str(self.folder),
            "plan": asdict(self.plan),
            "stopped": report.stopped,
            "labels": labels,
            "spent": str(report.spent),
            "best": int(report.weights.stem) if report.weights else None,
            "excluded": [worker["worker"] for worker in workers if worker["excluded"]],
            "iterations": report.as_dict()["iterations"],
            "accepted": {system: self._accepted(system) for system in SYSTEMS},
            "bleu": json.loads((self.folder / "bleu.json").read_text(encoding="utf-8")),
            "preferences": preferences,
            "ranking": rank(self.unseen, "expected-wins").as_dict() if compared else None,
            "conclusion": conclusion(preferences),
            "yours": len(person),
            "pairs": pairs,
            "workers": workers,
            "judges": self._workers(self.unseen),
            "tree": self._explained(),
            "sizes": {name: len(list(read_lines(self._text(f"{name}.de")))) for name in (TUNE, UNSEEN)},
            "served": self._served_most(person),
            "weights": self._weights_over_time(),
        }

    def _accepted(self, system: str) -> dict[str, float]:
        """True acceptability of an output: the mean share of constituents, and the share of whole segments."""
        shares = {(c.segment, c.text): c.acceptable for c in read_pool(self._text(f"{UNSEEN}.pool"))}
        truth, texts = read_truth(self._text(f"{UNSEEN}.truth.jsonl")), self._texts(system)
        sources = [line.split() for _, line in read_lines(self._text(f"{UNSEEN}.de"))]
        whole = [
            truth.label(str(i), Span(0, len(source)), text) == Label.YES
            for i, (source, text) in enumerate(zip(sources, texts, strict=True))
        ]
        parts = [shares[str(i), text] for i, text in enumerate(texts)]
        return {"constituents": sum(parts) / len(parts), "segments": sum(whole) / len(whole)}

    def _workers(self, campaign: Path) -> list[dict[str, Any]]:
        names = worker_names(self.market)
        return [{"name": names.get(report.worker), **report.as_dict()} for report in worker_reports(campaign)]

    def _served_most(self, person: set[tuple[str, Span, str]]) -> list[tuple[str, str, str, int]]:
        """The labels that serve the most candidates, a person's only: constituent, phrase, label, candidates."""
        campaign = Campaign.open(self.campaign)
        with campaign.database() as db:
            votes = {(row.segment, row.span, row.phrase): row for row in db.votes() if row.yes != row.no}
            case = db.case
        asked = queries(campaign.trees, campaign.candidates, max_len=campaign.scoring.max_len, case=case)
        served = []
        for query in asked:
            key = (query.segment, query.span, query.phrase)
            if key in votes and (not person or key in person):
                label = "YES" if votes[key].yes > votes[key].no else "NO"
                served.append((query.source_phrase, query.phrase, label, query.candidates))
        return sorted(served, key=lambda row: -row[3])[: None if person else MOST_SHOWN]

    def _weights_over_time(self) -> dict[str, list[float]]:
        """Each weight at the start, before a person's labels, and in the result; scaled, as only proportions matter."""
        files = [self._weights(BASELINE), self._weights(RYPT)]
        before = self.campaign / "weights" / f"{self.plan.iterations}.weights"
        if self.plan.begun and before.exists():
            files.insert(1, before)
        columns: list[dict[str, float]] = []
        for values in (read_weights(path).values for path in files):
            total = sum(map(abs, values.values())) or 1.0
            columns.append({name: value / total for name, value in values.items()})
        return {name: [column.get(name, 0.0) for column in columns] for name in columns[0]}

    def _explained(self) -> dict[str, str]:
        """A candidate whose tree has much to show: labels of both kinds, and a short segment."""
        campaign = Campaign.open(self.campaign)
        segments = score(campaign).segments
        mixed = [segment for segment in segments if 0.2 < segment.score < 0.95] or segments
        short = [segment for segment in mixed if len(segment.candidate.split()) <= 10] or mixed
        best = max(short, key=lambda segment: segment.before)
        picture = self.folder / "tree.svg"
        self._show("explain", best.segment, "-C", self.campaign, "-o", picture)
        explanation = explain_candidate(campaign, best.segment)
        explanation.write(picture)
        return {"segment": best.segment, "outline": as_text(explanation)}


def conclusion(preferences: dict[str, Any] | None) -> str:
    """Whether one of two systems is significantly better, in a sentence."""
    if preferences is None or preferences["net"] is None:
        return f"no difference: {RYPT} and {BLEU} were not found to say anything different"
    net, low, high = (100 * preferences[name] for name in ("net", "low", "high"))
    numbers = f"{net:+.1f} points of the preferences, 95 % interval {low:+.1f} to {high:+.1f}"
    if low <= 0 <= high:
        return f"no significant difference between {RYPT} and {BLEU} on unseen segments ({numbers})"
    return f"{RYPT} is significantly {'better' if net > 0 else 'worse'} than {BLEU} on unseen segments ({numbers})"
