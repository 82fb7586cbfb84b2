"""The demo's report: one page that needs nothing else and says what is simulated."""

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from made_facts import made_facts

from rypt.demo_report import write_report

SECTIONS = ["story", "loop", "money", "workers", "tree", "accepted", "preferences", "ranking"]


class Page(HTMLParser):
    """What a browser would see: sections with their words and figures, and all that it would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: dict[str, str] = {}
        self.captions: list[str] = []
        self.loads: list[str] = []
        self.tags: list[str] = []
        self._section = ""
        self._caption = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.loads += [found[name] for name in ("src", "href", "srcset", "data", "action") if name in found]
        if tag == "section":
            self._section = found["id"]
            self.sections[self._section] = ""
            assert f'id="{found["aria-labelledby"]}"' in self.rawdata
        if tag == "svg":
            assert found["role"] == "img" and found["aria-label"]  # noqa: PT018
        if tag == "img":
            assert found["alt"]
        if tag == "figcaption":
            self._caption = True
            self.captions.append("")

    def handle_endtag(self, tag):
        self._caption = self._caption and tag != "figcaption"
        self._section = "" if tag == "section" else self._section

    def handle_data(self, data):
        if self._section:
            self.sections[self._section] += data
        if self._caption:
            self.captions[-1] += data


def check_page(text: str) -> Page:
    """What holds for every report."""
    page = Page(text)
    assert list(page.sections) == SECTIONS
    assert all(load.startswith("data:") for load in page.loads)
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
    assert not {"script", "iframe"} & set(page.tags)
    for chart in re.findall(r"<svg class=\"chart\".*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(chart)
    return page


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
    for name, command in (("loop", "rypt loop"), ("tree", "rypt explain 12"), ("ranking", "rypt rank systems")):
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
