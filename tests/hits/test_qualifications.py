"""Who may work on a batch: what ``batch.toml`` says, what a market makes of it, and what workers see."""

import re
import textwrap
import time
import tomllib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st
from local_market import local_market

import hits.qualifications
from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.question_xml import parse_xml
from hits.batch.systems import make_system_batch
from hits.market.folder import STORE_NAME
from hits.market.publish import publish
from hits.market.qualification_types import answer_key, is_type, language_type, quiz_form, quiz_type
from hits.qualifications import Qualifications, Quiz, QuizQuestion, qualifications_table, read_qualifications
from hits.records import Kind
from hits.server.app import make_app
from hits.server.store.qualifications import score_test
from rypt.records import Segment
from rypt.text import FormatError, InputError, RyptError

TEST = Quiz(
    "Read <closely>",
    (
        QuizQuestion("Is 'the & house' good?", ("Yes", "No"), "Yes"),
        QuizQuestion("And 'house the'?", ("Yes", "No", "<b>"), "No"),
    ),
    pass_mark=100,
)
ALL = Qualifications(("de", "en"), ("DE", "AT"), 90, TEST)


def made_batch(folder, asked, id="b1"):
    segments = [Segment(str(i), f"Satz {i}") for i in range(3)]
    outputs = {system: {s.id: f"sentence {s.id} by {system}" for s in segments} for system in ("x", "y")}
    settings = replace(
        new_settings(Kind.COMPARISON, seed=1, now=datetime.now(UTC), id=id), qualifications=asked
    )
    write_batch(folder, make_system_batch(segments, outputs, settings, control_share=0))
    return read_batch(folder)


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)
questions = st.lists(texts, min_size=2, max_size=4, unique=True).flatmap(
    lambda choices: st.builds(QuizQuestion, texts, st.just(tuple(choices)), st.sampled_from(choices))
)
tests = st.builds(
    Quiz,
    texts,
    st.lists(questions, min_size=1, max_size=3).map(tuple),
    texts,
    st.integers(1, 1440),
    st.integers(1, 100),
)
asked_of_workers = st.builds(
    Qualifications,
    st.lists(st.sampled_from(["de", "en", "pt-BR"]), unique=True).map(tuple),
    st.lists(st.sampled_from(["DE", "US"]), unique=True).map(tuple),
    st.integers(0, 100),
    st.none() | tests,
)


@pytest.mark.slow
@given(asked_of_workers)
def test_what_is_written_is_read(asked):
    assert read_qualifications(tomllib.loads(tomli_w.dumps(qualifications_table(asked)))) == asked


def test_the_examples_can_be_used():
    shown = (Path(__file__).parents[2] / "docs" / "hits.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```toml\n(.*?)```", shown, re.DOTALL)
    own = re.search(r"::\n\n(.*?)\n\nEvery part", hits.qualifications.__doc__, re.DOTALL)[1]
    found = [
        read_qualifications(tomllib.loads(textwrap.dedent(text))["qualifications"]) for text in (example, own)
    ]
    assert found[0] == found[1]
    assert found[0].test.pass_mark == 80
    assert found[0].languages == ("de", "en")


QUESTION = {"text": "?", "choices": ["a", "b"], "answer": "a"}


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"language": ["de"]}, "unknown setting language"),
        ({"languages": "de"}, "languages in [qualifications] as a list"),
        ({"languages": ["German"]}, "expected languages such as de"),
        ({"countries": ["Germany"]}, "two capitals such as DE"),
        ({"approval_rate": 0.9}, "as a whole number"),
        ({"test": {"name": "t", "questions": ["x"]}}, "expected a section"),
        ({"test": {"name": "t", "questions": [{**QUESTION, "answer": "c"}]}}, "among its"),
        ({"test": {"name": "t", "questions": [{**QUESTION, "choices": ["a"]}]}}, "2 to 20 different"),
        ({"test": {"name": "t", "pass_mark": 0, "questions": [QUESTION]}}, "between 1 and 100 percent"),
    ],
)
def test_mistakes_are_named(section, message):
    with pytest.raises(FormatError) as error:
        read_qualifications(section)
    assert message in str(error.value)


def test_a_mistake_in_a_batch_names_the_file(tmp_path):
    made_batch(tmp_path / "batch", ALL)
    path = tmp_path / "batch" / "batch.toml"
    path.write_text(path.read_text().replace("approval_rate = 90", "approval_rate = 900"))
    with pytest.raises(InputError, match=r"batch\.toml: expected an approval_rate"):
        read_batch(tmp_path / "batch")


