"""Simulated workers on a served market: they give the truth back, are as accurate as told, and can be interrupted."""

import json
import math
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from local_market import served_app

from hits.batch.folder import new_settings, write_batch
from hits.batch.labels import make_label_batch
from hits.batch.options import BatchOptions
from hits.batch.systems import make_system_batch
from hits.market.client import connect
from hits.market.collect import collect_into
from hits.market.folder import change_access, read_access
from hits.market.publish import publish
from hits.records import Choice, Kind
from hits.results.answers import Results
from hits.results.quality import worker_reports
from hits.server.app import make_app
from hits.server.settings import ServeOptions
from hits.simulate.crowd import Crew, simulate
from hits.simulate.truth import Truth, read_truth
from hits.simulate.worker import AwayError
from hits.simulated import is_simulated
from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Label, Segment, Span
from rypt.text import RyptError

pytestmark = pytest.mark.slow

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HONEST = Crew(workers=2, accuracy=1, spam=0, not_sure=0)


@contextmanager
def served(folder, options=None):
    """The whole application of a folder on a loopback port; the client of its market."""
    app = make_app(folder, options=options)
    with app.extensions["market"].store, served_app(app) as url:
        kept = change_access(folder, url=url)
        yield connect(kept.url, kept.access_key, kept.secret_key, "local")


def settings(kind, assignments, name="b"):
    return new_settings(
        kind, seed=1, now=NOW, assignments=assignments, source_language="de", target_language="en", id=name
    )


@pytest.fixture(scope="module")
def labels(unjudged_campaign):
    """A label batch of the demo, and truth: a phrase of an even number of letters is acceptable."""
    return label_batch(unjudged_campaign, 2, BatchOptions(limit=40, controls=0))


def label_batch(folder, assignments, options):
    campaign = Campaign.open(folder)
    batch = make_label_batch(campaign, settings(Kind.LABEL, assignments), options)
    return batch, even_truth(batch, campaign.segments)


def even(phrase):
    return len(phrase) % 2 == 0


def even_truth(batch, segments):
    truth = []
    places = {}
    for item in batch.items:
        c = item.columns
        phrases = places.setdefault((c["segment"], int(c["start"]), int(c["stop"])), [])
        slots = [n for n in range(1, item.size + 1) if even(c[f"phrase_{n}"]) and c[f"control_{n}"] != "NO"]
        phrases += [c[f"phrase_{n}"] for n in slots]
    truth += [{"segment": s.id, "source": s.text} for s in segments]
    truth += [{"segment": s, "start": i, "stop": j, "phrases": found} for (s, i, j), found in places.items()]
    return [json.dumps(record) for record in truth]


def truth_of(lines, tmp_path):
    path = tmp_path / "truth.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_truth(path)


def test_how_bad_a_no_is_comes_back_where_the_page_asks_for_it(tmp_path, unjudged_campaign):
    batch, lines = label_batch(unjudged_campaign, 1, BatchOptions(limit=40, severity=True))
    truth = truth_of(lines, tmp_path)
    for item in batch.items[::2]:  # something near to a wrong phrase is right
        c = item.columns
        known = truth.constituents[c["segment"]][Span(int(c["start"]), int(c["stop"]))]
        known.good.update(f"{c[f'phrase_{n}']} x" for n in range(1, item.size + 1))
    with served(tmp_path / "market") as market:
        published(tmp_path, batch, market)
        simulate(tmp_path / "market", truth, HONEST)
        results, _ = judged(tmp_path, batch, market, Campaign.open(unjudged_campaign).segments)
    judgments = list(results.db.judgments())
    assert {(j.label, j.severity) for j in judgments} == {(Label.YES, None), (Label.NO, 1.0), (Label.NO, 5.0)}
    for j in judgments:
        if j.label is Label.NO:
            assert (j.severity == 1.0) is truth.is_slight(j.segment, j.span, j.phrase)
    damaged = results.db.rows("SELECT DISTINCT expected, answer FROM controls WHERE kind = 'damaged'")
    assert damaged == [("NO", "NO")]


def judged(tmp_path, batch, market, segments=()):
    """What is in a database after collecting: the results."""
    db = JudgmentDatabase(tmp_path / "judgments.db")
    db.add_segments(segments)
    results = Results(db)
    added = collect_into(results, batch, tmp_path / "batch", market)
    assert added.left_out == ()
    return results, added


def published(tmp_path, batch, market):
    write_batch(tmp_path / "batch", batch)
    publish(tmp_path / "batch", market)


def test_accurate_workers_give_the_labels_back(tmp_path, labels, unjudged_campaign):
    batch, lines = labels
    with served(tmp_path / "market") as market:
        published(tmp_path, batch, market)
        found = simulate(tmp_path / "market", truth_of(lines, tmp_path), HONEST)
        results, added = judged(tmp_path, batch, market, Campaign.open(unjudged_campaign).segments)
    asked = sum(item.size for item in batch.items)
    assert added.assignments == found.total.hits == 2 * len(batch.items)
    assert found.total.answers == found.total.right == found.total.known == added.judgments == 2 * asked
    judgments = list(results.db.judgments())
    assert {j.label for j in judgments} == {Label.YES, Label.NO}
    assert all((j.label is Label.YES) is even(j.phrase) for j in judgments)
    assert all(j.source == "simulation" and is_simulated(j.worker) for j in judgments)
    assert all(a.seconds is None for a in results.assignments())
    places = {(j.worker, j.segment, j.span, j.phrase) for j in judgments}
    assert len(places) == len(judgments)  # nothing twice
    assert found.hours == pytest.approx(2 * asked * 8.4 / 3600)


