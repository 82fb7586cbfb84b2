"""The whole story in one run: a decoder, people's judgments, tuning to BLEU and to RYPT, and which is better.

    train → init → serve, simulate → loop | tune to BLEU → decode unseen segments → rank by people → facts for a report

All is done by the commands that anybody would type, and by the decoder's scripts. What is there is not done again, so
a demo that was interrupted goes on.
"""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hits.market.served import market_url
from rypt.campaign.folder import Campaign
from rypt.children import Child, child, command_line, end
from rypt.demo.facts import Accepted, Facts, Shown
from rypt.demo.texts import DECODER, START, TUNE, UNSEEN, Plan, begin, write_texts
from rypt.loop.best import best_iteration
from rypt.loop.report import rows, simulated_labels
from rypt.loop.runner import Loop, Terms, World
from rypt.loop.steps import read_result, run_step
from rypt.text import RyptError, open_output, read_lines

BASELINE, BLEU, RYPT = "baseline", "BLEU-tuned", "RYPT-tuned"
SYSTEMS = (BASELINE, BLEU, RYPT)
TRUTH = {TUNE: f"{TUNE}.truth.jsonl", UNSEEN: f"{UNSEEN}.scores.jsonl"}  # what simulated workers know
BEAM = "20"  # nodes a stack: less than the decoder's own, for speed
STAGES = 7
PROGRAM = (sys.executable, "-P", "-m")  # the installed package, whatever folder this runs in
PAUSE = 0.3  # seconds at most between two looks at the market


