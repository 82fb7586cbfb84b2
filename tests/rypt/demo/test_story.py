"""The whole demo on a few segments: trained, served, judged over HTTP, tuned, compared, reported; and run again."""

import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from report_page import check_page
from tiny_demo import TINY

from hits.simulate.crowd import Crew, simulate
from hits.simulate.truth import read_truth
from rypt.campaign.folder import Campaign
from rypt.demo.facts import Facts
from rypt.demo.report import write_report
from rypt.demo.story import SYSTEMS, Story
from rypt.text import RyptError

START = """
import signal
import sys
from pathlib import Path
from rypt.demo.story import Story
from tiny_demo import TINY
def interrupt(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, interrupt)  # as the command does
Story(Path(sys.argv[1]), TINY, lambda text: print(text, flush=True)).run()
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Facts, list[str]]:
    """A finished demo, its facts, and what it told."""
    folder, told = tmp_path_factory.mktemp("story") / "demo", []
    return folder, Story(folder, TINY, told.append).run(), told


def test_the_facts_are_those_of_the_campaigns(done: tuple[Path, Facts, list[str]]) -> None:
    folder, facts, _ = done
    with Campaign.open(folder / "campaign").database() as db:
        judgments, excluded = list(db.judgments()), db.excluded()
    assert judgments
    assert all(j.source == "simulation" for j in judgments)
    assert facts.labels == sum(j.worker not in excluded for j in judgments)
    assert [row.asked is None for row in facts.rows] == [
        False,
        False,
        True,
    ]  # and what the last weights decode
    assert facts.spent == sum(row.cost for row in facts.rows) > 0
    ranked = {row["system"] for row in facts.ranking["systems"]}
    assert ranked == set(SYSTEMS)
    assert sum(facts.preferences["judgments"].values()) >= facts.preferences["segments"] > 0
    for name in SYSTEMS:
        assert (folder / f"unseen/outputs/{name}.txt").read_text(encoding="utf-8").count("\n") == 10
        accept = [
            sys.executable,
            "-P",
            "-m",
            "rypt.demo.decoder.accept",
            "--trees",
            folder / "texts/unseen.trees",
            "--truth",
            folder / "texts/unseen.truth.jsonl",
            "--nbest",
            folder / f"unseen/outputs/{name}.nbest",
        ]
        said = subprocess.run(accept, check=True, capture_output=True, text=True, timeout=180).stdout.split()
        assert (float(said[1]), float(said[3])) == (
            facts.accepted[name].constituents,
            facts.accepted[name].segments,
        )


def test_the_report_has_all_sections(done: tuple[Path, Facts, list[str]], tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", done[1])
    page = check_page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert f"{done[1].labels} labels that count came" in page.sections["money"]
    assert json.dumps(done[1].as_dict())


def test_a_second_run_does_nothing_again(done: tuple[Path, Facts, list[str]]) -> None:
    folder, facts, _ = done
    kept = (
        "campaign/loop.jsonl",
        "bleu.json",
        "unseen/accepted.json",
        "model/lm.arpa",
        "campaign/judgments.db",
    )
    before = {name: (folder / name).stat().st_mtime_ns for name in kept}
    told: list[str] = []
    assert Story(folder, TINY, told.append).run() == facts
    assert {name: (folder / name).stat().st_mtime_ns for name in kept} == before
    assert not any(
        word in line for line in told for word in ("hits serve", "simulate", "hits make", "rypt tune")
    )


def test_another_plan_is_refused(done: tuple[Path, Facts, list[str]]) -> None:
    with pytest.raises(RyptError, match="begun here with labels 25"):
        Story(done[0], replace(TINY, labels=30), lambda text: None).run()


def test_ended_in_the_middle_it_leaves_nothing_running_and_goes_on(
    done: tuple[Path, Facts, list[str]], tmp_path: Path
) -> None:
    """Killed, and run again, and told to end, and run again."""
    facts = done[1]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", START, str(tmp_path / "demo")]
    for how in (signal.SIGKILL, signal.SIGTERM):
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
        ) as process:
            pids = []
            for line in process.stdout:
                if "rypt simulate" in line:  # told before it begins
                    pids = _children(process.pid)
                    process.send_signal(how)
                    break
            process.wait(180)
        assert pids  # the market, and tuning to BLEU where it was not done yet
        for pid in pids:
            _wait_for_end(pid)
    again = Story(tmp_path / "demo", TINY, lambda text: None).run()
    assert _without_ids(again) == _without_ids(facts)


def _without_ids(facts: Facts) -> dict[str, object]:
    """The facts without the folder and without the ids of workers, which every market draws anew."""
    rows = [replace(row, excluded=(str(len(row.excluded)),)) for row in facts.rows]
    found = replace(facts, folder="", rows=rows).as_dict()
    return {**found, "excluded": len(facts.excluded)}


def _children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(name) for name in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _wait_for_end(pid: int) -> None:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([process], [], [], 180)[0]
    os.close(process)


def test_a_person_judges_instead(tmp_path: Path) -> None:
    """Somebody who comes by a link of the market gives all answers each time the demo says that it waits for them."""
    plan = replace(TINY, people=True, begun=6, iterations=2, labels=6, compared=2, judges=1, size=3)
    folder = tmp_path / "demo"
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if "Judge here, " in text and ": http://127.0.0.1:" in text:
            truth = read_truth(folder / "texts/tune.truth.jsonl")
            for number, source in enumerate(
                (folder / "texts/unseen.de").read_text(encoding="utf-8").splitlines()
            ):
                truth.add_source(f"u{number}", source)
            simulate(folder / "campaign/market", truth, Crew(workers=1, spam=0))

    facts = Story(folder, plan, tell).run()
    assert facts.simulated  # the demo sent nobody, but those who came were simulated, and the report says so
    assert facts.labels > 0
    write_report(tmp_path / "report.html", facts)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "SIMULATED</strong>: simulated workers came to the market of this demo" in page
    assert facts.excluded == []  # whoever looks around quickly is still listened to
    stages = [text[:2] for text in told if text[1:3] == "/7" or "Judge here" in text]
    assert stages == ["1/", "2/", "3/", "4/", "\n ", "5/", "6/", "\n ", "7/"]
    asked = next(number for number, text in enumerate(told) if "Judge here, a few phrases" in text)
    begun = [number for number, text in enumerate(told) if "rypt simulate" in text]
    assert begun  # simulated workers come first, and not again
    assert max(begun) < asked
    assert len(facts.weights["LM0"]) == 3  # at the start, before the person's labels, after
    assert (facts.yours, facts.pairs) == (0, 0)  # nobody was a person here
