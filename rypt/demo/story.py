"""The demo in one run: a decoder, judgments, tuning to BLEU and to RYPT, and which result is better.

    train → init → serve, simulate → loop | tune to BLEU → decode unseen segments → rank by people → facts for a report

Each step calls the public functions, and the equivalent commands are shown; the decoder and the tuning to BLEU run in
child processes. Steps whose results exist are skipped, so an interrupted demo can be resumed.
"""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hits.asking.make import make_batch, price
from hits.asking.questions import BatchOptions, ComparisonQuestions
from hits.compare.systems import system_preferences
from hits.market.collect import collect
from hits.market.publish import publish
from hits.market.served import Serving, market_url, serving
from hits.ranking.rank import ComparisonFiles, rank
from hits.results.quality import worker_reports
from hits.results.workers import exclude_workers
from hits.server.invitations import invite, worker_names
from hits.simulate.crowd import Crew, simulate
from hits.simulated import is_simulated
from mert.weights import read_weights
from rypt.campaign.folder import Campaign, create
from rypt.campaign.scoring import explain_candidate, score
from rypt.campaign.settings import DecoderSettings, Languages, LoopSettings
from rypt.children import Child, child, command_line, end
from rypt.database.answers import AnswerTables
from rypt.demo.facts import Accepted, Facts, Shown
from rypt.demo.texts import DECODER, START, TUNE, UNSEEN, Plan, begin, write_texts
from rypt.loop.best import best_iteration
from rypt.loop.report import rows, simulated_labels
from rypt.loop.runner import Loop, Terms, World
from rypt.records import Span
from rypt.scoring.explain import as_text
from rypt.scoring.queries import queries
from rypt.text import RyptError, open_output, read_lines

BASELINE, BLEU, RYPT = "baseline", "BLEU-tuned", "RYPT-tuned"
SYSTEMS = (BASELINE, BLEU, RYPT)
TRUTH = {TUNE: f"{TUNE}.truth.jsonl", UNSEEN: f"{UNSEEN}.scores.jsonl"}  # what simulated workers know
BEAM = "20"  # nodes per stack: less than the decoder's own, for speed
STAGES, COMPARING = 7, 6  # how many, and the one in which outputs are compared
MOST_SHOWN = 8  # labels in the report; all of a person's
PROGRAM = (sys.executable, "-P", "-m")  # the installed package, whatever folder this runs in
PAUSE = 0.3  # seconds at most between two looks at the market


