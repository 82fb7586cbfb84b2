"""A local market with Prolific: decisions and bonuses reach both, each once, whenever the client is killed."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from local_market import local_market
from prolific_server import FakeProlific, served_prolific
from store_lives import available

from hits.batch.folder import new_settings, write_batch
from hits.batch.systems import make_system_batch
from hits.market.client import Market, MarketError
from hits.market.collect import Reviewed, collect_into, review
from hits.market.folder import BATCHES
from hits.market.prolific import Prolific, ProlificError
from hits.market.publish import publish
from hits.market.recruit import RecruitedMarket, RecruitingLog
from hits.market.status import batch_status
from hits.records import Batch, Kind
from hits.results.answers import Results
from hits.server.store import Store
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment
from rypt.text import RyptError

LONG = "The two controls on your page, which are easy, were both answered wrong, and so was the second page you did."
HITS = 3


@dataclass
class Recruits:
    """A published batch of three hits, a study, and three participants who did all of them."""

    folder: Path
    batch: Batch
    client: Market
    store: Store
    service: FakeProlific
    submissions: dict[str, str]

    def market(self) -> RecruitedMarket:
        """A new client, as each command has one."""
        service = Prolific("secret", self.service.url, pause=lambda seconds: None)
        names = {worker.id: worker.name for worker in self.store.people.all()}
        return RecruitedMarket(self.client, service, lambda: names)

    def assignments(self, name: str) -> list[str]:
        worker = self.store.people.named(name).id
        return [str(each["AssignmentId"]) for each in self.store.work.all(int(time.time()), worker=worker)]

    def decide(self, **decisions: str) -> Reviewed:
        """Review all work of people: an empty text approves, any other is the reason of a rejection."""
        rows = [(each, reason) for name, reason in decisions.items() for each in self.assignments(name)]
        lines = [f'"{each}","{"" if reason else "x"}","{reason}"' for each, reason in rows]
        path = self.folder / "decisions.csv"
        path.write_text("AssignmentId,Approve,Reject\n" + "\n".join(lines) + "\n")
        return review(path, self.market())

    def status(self, name: str) -> str:
        return str(self.service.submissions[self.submissions[name]]["status"])

    def posts(self, end: str) -> int:
        return sum(method == "POST" and path.endswith(end) for method, path in self.service.seen)


@pytest.fixture
def recruits(tmp_path: Path) -> Iterator[Recruits]:
    outputs = {"x": {str(n): f"one {n}" for n in range(HITS)}, "y": {str(n): f"two {n}" for n in range(HITS)}}
    now = datetime(2026, 1, 1, tzinfo=UTC)
    settings = new_settings(Kind.COMPARISON, seed=1, now=now, assignments=4)
    segments = [Segment(str(n), f"eins {n}") for n in range(HITS)]
    batch = make_system_batch(segments, outputs, settings, control_share=0)
    write_batch(tmp_path / "b", batch)
    (tmp_path / "market").mkdir()
    with served_prolific() as service, local_market(tmp_path / "market") as (client, store):
        client.folder = tmp_path / "market"
        publish(tmp_path / "b", client)
        service.studies["s"] = {"id": "s"}
        RecruitingLog(client.folder / BATCHES / settings.id).add(step="study", study="s")
        for name in ("p1", "p2", "p3"):
            do_all(store, store.people.enrol(name, int(time.time())).id)
        do_all(store, store.people.invite("Ada", int(time.time())).worker.id)
        names = {name: service.submit("s", name, "CODE") for name in ("p1", "p2", "p3")}
        yield Recruits(tmp_path, batch, client, store, service, names)


def do_all(store: Store, worker: str) -> None:
    now = int(time.time())
    for hit in available(store, worker, now):
        assignment = store.work.accept(worker, hit["HITId"], now)
        store.work.submit(assignment["AssignmentId"], worker, {"choice": "A"}, now + 9)


def test_a_submission_follows_once_all_work_of_the_person_is_decided(recruits: Recruits) -> None:
    for expected in (Reviewed(2 * HITS, HITS, 0, ()), Reviewed(0, 0, 3 * HITS, ())):
        assert recruits.decide(p1="", p2=f"FAILED_CHECK: {LONG}", Ada="") == expected
        assert (recruits.status("p1"), recruits.status("p2")) == ("APPROVED", "REJECTED")
        assert recruits.posts("/transition/") == 2


def test_anything_done_well_is_paid_and_undecided_work_waits(recruits: Recruits) -> None:
    first, second, third = recruits.assignments("p1")
    market = recruits.market()
    market.reject(first, LONG)
    market.approve(second)
    assert recruits.status("p1") == "AWAITING REVIEW"
    market.reject(third, LONG)
    assert recruits.status("p1") == "APPROVED"


@pytest.mark.parametrize("trouble", ["deaf", "busy"])
def test_killed_between_the_two_markets_the_next_run_tells_the_service(
    recruits: Recruits, trouble: str
) -> None:
    *early, last = recruits.assignments("p1")
    for each in early:
        recruits.market().approve(each)
    market = recruits.market()
    market.status(last)  # it has asked for submissions
    if trouble == "deaf":
        recruits.service.deaf = ["/transition/"]  # carried out, not answered
    else:
        recruits.service.trouble = [503]
    with pytest.raises(ProlificError):
        market.approve(last)
    assert recruits.client.status(last) == "Approved"
    assert recruits.decide(p1="").approved == (0 if trouble == "deaf" else 1)
    assert recruits.status("p1") == "APPROVED"
    assert recruits.decide(p1="").already == HITS


def test_reasons_that_the_service_would_refuse_are_refused_before_anything_is_sent(
    recruits: Recruits,
) -> None:
    with pytest.raises(MarketError, match="at least 100 characters, got 3"):
        recruits.decide(p1="bad")
    assert {recruits.client.status(each) for each in recruits.assignments("p1")} == {"Submitted"}
    recruits.decide(p1=LONG)
    with pytest.raises(MarketError, match="was rejected on Prolific"):
        recruits.decide(p1="")
    assert recruits.status("p1") == "REJECTED"


def test_a_bonus_is_paid_once_and_known_to_both(recruits: Recruits) -> None:
    assignment, worker = recruits.assignments("p1")[0], recruits.store.people.named("p1").id

    def pay(reason: str = "careful", amount: str = "0.50") -> bool:
        return recruits.market().bonus(worker, assignment, Decimal(amount), reason)

    assert (pay(), pay()) == (True, False)
    assert recruits.market().paid(worker, assignment) == Decimal("0.50")
    recruits.service.deaf = ["/pay/"]  # paid, and the answer is lost
    with pytest.raises(ProlificError):
        pay("quick")
    assert recruits.market().paid(worker, assignment) == Decimal("0.50")
    with pytest.raises(RyptError, match="no answer came"):
        pay("quick")
    assert [payment["paid"] for payment in recruits.service.payments.values()] == [1, 1]
    invited = recruits.store.people.named("Ada").id
    assert recruits.market().bonus(invited, recruits.assignments("Ada")[0], Decimal("0.10"), "x")
    assert len(recruits.service.payments) == 2  # who was invited by link is not Prolific's


def test_submissions_are_shown_beside_our_work(recruits: Recruits, tmp_path: Path) -> None:
    recruits.service.submit("s", "p9")  # never came to the market
    recruits.decide(p1="")
    people = batch_status(recruits.batch, tmp_path / "b", recruits.market()).participants
    rows = [(each.participant, each.status, each.code, each.assignments, each.approved) for each in people]
    assert rows == [
        ("p1", "APPROVED", "CODE", HITS, HITS),
        ("p2", "AWAITING REVIEW", "CODE", HITS, 0),
        ("p3", "AWAITING REVIEW", "CODE", HITS, 0),
        ("p9", "AWAITING REVIEW", "", 0, 0),
    ]
    assert people[-1].worker == ""
    with JudgmentDatabase(":memory:") as db:
        collected = collect_into(Results(db), recruits.batch, tmp_path / "b", recruits.market())
    assert (collected.assignments, collected.participants) == (4 * HITS, people)


def test_who_is_approved_and_not_paid_is_named(recruits: Recruits) -> None:
    for name, status in (("p1", "TIMED-OUT"), ("p2", "ACTIVE")):
        recruits.service.submissions[recruits.submissions[name]]["status"] = status
    done = recruits.decide(p1="", p2="", p3="")
    assert done.approved == 3 * HITS
    assert [line.partition(":")[0] for line in done.unsettled] == ["p1", "p2"]
    assert "TIMED-OUT on Prolific, not paid: it cannot be approved there any more" in done.unsettled[0]
    assert "review again once the participant has sent the code" in done.unsettled[1]
    assert (recruits.status("p3"), recruits.posts("/transition/")) == ("APPROVED", 1)
    recruits.service.submissions[recruits.submissions["p2"]]["status"] = (
        "AWAITING REVIEW"  # the code was sent
    )
    later = recruits.service.submit("s", "p2")  # of several, the one to review counts
    recruits.service.submissions[later]["status"] = "RETURNED"
    assert recruits.decide(p2="").unsettled == ()
    assert recruits.status("p2") == "APPROVED"
