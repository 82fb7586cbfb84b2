"""Recruiting against a server of our own: one study and one payment, whenever the client is killed."""

import json
import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from commands import run
from local_market import made_batch
from prolific_server import served_prolific

from hits.batch.folder import read_batch
from hits.market.folder import BATCHES, change_access, keep_batch, open_access, read_access
from hits.market.prolific import Prolific, ProlificError
from hits.market.recruit import RecruitingLog, pay_bonus, plan_study, recruit, set_state
from rypt.text import RyptError


@pytest.fixture
def service():
    with served_prolific() as running:
        yield running


@pytest.fixture
def market(tmp_path):
    market = tmp_path / "market"
    open_access(market)
    change_access(market, url="http://127.0.0.1:1/", hits_each=3)
    return market


@pytest.fixture
def batch(market, tmp_path):
    made = made_batch(tmp_path / "b", size=6, assignments=2)
    keep_batch(market, tmp_path / "b", made.settings.id)
    return tmp_path / "b"


@pytest.fixture
def log(batch, market):
    return RecruitingLog(market / BATCHES / read_batch(batch).settings.id)


def client(service, token="secret"):
    return Prolific(token, service.url, pause=lambda seconds: None)


def plan(batch, hits_each=3):
    return plan_study(read_batch(batch), hits_each=hits_each)


@pytest.fixture
def recruited(batch, market, service):
    return lambda: recruit(batch, market, client(service), plan(batch))


def test_a_study_is_made_from_the_batch_once(batch, market, service, recruited):
    done = recruited()
    (study,) = service.studies.values()
    access = read_access(market)
    assert (done.made, done.study.status, study["total_available_places"]) == (True, "UNPUBLISHED", 5)
    assert study["external_study_url"] == (
        f"http://127.0.0.1:1/join/{access.join_key}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}"
        "&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    codes = [code["code"].removeprefix(access.completion_code) for code in study["completion_codes"]]
    assert codes == ["", "X", "N"]
    assert study["reward"] == 30  # three hits of ten cents
    assert study["estimated_completion_time"] == 2
    assert done.cost == Decimal("2.00")
    again = recruited()
    assert (again.made, again.study.id, len(service.studies)) == (False, done.study.id, 1)
    for action, status in (("PUBLISH", "ACTIVE"), ("PUBLISH", "ACTIVE"), ("STOP", "AWAITING REVIEW")):
        assert set_state(batch, market, client(service), action).status == status
    assert len([path for method, path in service.seen if method == "POST" and "transition" in path]) == 2


def test_the_example_of_the_module_runs(batch, market, service):
    import hits.market.recruit as module

    lines = [line.strip() for line in module.__doc__.splitlines() if line.startswith("    ")]
    code = "\n".join(lines).replace('"batches/1"', repr(str(batch))).replace('"market"', repr(str(market)))
    names = {**vars(module), "Prolific": lambda token: client(service), "token": "secret"}
    exec(code.replace("hits_each=4", "hits_each=3"), names)
    assert names["recruited"].made


def test_killed_while_the_study_was_made_it_is_found_again(batch, market, service, recruited, log):
    for number in range(5):  # other studies, on several pages
        service.studies[f"o{number}"] = {"id": f"o{number}", "internal_name": "other", "status": "ACTIVE"}
    broken = client(service)
    broken.find = lambda name, wait: service.deaf.append("/studies/")
    with pytest.raises(ProlificError, match="does not answer"):
        recruit(batch, market, broken, plan(batch))
    assert len(service.studies) == 6
    done = recruited()
    assert (done.made, len(service.studies)) == (False, 6)


def test_a_study_that_is_still_being_made_is_waited_for(batch, market, service, log):
    log.add(step="making")  # killed while it asked
    late = {"id": "late", "internal_name": f"rypt:{read_batch(batch).settings.id}", "status": "UNPUBLISHED"}
    slow = Prolific("secret", service.url, pause=lambda seconds: service.studies.update(late=late))
    done = recruit(batch, market, slow, plan(batch))
    assert (done.made, done.study.id, len(service.studies)) == (False, "late", 1)


def test_a_busy_service_is_asked_again_and_a_study_is_not(service, recruited):
    service.trouble = [429, 503]
    assert recruited().made
    service.trouble = [503]
    with pytest.raises(ProlificError, match="503"):
        client(service).create_study({})
    assert len(service.studies) == 1


def test_mistakes_are_one_line_and_nothing_is_made(batch, market, service, tmp_path):
    with pytest.raises(ProlificError, match=r"Prolific refuses: Invalid token\. \(401\)"):
        client(service, "wrong").study("x")
    with pytest.raises(ProlificError, match="missing: "):
        client(service).create_study({})
    with pytest.raises(RyptError, match="https"):
        Prolific("x", "http://api.prolific.example/")
    with pytest.raises(RyptError, match="this machine alone"):
        recruit(batch, market, Prolific("x"), plan(batch))
    with pytest.raises(RyptError, match="not confirmed"):
        recruit(batch, market, client(service), plan(batch), confirm=lambda plan, cost: False)
    with pytest.raises(RyptError, match="no study was made"):
        set_state(batch, market, client(service), "PUBLISH")
    with pytest.raises(RyptError, match="served with --hits-each 3"):
        recruit(batch, market, client(service), plan(batch, hits_each=2))
    made_batch(tmp_path / "other", size=2, assignments=9)
    with pytest.raises(RyptError, match="is not published on"):
        recruit(tmp_path / "other", market, client(service), plan(batch))
    assert service.studies == {}


def test_a_bonus_is_paid_at_most_once_wherever_it_is_killed(service, recruited, log):
    name = service.submit(recruited().study.id, "p")

    def pay(amount="1.50", reason="careful"):
        return pay_bonus(log, client(service), name, Decimal(amount), reason)

    assert (pay(), pay()) == (True, False)
    with pytest.raises(RyptError, match=r"bonus of 1\.50 was asked"):
        pay("2.00")
    service.deaf = ["/pay/"]  # paid, and nobody hears of it
    with pytest.raises(ProlificError, match="does not answer"):
        pay(reason="fast")
    with pytest.raises(RyptError, match=r'add a line to .*recruited\.jsonl: \{"step": "paid"') as error:
        pay(reason="fast")
    line = str(error.value).partition(".jsonl: ")[2].partition(", or ")[0]
    log.add(**json.loads(line))
    assert not pay(reason="fast")
    service.deaf = ["/bonus-payments/"]  # killed before anything is paid
    with pytest.raises(ProlificError):
        pay(reason="kind")
    assert pay(reason="kind")
    assert [payment["paid"] for payment in service.payments.values()] == [1, 1, 0, 1]


def test_a_refused_payment_can_be_asked_again(service, recruited, log):
    name = service.submit(recruited().study.id, "p")
    broken = client(service)
    prepare = broken.prepare_bonus

    def prepared(*arguments):
        made = prepare(*arguments)
        service.trouble = [402]
        return made

    broken.prepare_bonus = prepared
    with pytest.raises(ProlificError, match="402"):
        pay_bonus(log, broken, name, Decimal("1.00"), "x")
    assert pay_bonus(log, client(service), name, Decimal("1.00"), "x")
    assert [payment["paid"] for payment in service.payments.values()] == [0, 1]


@pytest.mark.parametrize("answer", [[], {"id": None}, {"total_cost": "abc"}, {"total_cost": 1e999}, "x"])
def test_answers_of_another_shape_are_one_line(service, monkeypatch, answer):
    monkeypatch.setattr(Prolific, "_send", lambda *arguments: answer)
    for ask in (
        lambda: client(service).cost(Decimal(1), 2),
        lambda: client(service).submissions("s"),
        lambda: client(service).prepare_bonus("s", "x", Decimal(1)),
    ):
        with pytest.raises(ProlificError, match="cannot be read"):
            ask()


def test_a_redirect_is_refused_and_gets_no_token(service):
    """A payment that is sent elsewhere would be a page view there, and look as if it had been made."""
    seen = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers)

        def do_POST(self):
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/")
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        with pytest.raises(ProlificError, match="302"):
            Prolific("secret", f"http://127.0.0.1:{server.server_port}").pay_bonus("p")
        server.shutdown()
    assert seen == []


