"""The demo's report: one page that needs nothing else and says what is simulated."""

from dataclasses import replace
from pathlib import Path

import pytest
from made_facts import made_facts
from report_page import SECTIONS, Page, check_page

from rypt.demo.report import write_report
from rypt.demo.texts import Plan


@pytest.fixture
def page(tmp_path: Path) -> Page:
    write_report(tmp_path / "report.html", made_facts())
    return check_page((tmp_path / "report.html").read_text(encoding="utf-8"))


def test_everything_simulated_is_said_to_be(page: Page) -> None:
    for name in SECTIONS:
        assert ("SIMULATED" in page.sections[name]) == (name != "accepted"), name
    for caption in page.captions:
        assert ("SIMULATED" in caption) != ("cceptable" in caption), caption


def test_numbers_and_commands_are_there(page: Page) -> None:
    assert "186 labels that count came for $6.17" in page.sections["money"]
    assert "140 of 760 questions there had their answer before they were asked" in page.sections["money"]
    assert "iteration 3" not in page.sections["money"]  # where nothing was asked
    assert "the weights of iteration 2 are the result" in page.sections["loop"]
    assert "1 of 2 workers did not pass" in page.sections["workers"]
    assert "+10.0 points" in page.sections["preferences"]
    assert "7 segments on which both say the same" in page.sections["preferences"]
    assert "2 clusters" in page.sections["ranking"]
    for name, command in (
        ("loop", "rypt loop"),
        ("tree", "rypt explain 12"),
        ("ranking", "rypt rank systems"),
    ):
        assert command in page.sections[name]
    assert "rypt rank systems 'my <demo>/unseen'" in page.sections["ranking"]


def test_names_are_escaped(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", made_facts())
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "my <demo>" not in text
    assert "<b>" not in text
    assert "my &lt;demo&gt;" in text


def test_where_a_person_judged_nothing_is_called_simulated(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", made_facts(simulated=False))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    check_page(text)
    assert "SIMULATED" not in text
    assert "You judged" in text


def test_outputs_that_are_all_the_same(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", made_facts(compared=False))
    page = check_page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "nothing to ask" in page.sections["preferences"]


def test_labels_with_the_candidates_they_serve_and_the_weights(tmp_path: Path) -> None:
    facts = made_facts(simulated=False)
    write_report(tmp_path / "report.html", facts)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Your labels" in page
    assert "das &lt;alte&gt; Haus" in page
    assert "<td>17</td>" in page
    assert "<td>&#43;0.500</td><td>&#45;0.250</td>" in page


def test_a_person_sees_what_their_labels_did(tmp_path: Path) -> None:
    """Simulated workers began, a person went on: what each of them did is told apart."""
    plan = Plan(people=True, begun=200, iterations=2)
    weights = {"LM0": (0.5, 0.3, 0.25)}
    write_report(
        tmp_path / "report.html", replace(made_facts(), plan=plan, yours=9, pairs=3, weights=weights)
    )
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = check_page(text)
    assert "You judged 9 phrases and 3 pairs of outputs" in text
    assert "gave\n177 labels" in text
    assert page.sections["labels"].startswith("Your labels, and how many candidates each serves One answer")
    assert "Your 9 answers count 17 times." in page.sections["labels"]
    assert "before your labels" in page.sections["weights"]
    assert "did not change" not in page.sections["weights"]
    assert page.sections["preferences"].startswith("Which output you preferred You saw")
    assert "SIMULATED" not in page.sections["preferences"] + page.sections["labels"]
    assert "SIMULATED" in page.sections["loop"]
    same = replace(made_facts(), plan=plan, yours=9, weights={"LM0": (0.5, 0.3, 0.3)})
    write_report(tmp_path / "report.html", same)
    assert "Yours did not change them" in (tmp_path / "report.html").read_text(encoding="utf-8")