class Story:
    """A demo in a folder; ``tell`` hears what is going on."""

    def __init__(self, folder: Path, plan: Plan, tell: Callable[[str], None], *, port: int = 0) -> None:
        self.folder = folder
        self.plan = plan
        self.tell = tell
        self.port = port
        self.campaign, self.unseen = folder / "campaign", folder / "unseen"
        self.market = self.campaign / "market"
        self._served: Child | None = None
        self._link = ""  # for the person who judges
        self._stage = self._invited = 0  # where it is, and where the person was last told to judge

    def run(self) -> Facts:
        """Do all that is not done yet."""
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

    def _json(self, arguments: Sequence[str]) -> Any:
        """Run a command that prints JSON, and tell it."""
        self.tell(f"  $ {command_line(arguments)}")
        return read_result(arguments, run_step([*arguments, "--json"]))

    def _train(self) -> None:
        self._begin("training the example decoder: word alignment, phrase table, language model")
        model = self.folder / "model"
        if not all((model / name).exists() for name in ("phrase-table", "lm.arpa")):
            corpus = DECODER / "corpus"
            self._scripts(
                [["train", "--source", corpus / "train.de", "--target", corpus / "train.en", "--output", model]]
            )

    def _scripts(self, scripts: Sequence[Sequence[str | Path]]) -> list[str]:
        """Run scripts of the decoder at once, and return what each prints."""
        running: list[subprocess.Popen[str]] = []
        try:
            for name, *arguments in scripts:
                command = [*PROGRAM, f"rypt.demo.decoder.{name}", *map(str, arguments)]
                running.append(
                    subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                        encoding="utf-8",
                    )
                )  # fmt: skip
            said = []
            for (name, *_), process in zip(scripts, running, strict=True):
                out, wrong = process.communicate()
                if process.returncode:
                    raise RyptError(f"{name}: ended with exit code {process.returncode}: {wrong.strip()[-300:]}")
                said.append(out)
            return said
        finally:
            for process in running:
                end(process)

    def _decoder(self, text: str) -> list[str]:
        """The decoder's command, without its weights."""
        model = str((self.folder / "model").resolve())
        return ["-P", "-m", "rypt.demo.decoder.decode", "--model", model, "--input", self._text(text), "--beam", BEAM]

    @property
    def decoding(self) -> str:
        """The decoder as ``rypt`` is told of it."""
        fixed = shlex.join([sys.executable, *self._decoder(f"{TUNE}.de"), "--size", str(self.plan.size)])
        return f"{fixed} --weights {{weights}} --nbest {{nbest}}"

    def _make_campaign(self) -> None:
        self._begin("making a campaign")
        if (self.campaign / "rypt.toml").exists():
            return
        arguments = ["init", str(self.campaign), *self._texts(TUNE), "--weights", self._text(START)]
        arguments += ["--budget", self.plan.budget, "--labels", str(self.plan.labels), "--decoder", self.decoding, "-q"]
        self.tell(f"  $ {command_line(arguments)}")
        run_step(arguments)

    def _texts(self, name: str) -> list[str]:
        own = ["--source", self._text(f"{name}.de"), "--trees", self._text(f"{name}.trees")]
        return [*own, "--references", self._text(f"{name}.en"), "--languages", "de-en"]

    @contextmanager
    def _market(self) -> Iterator[None]:
        """Serve the market, with a link for the person who judges, told when there is something to judge."""
        self._begin("serving a market" + ("" if self.plan.people else ", with SIMULATED workers who come over HTTP"))
        port = market_url(self.market).rstrip("/").rpartition(":")[2] if self.plan.people else ""
        arguments = ["hits", "serve", str(self.market), "--port", str(self.port or port or 0), "--json"]
        with child(arguments, self.folder / "logs" / "market.log") as served:
            self._served = served
            url = json.loads(served.line())["url"]
            self.tell(f"  $ {command_line(arguments)}\n  the market is at {url}")
            if self.plan.people:
                (you,) = self._json(["hits", "invite", "you", "--at", str(self.market)])
                self._link = you["link"]
            yield
            self._served = None

    def _simulate(self, name: str) -> None:
        """Let simulated workers do all that is on the market; they have a process and an end of their own."""
        plan = self.plan
        arguments = [
            "simulate", "--at", str(self.market), "--truth", self._text(TRUTH[name]), "--workers",
            str(plan.workers), "--accuracy", str(plan.accuracy), "--spam", str(plan.spam), "--seed", str(plan.seed),
        ]  # fmt: skip
        self.tell(f"  $ {command_line(arguments)}")
        with child([*arguments, "-q"], self.folder / "logs" / "workers.log") as workers:
            workers.result()

    def _needs_people(self) -> bool:
        return self._new_loop().stopped() is None or not self._done.exists()

    @property
    def _done(self) -> Path:
        """There when all comparisons are collected."""
        return self.unseen / "collected.json"

    def _new_loop(self) -> Loop:
        own = Campaign.open(self.campaign).settings.loop
        own = replace(own, max_iterations=self.plan.iterations, patience=self.plan.iterations)
        own = replace(own, exclude_bad=not self.plan.people)  # whoever looks around quickly is still listened to
        terms = Terms(own, poll=1.0)
        world = World(lambda text: self.tell(f"  {text}"), self._pause, lambda: int(time.time()))
        return Loop(str(self.campaign), terms, world)

    def _pause(self, seconds: float) -> None:
        """Wait for answers: a person's, or those of simulated workers, who come now and do all there is to do.

        They come when a batch is on the market as a whole, so that who does what, and with it all that follows, is the
        same in every run.
        """
        if self._served is not None:
            self._served.check()
        if not self.plan.people:
            self._simulate(TUNE)
            return
        if self._invited != self._stage:
            self._invited = self._stage
            self.tell(f"\n  Judge here: {self._link}\n  This waits for your answers, and goes on by itself.\n")
        time.sleep(min(seconds, PAUSE))

    def _loop(self) -> Loop:
        self._begin("the loop: decode, ask, tune to RYPT, again; and tuning to BLEU beside it")
        loop = self._new_loop()
        if loop.stopped() is None:
            self.tell(f"  $ {command_line(['loop', str(self.campaign), '--yes'])}")
        self.tell(f"  stopped: {loop.run()}")
        return loop

    @contextmanager
    def _tuning_to_bleu(self) -> Iterator[Child | None]:
        """Tune to BLEU beside all else, unless it is done."""
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
        self.tell(f"  $ {command_line(running.arguments)}")
        said = running.result()
        with open_output(self.folder / "bleu.json") as stream:
            stream.write(said)

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
                ["decode", *fixed, "--size", "1", "--weights", self._weights(name), "--nbest", self._list(name)]
                for name in missing
            ]
        )
        for system in SYSTEMS:
            with open_output(self._output(system)) as stream:
                stream.writelines(f"{line.split(' ||| ')[1]}\n" for _, line in read_lines(self._list(system)))
        if not (self.unseen / "rypt.toml").exists():
            lists = [part for system in SYSTEMS for part in ("--nbest", str(self._list(system)))]
            run_step(["init", str(self.unseen), *self._texts(UNSEEN), *lists, "-q"])

    def _compare(self) -> None:
        """Let workers compare the three systems on unseen segments, on the same market."""
        self._begin("asking which output is better: comparisons on the same market")
        if self._done.exists():
            return
        asked = [(RYPT, BLEU, self.plan.judges), (BASELINE, RYPT, 1), (BASELINE, BLEU, 1)]
        batches = [self._published(*pair) for pair in asked if self._differ(*pair[:2])]
        if batches and not self.plan.people:
            self._simulate(UNSEEN)
        there = sum(self._collected(batch) for batch in batches)
        for row in self._verdicts(self.unseen) if batches else ():
            if row["verdict"] == "bad" and not row["excluded"] and not self.plan.people:
                why = ["--exclude", row["worker"], "--reason", "; ".join(row["reasons"])]
                self._json(["hits", "workers", "-C", str(self.unseen), "--at", str(self.market), *why, "-q"])
        with open_output(self._done) as stream:
            stream.write(json.dumps({"assignments": there}) + "\n")

    def _measure(self) -> dict[str, Accepted]:
        """What is truly acceptable of the three outputs; and the same as truth, by which simulated workers compare.

        Outputs have 1 more than their share there, so that a damaged one, which only controls have, is always worse.
        """
        kept = self.unseen / "accepted.json"
        if not kept.exists():
            truth = ["--trees", self._text(f"{UNSEEN}.trees"), "--truth", self._text(f"{UNSEEN}.truth.jsonl")]
            lists = {name: self._list(name) for name in SYSTEMS}
            said = self._scripts(
                [["accept", *truth, "--nbest", path, "--scores", f"{path}.scores"] for path in lists.values()]
            )
            with open_output(self._text(TRUTH[UNSEEN])) as stream:
                stream.writelines(f"{line}\n" for _, line in read_lines(self._text(f"{UNSEEN}.truth.jsonl")))
                for line in (line for path in lists.values() for _, line in read_lines(f"{path}.scores")):
                    record = json.loads(line)
                    shares = {text: 1 + share for text, share in record["candidates"].items()}
                    stream.write(json.dumps({**record, "candidates": shares}, ensure_ascii=False) + "\n")
            with open_output(kept) as stream:
                found = {name: line.split()[1:4:2] for name, line in zip(SYSTEMS, said, strict=True)}
                stream.write(json.dumps(found) + "\n")
        record = json.loads(kept.read_text(encoding="utf-8"))
        return {name: Accepted(*map(float, record[name])) for name in SYSTEMS}

    def _differ(self, first: str, second: str) -> bool:
        return self._output(first).read_bytes() != self._output(second).read_bytes()

    def _published(self, first: str, second: str, judges: int) -> str:
        """A batch that asks about two systems, on the market."""
        batch = self.unseen / "batches" / f"{first}-{second}"
        if not batch.exists():
            make = ["hits", "make", str(self.unseen), "-o", str(batch), "--kind", "comparison"]
            make += [part for name in (first, second) for part in ("--output-of", f"{name}={self._output(name)}")]
            make += ["--assignments", str(judges), "--limit", str(self.plan.compared), "--seed", str(self.plan.seed)]
            self._json([*make, "-q"])
        self._json(["hits", "publish", str(batch), "--at", str(self.market), "--yes", "-q"])
        return str(batch)

    def _collected(self, batch: str) -> int:
        """Bring all answers to a batch, and wait for them where a person gives them."""
        wanted = int(self._json(["hits", "price", batch])["assignments"])
        collect = ["hits", "collect", batch, "-C", str(self.unseen), "--at", str(self.market), "-q"]
        found = self._json(collect)
        while (there := int(found["assignments"] + found["already"] + found["left_out"])) < wanted:
            self._pause(1.0)
            found = read_result(collect, run_step([*collect, "--json"]))
        return there

    def _verdicts(self, campaign: Path) -> list[dict[str, Any]]:
        arguments = ["hits", "workers", "-C", str(campaign), "--at", str(self.market), "--json", "-q"]
        found: list[dict[str, Any]] = read_result(arguments, run_step(arguments))
        return found

    def _facts(self, loop: Loop, accepted: Mapping[str, Accepted]) -> Facts:
        """Measure: true acceptability, preferences, the ranking, and one explained tree."""
        self._begin("measuring, and writing the report")
        compared = any(self._differ(BASELINE, name) for name in (BLEU, RYPT))
        rank, unseen = ["rank", "systems", str(self.unseen), "-q"], str(self.unseen)
        ranking = self._json(rank) if compared else None
        between = ["rank", "preferences", unseen, "--systems", f"{RYPT},{BLEU}"]
        preferences = self._json(between) if self._differ(RYPT, BLEU) else None
        scores = loop.scores()
        return Facts(
            simulated=self._simulated(), folder=str(self.folder), plan=self.plan,
            rows=rows(loop.journal, scores), best=best_iteration(scores), stopped=loop.stopped() or "",
            labels=self._labels(), spent=loop.spent,
            bleu=json.loads((self.folder / "bleu.json").read_text()),
            accepted=accepted,
            ranking=ranking, preferences=preferences, workers=self._verdicts(self.campaign),
            judges=self._verdicts(self.unseen), tree=self._explained(),
            sizes={name: len(list(read_lines(self._text(f"{name}.de")))) for name in (TUNE, UNSEEN)},
        )  # fmt: skip

    def _labels(self) -> int:
        """How many labels count."""
        with Campaign.open(self.campaign).database() as db:
            return db.count_counted()

    def _simulated(self) -> bool:
        """Whether workers were simulated: here, or by somebody who sent such workers to the market."""
        return not self.plan.people or simulated_labels(Campaign.open(self.campaign)) > 0

    def _explained(self) -> Shown:
        """A candidate whose tree has much to show: labels of both kinds, and a short segment."""
        scored = self._json(["score", str(self.campaign), "--segments", "-q"])["segments"]
        mixed = [row for row in scored if 0.2 < row["score"] < 0.95] or scored
        short = [row for row in mixed if len(row["candidate"].split()) <= 10] or mixed
        best = max(short, key=lambda row: row["before"])
        picture = self.folder / "tree.svg"
        arguments = ["explain", best["segment"], "-C", str(self.campaign), "-o", str(picture)]
        self.tell(f"  $ {command_line(arguments)}")
        return Shown(best["segment"], run_step(arguments), picture.read_text(encoding="utf-8"))
