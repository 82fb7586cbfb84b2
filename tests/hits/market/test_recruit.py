"""Recruiting against a server of our own: one study and one payment, whenever the client is killed."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from prolific_server import FakeProlific, served_prolific

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.systems import make_comparison_batch
from hits.market.folder import SharedTerms, keep_batch, open_access, remember_terms, remember_url
from hits.market.prolific import Prolific, ProlificError
from hits.market.recruit import (
    Recruited,
    RecruitingLog,
    pay_bonus,
    plan_study,
    recruit,
    recruiting_log,
    set_state,
)
from hits.records import Kind
from rypt.records import Segment
from rypt.text import RyptError


@pytest.fixture
def service() -> Iterator[FakeProlific]:
    with served_prolific() as running:
        yield running


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    outputs = {"x": {str(n): f"one {n}" for n in range(6)}, "y": {str(n): f"two {n}" for n in range(6)}}
    settings = new_settings(
        Kind.COMPARISON,
        seed=1,
        now=datetime(2026, 1, 1, tzinfo=UTC),
        assignments=2,
        source_language="de",
        target_language="en",
    )
    segments = [Segment(str(n), f"eins {n}") for n in range(6)]
    write_batch(tmp_path / "b", make_comparison_batch(segments, outputs, settings, control_share=0))
    remember_url(tmp_path / "market", open_access(tmp_path / "market"), "http://127.0.0.1:1/")
    keep_batch(tmp_path / "market", tmp_path / "b", settings.id)
    return tmp_path / "b"


def client(service: FakeProlific, token: str = "secret") -> Prolific:
    return Prolific(token, service.url, pause=lambda seconds: None)


def log_of(batch: Path) -> RecruitingLog:
    return recruiting_log(batch.parent / "market", read_batch(batch).settings.id)


def recruited(batch: Path, service: FakeProlific) -> Recruited:
    plan = plan_study(read_batch(batch), hits_each=3)
    return recruit(batch, batch.parent / "market", client(service), plan, api=service.url)


def test_a_study_is_made_from_the_batch(batch: Path, service: FakeProlific) -> None:
    done = recruited(batch, service)
    (study,) = service.studies.values()
    access = open_access(batch.parent / "market")
    assert (done.made, done.study.status, study["total_available_places"]) == (True, "UNPUBLISHED", 4)
    assert study["external_study_url"] == (
        f"http://127.0.0.1:1/join/{access.join_key}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}"
        "&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    assert [code["code"] for code in study["completion_codes"]] == [
        access.completion_code,
        f"{access.completion_code}X",
        f"{access.completion_code}N",
    ]
    assert study["reward"] == 30  # three hits of ten cents
    assert study["estimated_completion_time"] == 2
    assert done.cost == Decimal("1.60")
    again = recruited(batch, service)
    assert (again.made, again.study.id, len(service.studies)) == (False, done.study.id, 1)


@pytest.mark.parametrize("killed", ["/studies/"])
def test_killed_after_the_study_was_made_it_is_found_again(
    batch: Path, service: FakeProlific, killed: str
) -> None:
    for number in range(5):  # other studies, on several pages
        service.studies[f"o{number}"] = {"id": f"o{number}", "internal_name": "other", "status": "ACTIVE"}
    plan = plan_study(read_batch(batch), hits_each=3)
    broken = client(service)
    broken.find = lambda name, wait: service.deaf.append(killed)  # type: ignore[method-assign,assignment,return-value,func-returns-value]
    with pytest.raises(ProlificError, match="does not answer"):
        recruit(batch, batch.parent / "market", broken, plan, api=service.url)
    assert len(service.studies) == 6
    done = recruited(batch, service)
    assert (done.made, len(service.studies)) == (False, 6)


def test_a_study_that_is_still_being_made_is_waited_for(batch: Path, service: FakeProlific) -> None:
    plan, name = plan_study(read_batch(batch), hits_each=3), f"rypt:{read_batch(batch).settings.id}"
    log_of(batch).add(step="making")  # killed while it asked
    late = {"id": "late", "internal_name": name, "status": "UNPUBLISHED"}
    slow = Prolific("secret", service.url, pause=lambda seconds: service.studies.update(late=late))
    done = recruit(batch, batch.parent / "market", slow, plan, api=service.url)
    assert (done.made, done.study.id, len(service.studies)) == (False, "late", 1)


def test_a_busy_service_is_asked_again_and_a_study_is_not(batch: Path, service: FakeProlific) -> None:
    service.trouble = [429, 503]
    assert recruited(batch, service).made
    service.trouble = [503]
    with pytest.raises(ProlificError, match="503"):
        client(service).create_study({})
    assert len(service.studies) == 1


def test_what_the_service_says_is_one_line(batch: Path, service: FakeProlific) -> None:
    with pytest.raises(ProlificError, match=r"Prolific refuses: Invalid token\. \(401\)"):
        client(service, "wrong").study("x")
    with pytest.raises(ProlificError, match="missing: "):
        client(service).create_study({})
    with pytest.raises(RyptError, match="https"):
        Prolific("x", "http://api.prolific.example/")
    plan = plan_study(read_batch(batch), hits_each=3)
    with pytest.raises(RyptError, match="this machine alone"):
        recruit(batch, batch.parent / "market", client(service), plan)
    with pytest.raises(RyptError, match="not confirmed"):
        recruit(
            batch,
            batch.parent / "market",
            client(service),
            plan,
            api=service.url,
            confirm=lambda plan, cost: False,
        )
    assert service.studies == {}
    with pytest.raises(RyptError, match="no study was made"):
        set_state(batch, batch.parent / "market", client(service), "PUBLISH")


def test_published_paused_and_stopped_each_once(batch: Path, service: FakeProlific) -> None:
    recruited(batch, service)
    for action, status in (
        ("PUBLISH", "ACTIVE"),
        ("PUBLISH", "ACTIVE"),
        ("PAUSE", "PAUSED"),
        ("START", "ACTIVE"),
    ):
        assert set_state(batch, batch.parent / "market", client(service), action).status == status
    assert len([path for method, path in service.seen if method == "POST" and "transition" in path]) == 3
    assert set_state(batch, batch.parent / "market", client(service), "STOP").status == "AWAITING REVIEW"


def test_a_bonus_is_paid_at_most_once_wherever_it_is_killed(batch: Path, service: FakeProlific) -> None:
    name = service.submit(recruited(batch, service).study.id, "p")

    def pay(amount: str = "1.50", reason: str = "careful") -> bool:
        return pay_bonus(log_of(batch), client(service), name, Decimal(amount), reason)

    assert (pay(), pay()) == (True, False)
    with pytest.raises(RyptError, match=r"bonus of 1\.50 was asked"):
        pay("2.00")
    service.deaf, service.slow_payments = ["/pay/"], True  # paid, and nobody hears of it
    with pytest.raises(ProlificError, match="does not answer"):
        pay(reason="fast")
    with pytest.raises(RyptError, match="does not list it"):
        pay(reason="fast")
    service.submissions[name]["bonus_payments"].append(150.0)  # some minutes later
    assert (pay(reason="fast"), pay(reason="fast")) == (False, False)
    service.deaf = ["/bonus-payments/"]  # killed before anything is paid
    with pytest.raises(ProlificError):
        pay(reason="kind")
    assert pay(reason="kind")
    service.trouble = [200, 400]  # prepared by nobody, refused
    with pytest.raises(ProlificError, match="expected a field id"):
        pay(reason="odd")
    assert [payment["paid"] for payment in service.payments.values()] == [1, 1, 0, 1]


def test_a_refused_payment_can_be_asked_again(batch: Path, service: FakeProlific) -> None:
    name = service.submit(recruited(batch, service).study.id, "p")
    broken = client(service)
    prepare = broken.prepare_bonuses

    def prepared(study: str, bonuses: dict[str, Decimal]) -> tuple[str, Decimal]:
        made = prepare(study, bonuses)
        service.trouble = [402]
        return made

    broken.prepare_bonuses = prepared  # type: ignore[method-assign,assignment]
    with pytest.raises(ProlificError, match="402"):
        pay_bonus(log_of(batch), broken, name, Decimal("1.00"), "x")
    assert pay_bonus(log_of(batch), client(service), name, Decimal("1.00"), "x")
    assert [payment["paid"] for payment in service.payments.values()] == [0, 1]


def test_a_list_that_ends_early_is_an_error(batch: Path, service: FakeProlific) -> None:
    study = recruited(batch, service).study.id
    for name in ("p", "q", "r"):
        service.submit(study, name)
    assert [each.participant for each in client(service).submissions(study)] == ["p", "q", "r"]
    service.lost_page = True
    with pytest.raises(ProlificError, match="expected 3 records"):
        client(service).submissions(study)


def test_two_processes_make_one_study_and_one_payment(batch: Path, service: FakeProlific) -> None:
    log, other = log_of(batch), log_of(batch)
    with other.held(), pytest.raises(RyptError, match="another process is recruiting"):
        recruited(batch, service)
    assert service.studies == {}
    name = service.submit(recruited(batch, service).study.id, "p")
    with other.held(), pytest.raises(RyptError, match="another process is recruiting or paying"):
        pay_bonus(log, client(service), name, Decimal("1.00"), "x")
    assert service.payments == {}
    assert pay_bonus(log, client(service), name, Decimal("1.00"), "x")


def test_the_market_must_be_served_as_the_study_says(
    batch: Path, service: FakeProlific, tmp_path: Path
) -> None:
    market = tmp_path / "market"
    remember_terms(market, SharedTerms("pid", 0, "OWNCODE"))
    with pytest.raises(RyptError, match="served with no --hits-each"):
        recruited(batch, service)
    remember_terms(market, SharedTerms("pid", 3, "OWNCODE"))
    recruited(batch, service)
    (study,) = service.studies.values()
    assert "?pid={{%PROLIFIC_PID%}}&STUDY_ID=" in study["external_study_url"]
    assert [code["code"] for code in study["completion_codes"]] == ["OWNCODE", "OWNCODEX", "OWNCODEN"]
    write_batch(
        tmp_path / "other", replace(read_batch(batch), settings=replace(read_batch(batch).settings, id="o"))
    )
    with pytest.raises(RyptError, match="is not published on"):
        recruited(tmp_path / "other", service)


def test_a_study_on_its_way_is_not_published_again(batch: Path, service: FakeProlific) -> None:
    study = service.studies[recruited(batch, service).study.id]
    for status in ("PUBLISHING", "COMPLETED"):
        study["status"] = status
        assert set_state(batch, batch.parent / "market", client(service), "PUBLISH").status == status
    study["status"] = "PAUSED"
    with pytest.raises(RyptError, match="--start"):
        set_state(batch, batch.parent / "market", client(service), "PUBLISH")
    study["status"] = "UNPUBLISHED"
    with pytest.raises(ProlificError, match=r"Prolific refuses: not while UNPUBLISHED \(400\)"):
        set_state(batch, batch.parent / "market", client(service), "PAUSE")
