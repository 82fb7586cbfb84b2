import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hits.batch.page import (
    batch_template,
    check_template,
    fill,
    interface_languages,
    placeholders,
    read_interface,
    without_market_parts,
)
from hits.records import Kind
from rypt.records import Label, parse_label
from rypt.text import InputError, RyptError

TESTS = Path(__file__).resolve().parents[2]
SITE = Path(__file__).resolve().parents[3] / "hits/server/pages/static/site.css"
BUNDLED = TESTS.parent / "hits" / "batch" / "templates"
MACHINE = re.compile(r"(item|segment|start|stop|size|phrase_\d+|control.*|system.*|candidate.*)")
VOID = {"meta", "input", "link", "br"}


class Page(HTMLParser):
    """All elements, and a complaint about tags that do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), attrs
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def template(kind: Kind, language: str = "en", slots: int = 3, reference: bool = True) -> str:
    return batch_template(kind, read_interface(language, kind, "de", "ar"), slots=slots, reference=reference)


def filled(kind: Kind, slots: int = 3) -> Page:
    made = template(kind, slots=slots)
    columns = {name: "" if name.startswith("hidden") else "x" for name in placeholders(made)}
    return Page(fill(made, columns))


@pytest.mark.parametrize("language", interface_languages())
@pytest.mark.parametrize("kind", Kind)
def test_every_bundled_language_makes_a_whole_template(kind: Kind, language: str) -> None:
    made = template(kind, language)
    assert "{{" not in made
    assert not re.search(r"(?<!\$)\{(source|target)\}", made)
    assert "<!-- each" not in made
    assert f'<html lang="{language}" dir="{"rtl" if language == "ar" else "ltr"}">' in made
    check_template(made, placeholders(made))


@pytest.mark.parametrize("kind", Kind)
def test_no_template_shows_what_only_programs_may_read(kind: Kind) -> None:
    assert not [name for name in placeholders(template(kind)) if MACHINE.fullmatch(name)]


@pytest.mark.parametrize(
    ("kind", "answers"),
    [
        (Kind.LABEL, {f"label_{n}": ["YES", "NO", "NOT_SURE"] for n in (1, 2, 3)}),
        (Kind.COMPARISON, {"choice": ["A", "B", "EQUAL"]}),
        (Kind.RANKING, {f"rank_{n}": ["1", "2", "3", "4", "5"] for n in (1, 2, 3)}),
    ],
)
def test_the_form_has_the_fields_of_its_kind(kind: Kind, answers: dict[str, list[str]]) -> None:
    page = filled(kind)
    radios: dict[str | None, list[str | None]] = {}
    for field in page.all("input"):
        assert field["type"] == "radio"
        assert "required" in field
        radios.setdefault(field["name"], []).append(field["value"])
        assert field["data-key"] == str(len(radios[field["name"]]))
    assert radios == answers
    assert [area["name"] for area in page.all("textarea")] == ["comment"]
    assert [form["method"] for form in page.all("form")] == ["post"]
    assert len(page.all("label")) == len(page.all("input")) + 1
    assert len(page.all("fieldset")) == len(page.all("legend")) == len(answers)


@pytest.mark.parametrize("language", interface_languages())
def test_a_page_that_asks_for_the_severity_has_two_sorts_of_no(language: str) -> None:
    interface = read_interface(language, Kind.LABEL, "de", "ar", severity=True)
    made = batch_template(Kind.LABEL, interface, slots=2, reference=True)
    columns = {name: "" if name.startswith("hidden") else "x" for name in placeholders(made)}
    page = Page(fill(made, columns))
    fields = [(field["name"], field["value"], field["data-key"]) for field in page.all("input")]
    answers = ["YES", "NO_SLIGHTLY", "NO_BADLY", "NOT_SURE"]
    assert fields == [
        (f"label_{n}", answer, str(key)) for n in (1, 2) for key, answer in enumerate(answers, 1)
    ]
    assert [parse_label(answer) for answer in answers] == [
        (Label.YES, None),
        (Label.NO, 1.0),
        (Label.NO, 5.0),
        (Label.NOT_SURE, None),
    ]
    assert all(f"<span>{interface[name]}</span>" in made for name in ("no_slightly", "no_badly"))
    assert any(interface["no_badly"] in text for text in interface.instructions)
    assert interface.instructions != read_interface(language, Kind.LABEL, "de", "ar").instructions


@pytest.mark.parametrize("kind", Kind)
def test_without_the_market_parts_nothing_is_inline(kind: Kind) -> None:
    page = Page(without_market_parts(template(kind)))
    assert not page.all("style")
    assert not page.all("script")
    for _, attributes in page.found:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]


def test_languages_are_named_in_the_workers_language() -> None:
    assert "German" in read_interface("en", Kind.LABEL, "de", "en")["task"]
    assert "Deutsch" in read_interface("de-AT", Kind.LABEL, "de_CH", "en")["task"]
    assert "tlh" in read_interface("en", Kind.LABEL, "tlh", "en")["task"]
    assert "source language" in read_interface("en", Kind.LABEL)["task"]


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(RyptError, match=r"\(ar, de, en\).*'tlh'"):
        read_interface("tlh", Kind.LABEL)
    with pytest.raises(RyptError, match=r"found '\.\./en'"):
        read_interface("../en", Kind.LABEL)


def test_instructions_of_ones_own_are_used_and_escaped(tmp_path: Path) -> None:
    own = tmp_path / "instructions.fr.toml"
    english = (BUNDLED / "instructions.en.toml").read_text(encoding="utf-8")
    own.write_text(
        english.replace('submit = "Send"', 'submit = "<b> ${reference} \\"envoyer\\""'), encoding="utf-8"
    )
    interface = read_interface(str(own), Kind.COMPARISON, "de", "en")
    made = batch_template(Kind.COMPARISON, interface, slots=0, reference=False)
    assert "&lt;b&gt; &#36;{reference} &quot;envoyer&quot;" in made
    assert '<html lang="fr" dir="ltr">' in made


def test_instructions_of_ones_own_need_only_the_sections_of_their_kind(tmp_path: Path) -> None:
    own = tmp_path / "instructions.fr.toml"
    english = (BUNDLED / "instructions.en.toml").read_text(encoding="utf-8")
    own.write_text(english[english.index("[common]") : english.index("[comparison]")], encoding="utf-8")
    assert read_interface(str(own), Kind.LABEL).texts == read_interface("en", Kind.LABEL).texts
    assert "de" in read_interface(str(own), Kind.LABEL, "de", "en")["task"], (
        "no [languages]: codes instead of names"
    )
    with pytest.raises(InputError, match=r"instructions.fr.toml: expected a section \[comparison\]"):
        read_interface(str(own), Kind.COMPARISON)
    own.write_text(
        "label = 3\n" + english[english.index("[common]") : english.index("[label]")], encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"expected a section \[label\]"):
        read_interface(str(own), Kind.LABEL)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('submit = "Send"', "", "these differ: submit"),
        ('submit = "Send"', 'submit = "Send"\nsumbit = "x"', "these differ: sumbit"),
        ('submit = "Send"', "submit = 3", "expected a text as submit"),
        ('submit = "Send"', 'submit = " "', "expected a text as submit"),
        ("[ranking]", "[rankings]", r"unknown section \[rankings\], expected one of .*ranking"),
        ("[ranking]", "[ranking", "in TOML"),
    ],
)
def test_instructions_with_a_mistake_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    own = tmp_path / "x.fr.toml"
    english = (BUNDLED / "instructions.en.toml").read_text(encoding="utf-8")
    own.write_text(english.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=f"x.fr.toml: .*{message}"):
        read_interface(str(own), Kind.LABEL)


def test_texts_are_never_read_as_a_template(tmp_path: Path) -> None:
    own = tmp_path / "instructions.fr.toml"
    english = (BUNDLED / "instructions.en.toml").read_text(encoding="utf-8")
    own.write_text(
        english.replace('submit = "Send"', 'submit = "{{ title }} {% if x %} {# y #}"'), encoding="utf-8"
    )
    made = batch_template(
        Kind.LABEL, read_interface(str(own), Kind.LABEL, "de", "en"), slots=1, reference=True
    )
    assert '<button type="submit">{{ title }} {% if x %} {# y #}</button>' in made


def luminance(colour: str) -> float:
    digits = colour if len(colour) == 6 else "".join(c * 2 for c in colour)
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("path", [BUNDLED / "hit.css", SITE], ids=["hit", "site"])
def test_text_has_the_contrast_of_wcag_aa(path: Path, dark: bool) -> None:
    """Every colour of text on every background it may stand on: at least 4.5 to 1."""
    light_part, dark_part = path.read_text(encoding="utf-8").split("\n")[:2]
    colours = dict(re.findall(r"--([a-z0-9-]+): #([0-9a-f]{3,6})", light_part))
    assert "prefers-color-scheme: dark" in dark_part
    if dark:
        colours |= dict(re.findall(r"--([a-z0-9-]+): #([0-9a-f]{3,6})", dark_part))
    grounds = [
        name for name in ("ground", "paper", "soft", "mark", "mark-2", "hover", "pale") if name in colours
    ]
    pairs = [(text, ground) for text in ("ink",) for ground in grounds]
    pairs += [
        (text, ground)
        for text in ("quiet", "blue", "good", "warn", "bad")
        for ground in ("ground", "paper", "soft")
    ]
    pairs += [("on-blue", button) for button in ("blue", "blue-dark")] + [("quiet", "mark-2")] * (not dark)
    for text, ground in pairs:
        if text in colours and ground in colours:
            light, low = sorted([luminance(colours[text]), luminance(colours[ground])], reverse=True)
            assert (light + 0.05) / (low + 0.05) >= 4.5, (text, ground)