class Story:
    """A demo in a folder; ``tell`` is called with progress messages, ``invite`` with the link for a person."""

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        tell: Callable[[str], None],
        *,
        port: int = 0,
        invite: Callable[[str], None] = lambda link: None,
    ) -> None:
        self.folder = folder
        self.invite = invite
        self.plan = plan
        self.tell = tell
        self.port = port
        self.campaign, self.unseen = folder / "campaign", folder / "unseen"
        self.market = self.campaign / "market"
        self._served: Serving | None = None
        self._link = ""  # for the person who judges
        self._asks_person = plan.people  # or else whoever answers is simulated
        self._stage = self._invited = 0  # where it is, and where the person was last told to judge

    def run(self) -> Facts:
        """Run all steps that are not done yet."""
        if begin(self.folder, self.plan):
            write_texts(self.folder, self.plan)
        (self.folder / "logs").mkdir(exist_ok=True)
        self._train()
        self._make_campaign()
        with ExitStack() as stack:
            bleu = stack.enter_context(self._tuning_to_bleu())
            if self._needs_people():
                stack.enter_context(self._market())
            loop = self._loop()
            self._finish_bleu(bleu)
            self._decode_unseen()
            accepted = self._measure()
            self._compare()
        return self._facts(loop, accepted)

    def _begin(self, what: str) -> None:
        self._stage += 1
        self.tell(f"{self._stage}/{STAGES} {what}")

    def _text(self, name: str) -> str:
        return str((self.folder / "texts" / name).resolve())

    def _show(self, *arguments: str) -> None:
        """Report the equivalent command."""
        self.tell(f"  $ {command_line(arguments)}")

    def _train(self) -> None:
        self._begin("training the example decoder: word alignment, phrase table, language model")
        model = self.folder / "model"
        if not all((model / name).exists() for name in ("phrase-table", "lm.arpa")):
            corpus = DECODER / "corpus"
            self._scripts(
                [
                    [
                        "train",
                        "--source",
                        corpus / "train.de",
                        "--target",
                        corpus / "train.en",
                        "--output",
                        model,
                    ]
                ]
            )

    def _scripts(self, scripts: Sequence[Sequence[str | Path]]) -> list[str]:
        """Run scripts of the decoder in parallel, and return the output of each."""
        running: list[subprocess.Popen[str]] = []
        try:
            for name, *arguments in scripts:
                command = [*PROGRAM, f"rypt.demo.decoder.{name}", *map(str, arguments)]
                running.append(
                    subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                        encoding="utf-8",
                    )
                )
            outputs = []
            for (name, *_), process in zip(scripts, running, strict=True):
                out, wrong = process.communicate()
                if process.returncode:
                    raise RyptError(
                        f"{name}: ended with exit code {process.returncode}: {wrong.strip()[-300:]}"
                    )
                outputs.append(out)
            return outputs
        finally:
            for process in running:
                end(process)

    def _decoder(self, text: str) -> list[str]:
        """The decoder's command, without its weights."""
        model = str((self.folder / "model").resolve())
        return [
            "-P",
            "-m",
            "rypt.demo.decoder.decode",
            "--model",
            model,
            "--input",
            self._text(text),
            "--beam",
            BEAM,
        ]

    @property
    def decoding(self) -> str:
        """The decoder's command as an option for ``rypt``."""
        fixed = shlex.join([sys.executable, *self._decoder(f"{TUNE}.de"), "--size", str(self.plan.size)])
        return f"{fixed} --weights {{weights}} --nbest {{nbest}}"

    def _make_campaign(self) -> None:
        self._begin("making a campaign")
        if (self.campaign / "rypt.toml").exists():
            return
        start = self._text(START)
        self._show(
            "init",
            str(self.campaign),
            *self._text_options(TUNE),
            "--weights",
            start,
            "--budget",
            self.plan.budget,
            "--labels",
            str(self.plan.labels),
            "--decoder",
            self.decoding,
        )
        self._create(
            self.campaign,
            TUNE,
            [],
            decoder=DecoderSettings.run_from_here(self.campaign, self.decoding, start),
            loop=LoopSettings(Decimal(self.plan.budget), self.plan.labels),
        )

    def _create(self, folder: Path, name: str, lists: Sequence[Path], **settings: Any) -> Campaign:
        """A campaign of one part of the texts."""
        return create(
            folder,
            source=self._text(f"{name}.de"),
            trees=self._text(f"{name}.trees"),
            nbest=lists,
            references=[self._text(f"{name}.en")],
            languages=Languages("de", "en"),
            **settings,
        )

    def _text_options(self, name: str) -> list[str]:
        options = ["--source", self._text(f"{name}.de"), "--trees", self._text(f"{name}.trees")]
        return [*options, "--references", self._text(f"{name}.en"), "--languages", "de-en"]

    @contextmanager
    def _market(self) -> Iterator[None]:
        """Serve the market, with a link for the person who judges."""
        self._begin(
            "serving a market" + ("" if self.plan.people else ", with SIMULATED workers who come over HTTP")
        )
        kept = urlsplit(market_url(self.market)).port if self.plan.people else None  # links name the port
        with serving(self.market, self.port or kept or 0) as market:
            self._served = market
            self._show("hits", "serve", str(self.market))
            self.tell(f"  the market is at {market.url}")
            if self.plan.people:
                self._link = invite(self.market, ["you"])[0].link
            yield
            self._served = None

    def _simulate(self, name: str) -> None:
        """Let simulated workers do all that is on the market."""
        plan = self.plan
        crew = Crew(plan.workers, plan.accuracy, plan.spam, seed=plan.seed)
        self._show(
            "simulate",
            "--at",
            str(self.market),
            "--truth",
            self._text(TRUTH[name]),
            "--workers",
            str(plan.workers),
            "--accuracy",
            str(plan.accuracy),
            "--spam",
            str(plan.spam),
            "--seed",
            str(plan.seed),
        )
        simulate(self.market, self._text(TRUTH[name]), crew)

    def _needs_people(self) -> bool:
        return self._new_loop().stopped() is None or not self._done.exists()

    @property
    def _done(self) -> Path:
        """A file that exists once all comparisons are collected."""
        return self.unseen / "collected.json"

    def _new_loop(self, *, before: bool = False) -> Loop:
        """The loop; of a demo in which a person judges, ``before`` are the iterations of simulated workers."""
        settings = Campaign.open(self.campaign).settings
        iterations = self.plan.iterations - before
        limits = replace(settings.loop, max_iterations=iterations, patience=iterations)
        limits = replace(limits, labels=self.plan.begun if before else self.plan.labels)
        limits = replace(
            limits, exclude_bad=not self._asks_person
        )  # whoever looks around quickly is listened to
        world = World(lambda text: self.tell(f"  {text}"), self._pause)
        return Loop(str(self.campaign), Terms(limits, settings.market, poll=1.0), world)

    def _pause(self, seconds: float) -> None:
        """Wait for answers: a person's, or those of simulated workers, who come now and do all there is to do.

        They come when a batch is on the market as a whole, so that who does what, and with it all that follows, is the
        same in every run.
        """
        if self._served is not None:
            self._served.check()
        if not self._asks_person:
            self._simulate(TUNE)
            return
        if self._invited != self._stage:
            self._invited = self._stage
            what = "a few phrases" if self._stage < COMPARING else "which of two outputs is better"
            self.tell(
                f"\n  Judge here, {what}: {self._link}\n  This waits for your answers, and goes on by itself.\n"
            )
            self.invite(self._link)
        time.sleep(min(seconds, PAUSE))

    def _loop(self) -> Loop:
        self._begin("the loop: decode, ask, tune to RYPT, again; and tuning to BLEU beside it")
        if self.plan.begun and self.plan.iterations > 1:
            self._asks_person = False
            before = self._new_loop(before=True)
            if len(before.journal.results("tune")) < self.plan.iterations - 1:
                self.tell("  SIMULATED workers begin; then it is your turn")
                before.run()
            self._asks_person = self.plan.people
        loop = self._new_loop()
        if loop.stopped() is None:
            self._show("loop", str(self.campaign))
        self.tell(f"  stopped: {loop.run()}")
        return loop

    @contextmanager
    def _tuning_to_bleu(self) -> Iterator[Child | None]:
        """Tune to BLEU in a child process, unless it is done."""
        if (self.folder / "bleu.json").exists():
            yield None
            return
        arguments = ["tune", "--decoder", self.decoding, "--references", self._text(f"{TUNE}.en")]
        arguments += ["--weights", self._text(START), "--metric", "bleu", "--folder"]
        arguments += [str(self.folder / "bleu"), "--max-iterations", str(self.plan.iterations)]
        arguments += ["--seed", str(self.plan.seed), "-o", str(self._weights(BLEU)), "--json", "-q"]
        with child(arguments, self.folder / "logs" / "bleu.log") as running:
            yield running

    def _finish_bleu(self, running: Child | None) -> None:
        if running is None:
            return
        self._show(*running.arguments)
        result = running.result()
        with open_output(self.folder / "bleu.json") as stream:
            stream.write(result)

    def _weights(self, system: str) -> Path:
        if system == RYPT:
            loop = self._new_loop()
            weights = loop.best_weights(loop.scores())
            assert weights is not None
            return weights
        return Path(self._text(START)) if system == BASELINE else self.folder / "bleu.weights"

    def _list(self, system: str) -> Path:
        return self.unseen / "outputs" / f"{system}.nbest"

    def _output(self, system: str) -> Path:
        return self.unseen / "outputs" / f"{system}.txt"

    def _decode_unseen(self) -> None:
        """Baseline and both results on segments that nothing was tuned on."""
        self._begin("decoding segments that no tuning has seen, with all three weights")
        (self.unseen / "outputs").mkdir(parents=True, exist_ok=True)
        missing = [system for system in SYSTEMS if not self._list(system).exists()]
        _, _, _, *fixed = self._decoder(f"{UNSEEN}.de")
        self._scripts(
            [
                [
                    "decode",
                    *fixed,
                    "--size",
                    "1",
                    "--weights",
                    self._weights(name),
                    "--nbest",
                    self._list(name),
                ]
                for name in missing
            ]
        )
        for system in SYSTEMS:
            with open_output(self._output(system)) as stream:
                stream.writelines(f"{line.split(' ||| ')[1]}\n" for _, line in read_lines(self._list(system)))
        if not (self.unseen / "rypt.toml").exists():
            self._create(self.unseen, UNSEEN, [self._list(system) for system in SYSTEMS])

    def _compare(self) -> None:
        """Let workers compare the three systems on unseen segments, on the same market."""
        self._begin("asking which output is better: comparisons on the same market")
        if self._done.exists():
            return
        asked = [(RYPT, BLEU, self.plan.judges), (BASELINE, RYPT, 1), (BASELINE, BLEU, 1)]
        if self.plan.people:  # ten pages in all: those of labels, and one comparison
            asked = next(([pair] for pair in asked if self._differ(*pair[:2])), [])
        batches = [self._published(*pair) for pair in asked if self._differ(*pair[:2])]
        if batches and not self.plan.people:
            self._simulate(UNSEEN)
        count = sum(self._collected(batch) for batch in batches)
        if batches and not self.plan.people:
            self._exclude_bad()
        with open_output(self._done) as stream:
            stream.write(json.dumps({"assignments": count}) + "\n")

    def _exclude_bad(self) -> None:
        """Exclude the comparisons of workers with a bad verdict."""
        with Campaign.open(self.unseen).database(readonly=False) as db:
            for report in worker_reports(self.unseen):
                if report.verdict == "bad" and not report.excluded:
                    exclude_workers(db, [report.worker], "; ".join(report.reasons), int(time.time()))

    def _measure(self) -> dict[str, Accepted]:
        """The true acceptability of the three outputs, also written as the truth for simulated workers.

        Outputs have 1 more than their share there, so that a damaged one, which only controls have, is always worse.
        """
        kept = self.unseen / "accepted.json"
        if not kept.exists():
            truth = ["--trees", self._text(f"{UNSEEN}.trees"), "--truth", self._text(f"{UNSEEN}.truth.jsonl")]
            lists = {name: self._list(name) for name in SYSTEMS}
            printed = self._scripts(
                [["accept", *truth, "--nbest", path, "--scores", f"{path}.scores"] for path in lists.values()]
            )
            with open_output(self._text(TRUTH[UNSEEN])) as stream:
                stream.writelines(f"{line}\n" for _, line in read_lines(self._text(f"{UNSEEN}.truth.jsonl")))
                for line in (line for path in lists.values() for _, line in read_lines(f"{path}.scores")):
                    record = json.loads(line)
                    shares = {text: 1 + share for text, share in record["candidates"].items()}
                    stream.write(json.dumps({**record, "candidates": shares}, ensure_ascii=False) + "\n")
            with open_output(kept) as stream:
                numbers = {name: line.split()[1:4:2] for name, line in zip(SYSTEMS, printed, strict=True)}
                stream.write(json.dumps(numbers) + "\n")
        record = json.loads(kept.read_text(encoding="utf-8"))
        return {name: Accepted(*map(float, record[name])) for name in SYSTEMS}

    def _differ(self, first: str, second: str) -> bool:
        return self._output(first).read_bytes() != self._output(second).read_bytes()

    def _published(self, first: str, second: str, judges: int) -> Path:
        """A batch that asks about two systems, on the market."""
        batch = self.unseen / "batches" / f"{first}-{second}"
        if not batch.exists():
            outputs = {name: self._output(name) for name in (first, second)}
            controls = 0.0 if self.plan.people else BatchOptions().controls
            options = BatchOptions(
                assignments=judges, limit=self.plan.compared, seed=self.plan.seed, controls=controls
            )
            given = [part for name, path in outputs.items() for part in ("--output-of", f"{name}={path}")]
            self._show("hits", "make", str(self.unseen), "-o", str(batch), "--kind", "comparison", *given)
            make_batch(self.unseen, batch, ComparisonQuestions(outputs), options=options)
        self._show("hits", "publish", str(batch), "--at", str(self.market))
        publish(batch, self.market)
        return batch

    def _collected(self, batch: Path) -> int:
        """Collect all answers to a batch; wait for them if a person judges."""
        wanted = price(batch).assignments
        self._show("hits", "collect", str(batch), "-C", str(self.unseen), "--at", str(self.market))
        while (count := collect(batch, self.market, self.unseen).submitted) < wanted:
            self._pause(1.0)
        return count

    def _verdicts(self, campaign: Path) -> list[dict[str, Any]]:
        names = worker_names(self.market)
        return [{"name": names.get(report.worker), **report.as_dict()} for report in worker_reports(campaign)]

    def _facts(self, loop: Loop, accepted: Mapping[str, Accepted]) -> Facts:
        """Measure: true acceptability, preferences, the ranking, and one explained tree."""
        self._begin("measuring, and writing the report")
        compared = any(self._differ(BASELINE, name) for name in (BLEU, RYPT))
        self._show("rank", "systems", str(self.unseen))
        ranking = rank(self.unseen, "expected-wins").as_dict() if compared else None
        preferences = None
        if self._differ(RYPT, BLEU):
            self._show("rank", "preferences", str(self.unseen), "--systems", f"{RYPT},{BLEU}")
            preferences = system_preferences(ComparisonFiles((self.unseen,)), RYPT, BLEU).as_dict()
        scores = loop.scores()
        return Facts(
            simulated=self._simulated(),
            folder=str(self.folder),
            plan=self.plan,
            rows=rows(loop.journal, scores),
            best=best_iteration(scores),
            stopped=loop.stopped() or "",
            labels=self._labels(),
            spent=loop.spent,
            bleu=json.loads((self.folder / "bleu.json").read_text()),
            accepted=accepted,
            ranking=ranking,
            preferences=preferences,
            workers=self._verdicts(self.campaign),
            judges=self._verdicts(self.unseen),
            tree=self._explained(),
            sizes={name: len(list(read_lines(self._text(f"{name}.de")))) for name in (TUNE, UNSEEN)},
            served=self._served_most(),
            weights=self._weights_then_and_now(),
            yours=len(self._person_keys()),
            pairs=self._pairs(),
        )

    def _labels(self) -> int:
        """How many labels count."""
        with Campaign.open(self.campaign).database() as db:
            return db.count_counted()

    def _person_keys(self) -> set[tuple[str, Span, str]]:
        """What the person judged; empty where all workers were simulated."""
        with Campaign.open(self.campaign).database() as db:
            return {(j.segment, j.span, j.phrase) for j in db.judgments() if j.source == "hit"}

    def _pairs(self) -> int:
        """How many pairs of outputs the person compared."""
        with Campaign.open(self.unseen).database() as db:
            return sum(not is_simulated(row.worker) for row in AnswerTables(db).comparisons())

    def _served_most(self) -> list[tuple[str, str, str, int]]:
        """The labels that serve the most candidates, a person's only: constituent, phrase, label, candidates."""
        given = self._person_keys()
        campaign = Campaign.open(self.campaign)
        with campaign.database() as db:
            votes = {(row.segment, row.span, row.phrase): row for row in db.votes()}
            asked = queries(
                campaign.trees, campaign.candidates, max_len=campaign.scoring.max_len, case=db.case
            )
        rows = [(query, votes.get((query.segment, query.span, query.phrase))) for query in asked]
        labelled = [
            (query.source_phrase, query.phrase, "YES" if row.yes > row.no else "NO", query.candidates)
            for query, row in rows
            if row is not None
            and row.yes != row.no
            and (not given or (query.segment, query.span, query.phrase) in given)
        ]
        return sorted(labelled, key=lambda row: -row[3])[: None if given else MOST_SHOWN]

    def _weights_then_and_now(self) -> dict[str, tuple[float, ...]]:
        """Each weight at the start, before a person's labels, and in the result; scaled, as only proportions matter."""
        files = [self._weights(BASELINE), self._weights(RYPT)]
        begun = self.campaign / "weights" / f"{self.plan.iterations}.weights"
        if self.plan.begun and begun.exists():
            files.insert(1, begun)
        columns = [read_weights(path).values for path in files]
        sums = [sum(map(abs, values.values())) or 1.0 for values in columns]
        return {
            name: tuple(values.get(name, 0.0) / total for values, total in zip(columns, sums, strict=True))
            for name in columns[0]
        }

    def _simulated(self) -> bool:
        """Whether any worker on the market was simulated."""
        return not self.plan.people or simulated_labels(Campaign.open(self.campaign)) > 0

    def _explained(self) -> Shown:
        """A candidate whose tree has much to show: labels of both kinds, and a short segment."""
        campaign = Campaign.open(self.campaign)
        segments = score(campaign).segments
        mixed = [segment for segment in segments if 0.2 < segment.score < 0.95] or segments
        short = [segment for segment in mixed if len(segment.candidate.split()) <= 10] or mixed
        best = max(short, key=lambda segment: segment.before)
        picture = self.folder / "tree.svg"
        self._show("explain", best.segment, "-C", str(self.campaign), "-o", str(picture))
        explanation = explain_candidate(campaign, best.segment)
        explanation.write(picture)
        return Shown(best.segment, as_text(explanation), picture.read_text(encoding="utf-8"))