def test_a_database_is_truth_too(tmp_path, demo_campaign, unjudged_campaign):
    batch, _ = label_batch(unjudged_campaign, 1, BatchOptions(limit=60, controls=0))
    with Campaign.open(demo_campaign).database() as db:
        votes = {(v.segment, v.span, v.phrase): v for v in db.votes()}
        truth = read_truth(db.path)
    with served(tmp_path / "market") as market:
        published(tmp_path, batch, market)
        simulate(tmp_path / "market", truth, HONEST)
        results, _ = judged(tmp_path, batch, market, Campaign.open(unjudged_campaign).segments)
    found = Counter()
    for j in results.db.judgments():
        v = votes.get((j.segment, j.span, j.phrase))
        counts = [(v.yes, Label.YES), (v.no, Label.NO), (v.not_sure, Label.NOT_SURE)] if v else []
        most = [label for count, label in counts if count == max(counts)[0]]
        expected = most[0] if len(most) == 1 else Label.NOT_SURE
        assert j.label is expected
        found[expected] += 1
    assert min(found[Label.YES], found[Label.NO]) > 3


def outputs_and_truth():
    """Five systems; the quality of a candidate is told as a number."""
    segments = [Segment(str(i), f"satz nummer {i}") for i in range(4)]
    outputs = {f"s{k}": {s.id: f"text {k} of {s.id}" for s in segments} for k in range(5)}
    truth = Truth()
    quality = {}
    for s in segments:
        truth.add_source(s.id, s.text)
        for k in range(5):
            quality[s.id, f"s{k}"] = ((k * 7 + int(s.id) * 3) % 4) / 4  # some are equal
        truth.candidates[s.id] = {outputs[f"s{k}"][s.id]: quality[s.id, f"s{k}"] for k in range(5)}
    return segments, outputs, truth, quality


@pytest.mark.parametrize("kind", [Kind.COMPARISON, Kind.RANKING])
def test_accurate_workers_give_comparisons_back(tmp_path, kind):
    segments, outputs, truth, quality = outputs_and_truth()
    batch = make_system_batch(segments, outputs, settings(kind, 2), control_share=0)
    with served(tmp_path / "market") as market:
        published(tmp_path, batch, market)
        simulate(tmp_path / "market", truth, HONEST)
        results, added = judged(tmp_path, batch, market)
    compared = results.comparisons()
    assert len(compared) == added.comparisons == 2 * 4 * 10
    for c in compared:
        a, b = quality[c.segment, c.system_a], quality[c.segment, c.system_b]
        assert c.choice is (Choice.EQUAL if a == b else Choice.A if a > b else Choice.B)
    assert len({c.choice for c in compared}) == 3


def test_spammers_are_found_and_accuracy_and_doubt_are_as_told(tmp_path, unjudged_campaign):
    batch, lines = label_batch(unjudged_campaign, 5, BatchOptions(limit=60))
    crew = Crew(workers=5, accuracy=0.95, spam=0.4, not_sure=0.1)
    with served(tmp_path / "market") as market:
        published(tmp_path, batch, market)
        found = simulate(tmp_path / "market", truth_of(lines, tmp_path), crew)
        results, _ = judged(tmp_path, batch, market, Campaign.open(unjudged_campaign).segments)
        reports = {report.worker: report for report in worker_reports(results)}
    spammers = {person.id for person in found.people if person.who.spam}
    assert len(spammers) == 2
    assert {worker for worker, report in reports.items() if report.verdict == "bad"} == spammers
    assert all(report.seconds != report.seconds for report in reports.values())  # nobody's time is known
    careful = [person.tally for person in found.people if not person.who.spam]
    answers, known, right = (
        sum(getattr(tally, name) for tally in careful) for name in ("answers", "known", "right")
    )
    assert answers >= 3 * sum(item.size for item in batch.items)

    def deviations(count, of, share):
        return abs(count - of * share) / math.sqrt(of * share * (1 - share))

    assert deviations(right, known, 0.95) < 4
    assert deviations(answers - known, answers, 0.1) < 4


def all_answers(folder):
    """Every stored answer by the names of its worker and item, read from the market's file."""
    from hits.server.store import Store

    with Store(folder / "market.db") as store:
        names = {worker.id: worker.name for worker in store.people.all()}
        with store.file.reading(int(time.time())) as db:
            rows = db.execute(
                "SELECT WorkerId, RequesterAnnotation, fields FROM answers JOIN assignments USING (AssignmentId)"
                " JOIN hits USING (HITId)"
            ).fetchall()
    return sorted((names[worker], annotation, fields) for worker, annotation, fields in rows)


