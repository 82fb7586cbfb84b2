"""The whole demo on a few segments: served, judged over HTTP, tuned, compared, reported; and run again."""

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
from commands import run

from hits.simulate.crowd import Crew, simulate
from hits.simulate.truth import read_truth
from rypt.campaign.folder import Campaign
from rypt.cli import program as cli
from rypt.demo.decoder import decode, read_pool
from rypt.demo.report import write_report
from rypt.demo.story import SYSTEMS, Demo, conclusion
from rypt.demo.texts import Plan
from rypt.text import RyptError

pytestmark = pytest.mark.slow

TINY = Plan(labels=60, iterations=2, size=5, compared=6, judges=2, workers=4, spam=0.25, segments=10)
SECTIONS = ["story", "labels", "weights", "loop", "workers", "tree", "accepted", "preferences", "ranking"]
START = """
import signal, sys
from pathlib import Path
from rypt.demo.story import Demo
from rypt.demo.texts import Plan
def interrupt(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, interrupt)  # as the command does
Demo(Path(sys.argv[1]), Plan(**eval(sys.argv[2])), lambda text: print(text, flush=True)).run()
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A finished demo, its results and its report."""
    folder = tmp_path_factory.mktemp("story") / "my <demo>"
    results = Demo(folder, TINY, lambda text: None).run()
    return folder, results, write_report(folder, results).read_text(encoding="utf-8")


def test_the_results_are_those_of_the_campaigns(done):
    folder, results, _ = done
    with Campaign.open(folder / "campaign").database() as db:
        judgments, excluded = list(db.judgments()), db.excluded()
    assert judgments
    assert all(j.source == "simulation" for j in judgments)
    assert results["labels"] == sum(j.worker not in excluded for j in judgments)
    rows = results["iterations"]
    assert [row["asked"] is None for row in rows] == [False, False, True]  # and what the last weights decode
    assert rows[1]["new"] > 0  # other weights give other candidates
    assert {row["system"] for row in results["ranking"]["systems"]} == set(SYSTEMS)
    assert results["bleu"]["score"] >= results["bleu"]["start_score"]
    assert all(0 < share["constituents"] < 1 for share in results["accepted"].values())
    assert json.loads(json.dumps(results))["plan"]["segments"] == 10