@pytest.mark.slow
@given(tests, st.data())
def test_the_key_counts_right_answers_in_percent(test, data):
    """Against a count of our own: the share of questions answered right, halves rounded up."""
    chosen = [data.draw(st.sampled_from(question.choices)) for question in test.questions]
    pairs = list(zip(test.questions, chosen, strict=True))
    given_answers = {f"q{n}": f"c{q.choices.index(c) + 1}" for n, (q, c) in enumerate(pairs, start=1)}
    right = sum(c == q.answer for q, c in pairs)
    assert score_test(answer_key(test), given_answers) == (200 * right + len(chosen)) // (2 * len(chosen))
    form = parse_xml(quiz_form(test))
    shown = [element.text for element in form.iter() if element.tag.endswith("Text")]
    assert shown[0] == test.description
    assert [text for question in test.questions for text in (question.text, *question.choices)] == shown[1:]


def test_a_test_is_found_by_its_name_and_another_one_of_the_name_is_refused():
    wanted = quiz_type(TEST)
    assert is_type(wanted, {**wanted, "QualificationTypeId": "3A"})
    assert is_type(wanted, quiz_type(replace(TEST, pass_mark=50, minutes=3)))
    assert not is_type(wanted, quiz_type(replace(TEST, name="Read", questions=TEST.questions[:1])))
    for other in (TEST.questions[:1], (*TEST.questions[:1], replace(TEST.questions[1], answer="Yes"))):
        with pytest.raises(RyptError, match="with another test; name the batch's otherwise"):
            is_type(wanted, quiz_type(replace(TEST, questions=other)))
    assert is_type(language_type("de"), language_type("de"))
    assert not is_type(language_type("de"), language_type("en"))


def ask(client, path, **fields):
    csrf = re.findall(r'name="csrf" value="([\w-]{43})"', client.get("/work").text)[0]
    return client.post(path, data={"csrf": csrf, **fields})


@pytest.mark.slow
def test_a_worker_qualifies_step_by_step(tmp_path):
    with local_market(tmp_path) as (market, _):
        for id in ("b1", "b2"):  # types are made once
            publish(made_batch(tmp_path / id, ALL, id), market)
    app = make_app(tmp_path)
    assert (tmp_path / STORE_NAME).exists()
    store, now = app.extensions["market"].store, int(time.time())
    assert len(store.qualifications.types()) == 3
    assert {len(hit["QualificationRequirements"]) for hit in store.hits.all(now)} == {5}
    invited = store.people.invite("Ada", now, country="DE")
    abroad = store.people.invite("Bob", now, country="FR")
    for person in (invited, abroad):
        store.people.consent(person.worker.id, now)
    bob = app.test_client()
    bob.get(f"/w/{abroad.token}")
    page = bob.get("/work").text
    assert "Not open to you" in page
    assert "you live in one of: DE, AT" in page
    assert "Take the test" not in page
    ada = app.test_client()
    ada.get(f"/w/{invited.token}")
    page = ada.get("/work").text
    assert "Not open to you" not in page
    assert "You read German well" in page
    assert "You read English well" in page
    ada.environ_base["HTTP_ACCEPT_LANGUAGE"] = "de"
    assert "Sie lesen gut Deutsch" in ada.get("/work").text
    ada.environ_base["HTTP_ACCEPT_LANGUAGE"] = "en"
    for kind in re.findall(r'href="/work/test/([A-Z0-9]+)"', page):
        assert ask(ada, f"/work/test/{kind}/start").status_code == 303
        shown = ada.get(f"/work/test/{kind}").text
        for second in ("c1", "c2"):  # fails, then passes
            if "<form" in shown and 'name="q1"' in shown:
                request = re.findall(r'name="assignmentId" value="([A-Z0-9]+)"', shown)[0]
                ask(ada, f"/work/test/{kind}", assignmentId=request, q1="c1", q2=second)
                page = ada.get("/work").text
                assert ("Begin" in page) == (second == "c2")
                ask(ada, f"/work/test/{kind}/start")
                shown = ada.get(f"/work/test/{kind}").text
    page = ada.get("/work").text
    assert "at least 90 % of your reviewed pages approved" in page
    assert ask(ada, "/work/next").location.startswith("/work/a/")