class KilledError(Exception):
    pass


def test_interrupted_and_run_again_every_hit_is_done_once(tmp_path, labels):
    batch, lines = labels
    truth = truth_of(lines, tmp_path)
    crew = Crew(workers=3, accuracy=0.8, spam=0.34, spam_kind="random", not_sure=0.1)
    deaths = (1, 4, 6, 2)
    with served(tmp_path / "market") as market:
        published(tmp_path, batch, market)
        for death in deaths:
            left = [death]

            def told(_, left=left):
                left[0] -= 1
                if left[0] == 0:
                    raise KilledError

            with pytest.raises(KilledError):
                simulate(tmp_path / "market", truth, crew, done=told)
        last = simulate(tmp_path / "market", truth, crew)
        assert last.total.hits == 2 * len(batch.items) - sum(deaths)
        assert simulate(tmp_path / "market", truth, crew).total.hits == 0
    answers = all_answers(tmp_path / "market")
    assert len(answers) == len({(name, item) for name, item, _ in answers}) == 2 * len(batch.items)


def test_by_the_shared_link(tmp_path, labels):
    batch, lines = labels
    with served(tmp_path / "market", ServeOptions(simulated=True)) as market:
        published(tmp_path, batch, market)
        link = read_access(tmp_path / "market").shared_url
        assert simulate(link, truth_of(lines, tmp_path), HONEST).total.hits == 2 * len(batch.items)
        assert all(name.startswith("simulated-") for name, _, _ in all_answers(tmp_path / "market"))
        with pytest.raises(RyptError, match="lets nobody in"):
            simulate(link.replace("/join/", "/join/x"), Truth(), HONEST)
    with pytest.raises(RyptError, match="shared link"):
        simulate("http://127.0.0.1:9/elsewhere", Truth(), HONEST)


def test_watching_takes_what_comes_later_and_ends_with_the_market(tmp_path, labels):
    batch, lines = labels
    done = threading.Event()
    count = []

    def told(_):
        count.append(1)
        if len(count) == 2 * len(batch.items):
            done.set()

    found = []
    truth = truth_of(lines, tmp_path)
    with served(tmp_path / "market") as market:
        watcher = threading.Thread(
            target=lambda: found.append(simulate(tmp_path / "market", truth, HONEST, watch=True, done=told))
        )
        watcher.start()
        published(tmp_path, batch, market)
        assert done.wait(180)
    watcher.join(180)
    assert found[0].closed
    assert found[0].total.hits == 2 * len(batch.items)


def test_a_market_that_is_not_there(tmp_path):
    with pytest.raises(RyptError, match="market"):
        simulate(tmp_path / "nothing", Truth(), HONEST)
    with served(tmp_path / "market"):
        pass
    with pytest.raises(AwayError, match="rypt hits serve"):
        simulate(tmp_path / "market", Truth(), HONEST)


def test_a_paced_worker_takes_time_and_can_be_stopped_in_it(tmp_path, labels):
    batch, lines = labels
    stop, found = threading.Event(), []
    truth, slow = truth_of(lines, tmp_path), Crew(workers=2, seconds=1000, pace=1)
    with served(tmp_path / "market") as market:
        published(tmp_path, batch, market)
        worker = threading.Thread(
            target=lambda: found.append(simulate(tmp_path / "market", truth, slow, stop=stop))
        )
        worker.start()
        until = time.monotonic() + 180
        while not any(hit["NumberOfAssignmentsPending"] for hit in market.hits("b").values()):
            assert time.monotonic() < until
        stop.set()
        worker.join(180)
    assert found[0].total.hits == 0
    assert all_answers(tmp_path / "market") == []


@pytest.mark.parametrize(
    "wrong", [{"accuracy": 1.1}, {"spam": -0.1}, {"workers": 0}, {"spam_kind": "x"}, {"pace": -1}]
)
def test_impossible_crews(wrong):
    with pytest.raises(RyptError, match="must be"):
        Crew(**wrong)


def test_the_command_watches_until_it_is_told_to_stop(tmp_path, labels):
    batch, lines = labels
    truth_of(lines, tmp_path)
    command = [sys.executable, "-c", "from rypt.cli import main; main()", "simulate", "--json", "--watch"]
    options = {
        "market": "market",
        "truth": "truth.jsonl",
        "accuracy": 1,
        "spam": 0,
        "not-sure": 0,
        "workers": 2,
    }
    command += [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    with served(tmp_path / "market") as market:
        published(tmp_path, batch, market)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
            try:
                until = time.monotonic() + 180
                while len(all_answers(tmp_path / "market")) < 2 * len(batch.items):
                    assert time.monotonic() < until
                    threading.Event().wait(0.05)
            finally:
                process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    assert "SIMULATED" in err
    facts = json.loads(out)
    assert (facts["simulated"], facts["accuracy"], facts["hits"]) == (True, 1.0, 2 * len(batch.items))
    assert [worker["name"] for worker in facts["workers"]] == ["simulated-1", "simulated-2"]
    assert sum(worker["answers"] for worker in facts["workers"]) == facts["answers"]