class Page(HTMLParser):
    """The words of each section, and all that a browser would load."""

    def __init__(self, text):
        super().__init__()
        self.sections, self.loads, self.section = {}, [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        assert tag not in ("script", "iframe", "link") or found["href"] == "data:,"
        assert tag != "img" or found["alt"]
        self.loads += [found[name] for name in ("src", "href") if name in found]
        if tag == "section":
            self.section = found["id"]
            self.sections[self.section] = ""

    def handle_data(self, data):
        if self.section:
            self.sections[self.section] += data


def test_the_report_is_one_page_that_says_what_is_simulated(done):
    _, results, text = done
    page = Page(text)
    assert list(page.sections) == SECTIONS
    assert all(load.startswith("data:") for load in page.loads)
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
    for name, words in page.sections.items():
        assert ("SIMULATED" in words) == (name != "accepted"), name
    assert f"{results['labels']} labels that count came" in " ".join(page.sections["loop"].split())
    assert results["conclusion"] in page.sections["story"]
    assert "<demo>" not in text


def test_every_command_of_the_report_parses(done, capsys, monkeypatch):
    folder, _, text = done
    code = "\n".join(re.findall(r"<pre[^>]*><code>(.*?)</code>", text, re.DOTALL))
    commands = [unescape(line) for line in code.splitlines() if line]
    assert len(commands) > 10
    for line in commands:
        program, *words = shlex.split(line)
        assert program == "rypt"
        command, context = cli.rypt, click.Context(cli.rypt)
        while isinstance(command, click.Group):
            command = command.get_command(context, words.pop(0))
        command.make_context(command.name, words)
    (compare,) = [shlex.split(line)[1:] for line in commands if line.startswith("rypt compare")]
    monkeypatch.chdir(folder.parent)
    assert run(capsys, *compare, "-q")[0] == 0  # the metrics that it names exist
    assert compare[-1].split(",")[0] in Page(text).sections["loop"]


def test_the_conclusion_says_whether_the_difference_is_significant():
    found = {"net": 0.1, "low": -0.05, "high": 0.24}
    assert conclusion(found).startswith("no significant difference between RYPT-tuned and BLEU-tuned")
    assert conclusion({**found, "low": 0.01}).startswith("RYPT-tuned is significantly better than BLEU-tuned")
    assert conclusion(None).startswith("no difference")


def test_a_second_run_does_nothing_again(done):
    folder, results, _ = done
    names = ("campaign/loop.jsonl", "bleu.json", "unseen/outputs/RYPT-tuned.txt", "campaign/judgments.db")
    before = {name: (folder / name).stat().st_mtime_ns for name in names}
    told = []
    assert Demo(folder, TINY, told.append).run() == results
    assert {name: (folder / name).stat().st_mtime_ns for name in names} == before
    assert not any(
        word in line for line in told for word in ("hits serve", "simulate", "hits make", "rypt tune")
    )
    with pytest.raises(RyptError, match="begun here with labels 60"):
        Demo(folder, replace(TINY, labels=30), told.append).run()


def test_ended_in_the_middle_it_leaves_nothing_running_and_can_be_resumed(done, tmp_path):
    """Killed, and run again, and told to end, and run again."""
    plan = repr({name: getattr(TINY, name) for name in TINY.__dataclass_fields__})
    command = [sys.executable, "-c", START, str(tmp_path / "demo"), plan]
    for how in (signal.SIGKILL, signal.SIGTERM):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
            for line in process.stdout:
                if "rypt simulate" in line:  # told before it begins
                    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                    process.send_signal(how)
                    break
            process.wait(180)
        assert children  # the market
        for pid in map(int, children):
            wait_for_end(pid)
    again = Demo(tmp_path / "demo", TINY, lambda text: None).run()
    for name in ("labels", "spent", "accepted", "weights", "bleu", "best"):
        assert again[name] == done[1][name], name


def wait_for_end(pid):
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([process], [], [], 180)[0]
    os.close(process)


def test_a_person_judges_instead(tmp_path):
    """Somebody who comes by a link of the market gives all answers each time the demo says that it waits for them."""
    plan = replace(TINY, people=True, begun=40, iterations=2, labels=6, compared=2, judges=1)
    folder, told = tmp_path / "demo", []

    def tell(text):
        told.append(text)
        if "Judge here, " in text and ": http://127.0.0.1:" in text:
            truth = read_truth(folder / "texts/tune.truth.jsonl")
            for number, source in enumerate((folder / "texts/unseen.de").read_text().splitlines()):
                truth.add_source(f"u{number}", source)
            simulate(folder / "campaign/market", truth, Crew(workers=1, spam=0))

    results = Demo(folder, plan, tell).run()
    page = write_report(folder, results).read_text(encoding="utf-8")
    assert "SIMULATED</strong>: simulated workers came to the market of this demo" in page
    assert results["excluded"] == []  # a person who only looks around is not excluded
    asked = [number for number, text in enumerate(told) if "Judge here, a few phrases" in text]
    compared = [number for number, text in enumerate(told) if "Judge here, which of two" in text]
    simulated = [number for number, text in enumerate(told) if "rypt simulate" in text]
    assert simulated  # simulated workers come first, and not again
    assert max(simulated) < min(asked) < min(compared)
    assert len(results["weights"]["LM0"]) == 3  # at the start, before the person's labels, after
    assert (results["yours"], results["pairs"]) == (0, 0)  # nobody was a person here


def test_the_decoder_writes_the_best_under_the_weights(done, tmp_path):
    pool = done[0] / "texts/tune.pool"
    (tmp_path / "w").write_text(
        "Distortion0= 0\nLM0= 0\nWordPenalty0= 1\nPhrasePenalty0= 0\nTranslationModel0= 0 0 0 0\nUnknownWordPenalty0= 0\n"
    )
    decode(pool, tmp_path / "w", tmp_path / "nbest", 3)
    lines = [line.split(" ||| ") for line in (tmp_path / "nbest").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 30
    shortest = sorted(len(c.text.split()) for c in read_pool(pool) if c.segment == "0")[:3]
    assert [len(line[1].split()) for line in lines[:3]] == shortest