def test_a_list_that_ends_early_is_an_error(service, recruited):
    study = recruited().study.id
    for name in ("p", "q", "r"):
        service.submit(study, name)
    assert [each.participant for each in client(service).submissions(study)] == ["p", "q", "r"]
    service.lost_page = True
    with pytest.raises(ProlificError, match="expected 3 records"):
        client(service).submissions(study)


def test_two_processes_make_one_study_and_one_payment(service, recruited, log):
    other = RecruitingLog(log.path.parent)
    with other.held(), pytest.raises(RyptError, match="another process is recruiting"):
        recruited()
    assert service.studies == {}
    name = service.submit(recruited().study.id, "p")
    with other.held(), pytest.raises(RyptError, match="another process is recruiting or paying"):
        pay_bonus(log, client(service), name, Decimal("1.00"), "x")
    assert service.payments == {}


def test_the_command(capsys, batch, market, service, tmp_path, monkeypatch):
    monkeypatch.setenv("PROLIFIC_TOKEN", "secret")
    monkeypatch.setenv("RYPT_PROLIFIC_API", service.url)
    options = ["hits", "recruit", batch, "--market", market]
    (tmp_path / "filters.json").write_text('[{"filter_id": "fluent-languages", "selected_values": ["19"]}]')
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115
    code, out, err = run(capsys, *options, "--places", 2)
    assert (code, out) == (1, "")
    assert "2 places" in err
    assert "say --yes" in err
    options.append("--yes")
    made = ["--places", 2, "--reward", "1.00", "--filters", tmp_path / "filters.json", "--device", "desktop"]
    study = json.loads(run(capsys, *options, *made, "--json")[1])
    assert (study["made"], study["cost"], study["places"]) == (True, "2.67", 2)
    there = service.studies[study["id"]]
    assert there["filters"][0]["filter_id"] == "fluent-languages"
    assert there["device_compatibility"] == ["desktop"]
    assert run(capsys, *options)[1].startswith(f"study {study['id']} was there")
    assert run(capsys, *options, "--publish")[1] == f"study {study['id']} is ACTIVE\n"
    assert run(capsys, *options, "--stop")[1].endswith("AWAITING REVIEW\n")

    token = tmp_path / "token"
    token.write_text("secret\n")
    monkeypatch.delenv("PROLIFIC_TOKEN")
    for mode, expected in ((0o644, 1), (0o600, 0)):
        token.chmod(mode)
        code, _, err = run(capsys, *options, "--token-file", token)
        assert (code, "only its owner can read" in err, "secret" in err) == (expected, bool(expected), False)
    assert "PROLIFIC_TOKEN" in run(capsys, *options)[2]
