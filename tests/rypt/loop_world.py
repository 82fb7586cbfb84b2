"""All that a loop needs in a test: a campaign with a decoder, a served market, and a worker who knows the truth."""

import csv
import json
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import loop_decoder
from store_lives import available

from hits.server.store import Store
from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import DecoderSettings, Languages, LoopSettings, MarketSettings
from rypt.loop.runner import Loop

HERE = Path(__file__).resolve().parent
SECONDS_EACH = 10  # for an answer, so that nobody is taken for careless


def make_campaign(
    folder, *, budget="5.00", command="loop_decoder:decode", labels=40, select="value", iterations=6
):
    """A campaign without a list: the decoder makes the first."""
    folder.mkdir(parents=True)
    words = [" ".join(f"s{segment}t{i}" for i in range(6)) for segment in range(loop_decoder.SEGMENTS)]
    trees = [
        "(S " + " ".join(f"(NP (N {a}) (N {b}))" for a, b in zip(w[::2], w[1::2], strict=True)) + ")"
        for w in map(str.split, words)
    ]
    (folder / "source").write_text("\n".join(words) + "\n")
    (folder / "trees").write_text("\n".join(trees) + "\n")
    (folder / "start.weights").write_text(loop_decoder.START)
    create_campaign(
        folder,
        source=folder / "source",
        trees=folder / "trees",
        nbest=[],
        languages=Languages("de", "en"),
        decoder=DecoderSettings(command, "start.weights", str(HERE)),
        market=MarketSettings(),
        loop=LoopSettings(budget=Decimal(budget), labels=labels, max_iterations=iterations, select=select),
    )
    return folder


def write_truth(path):
    """What simulated workers know: the acceptable phrases of each constituent."""
    lines = []
    for segment in range(loop_decoder.SEGMENTS):
        lines.append({"segment": str(segment), "source": " ".join(f"s{segment}t{i}" for i in range(6))})
        for constituent, (start, stop) in enumerate(loop_decoder.SPANS):
            texts = [loop_decoder.phrase(segment, constituent, n) for n in range(loop_decoder.PHRASES)]
            good = [text for text in texts if loop_decoder.is_acceptable(text)]
            lines.append({"segment": str(segment), "start": start, "stop": stop, "phrases": good})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@contextmanager
def served(folder):
    """A market in a process of its own."""
    command = [
        sys.executable,
        "-c",
        "from rypt.cli import main; main()",
        "hits",
        "serve",
        str(folder),
        "--port",
        "0",
    ]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=180) == 0


def items(campaign):
    """The items of all batches of a campaign, by batch and item."""
    found = {}
    for folder in sorted((campaign / "batches").glob("[0-9]*")):
        batch = tomllib.loads((folder / "batch.toml").read_text(encoding="utf-8"))["id"]
        with open(folder / "batch.csv", newline="", encoding="utf-8") as stream:
            found |= {(batch, row["item"]): row for row in csv.DictReader(stream)}
    return found


def truth(columns, slot):
    return "YES" if loop_decoder.is_acceptable(columns[f"phrase_{slot}"]) else "NO"


def work(campaign, name="Ada", *, answer=truth, most=10_000, seconds=SECONDS_EACH):
    """A worker does the hits of a campaign's batches, straight in the market's store; how many."""
    known, now = items(campaign), int(time.time())
    with Store(campaign / "market" / "market.db") as store:
        worker = (
            next((w for w in store.people.all() if w.name == name), None)
            or store.people.invite(name, now).worker
        )
        done = 0
        for hit in available(store, worker.id, now):
            if done == most:
                break
            columns = known[tuple(hit["RequesterAnnotation"].split(":", 2)[1:])]
            size = int(columns["size"])
            held = store.work.accept(worker.id, hit["HITId"], now)
            fields = {f"label_{slot}": answer(columns, slot) for slot in range(1, size + 1)}
            store.work.submit(held["AssignmentId"], worker.id, fields, now + seconds * size)
            done += 1
    return done


def make_loop(campaign, *, pause=None, stop_at=(), loop_changes=None, **more):
    """A loop whose pauses are a worker's work unless said otherwise; it stops where it would do a step of ``stop_at``."""
    opened = Campaign.open(campaign)
    settings = replace(opened.settings, loop=replace(opened.settings.loop, **(loop_changes or {})))
    changed = replace(opened, settings=settings)
    loop = Loop(changed, pause=pause or (lambda seconds: work(campaign)), **more)

    def stop(number):
        raise StopError

    for name in stop_at:
        setattr(loop, f"_{name}", stop)
    return loop


class StopError(Exception):
    """Where a test stops a loop."""
