"""``rypt.toml``, read strictly, written and edited."""

import tomllib
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.campaign.settings import (
    CampaignSettings,
    DecoderSettings,
    Files,
    Languages,
    LoopSettings,
    MarketSettings,
    Scoring,
    read_settings,
    write_settings,
)
from rypt.campaign.settings_edit import add_list
from rypt.text import InputError, OptionError, RyptError

FILES = '[files]\nsource = "s"\n'


def read(tmp_path, text):
    (tmp_path / "rypt.toml").write_text(FILES + text, encoding="utf-8")
    return read_settings(tmp_path)


def test_sections_of_the_loop_are_read(tmp_path):
    text = """
[decoder]
command = "moses -f {config} -n-best-list {nbest} 100"
weights = "moses.ini"
timeout = 90
[market]
endpoint = "https://example.org"
production = true
wage = 15.50
assignments = 3
[loop]
budget = "25.00"
labels = 50
patience = 1
exclude_bad = false
"""
    found = read(tmp_path, text)
    assert found.decoder == DecoderSettings(
        "moses -f {config} -n-best-list {nbest} 100", "moses.ini", timeout=90.0
    )
    assert found.market == MarketSettings(
        endpoint="https://example.org", production=True, wage=Decimal("15.50"), assignments=3
    )
    assert found.loop == LoopSettings(Decimal("25.00"), labels=50, patience=1, exclude_bad=False)
    assert read(tmp_path, "[loop]\nbudget = 7.10\n").loop.budget == Decimal("7.10")
    assert read(tmp_path, "").loop == LoopSettings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[decoder]\ncommand = "moses > {nbest}"',
            r"\[decoder\]: expected {weights} or {config} in the decoder's",
        ),
        ('[decoder]\ncommand = "moses {weights}"', r"\[decoder\]: expected {nbest} in the decoder's command"),
        ("[decoder]\ntimeout = 0", r"\[decoder\]: expected a timeout above 0 seconds, found 0"),
        ("[decoder]\ntimeout = true", r"expected timeout in \[decoder\] as a number, found True"),
        ("[decoder]\ntimeout = nan", r"expected timeout in \[decoder\] as a number"),
        (
            '[decoder]\ncomand = "x"',
            r"unknown setting 'comand' in \[decoder\], expected command, weights, folder",
        ),
        ('[market]\nendpoint = "mturk"', r"\[market\]: expected an endpoint that begins with http"),
        ("[market]\nassignments = 0", r"\[market\]: expected 1 to 1000 assignments, found 0"),
        ("[market]\nproduction = 1", r"expected production in \[market\] as true or false, found 1"),
        (
            '[market]\nwage = "-1"',
            r"expected wage in \[market\] as an amount of dollars such as \"25.00\", found '-1'",
        ),
        ("[loop]\nbudget = inf", r"expected budget in \[loop\] as an amount of dollars"),
        (
            "[loop]\nbudget = [1]",
            r"expected budget in \[loop\] as an amount of dollars such as .*, found \[1\]",
        ),
        ("[loop]\nlabels = 2.5", r"expected labels in \[loop\] as a whole number, found 2.5"),
        ("[loop]\nlabels = true", r"expected labels in \[loop\] as a whole number, found True"),
        ("[loop]\npatience = 0", r"\[loop\]: expected patience of at least 1, found 0"),
        ("[loop]\nseed = -1", r"\[loop\]: expected a seed of at least 0, found -1"),
        (
            "[lop]\nbudget = 1",
            r"unknown section \[lop\], expected one of files, scoring, languages, decoder, market",
        ),
    ],
)
def test_mistakes_are_told(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_a_python_function_needs_no_places(tmp_path):
    assert read(tmp_path, '[decoder]\ncommand = "my.module:decode"').decoder.command == "my.module:decode"
    with pytest.raises(RyptError, match=r"expected \{nbest\}"):
        DecoderSettings("my.module:")


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@given(
    st.lists(TEXTS, max_size=3),
    TEXTS,
    st.none() | st.decimals(0, 1000, places=2),
    st.booleans(),
    st.none() | st.floats(0.5, 1e6),
)
def test_what_is_written_is_read(tmp_path_factory, lists, name, budget, excludes, timeout):
    folder = tmp_path_factory.mktemp("settings")
    settings = CampaignSettings(
        Files(name, nbest=lists, alignments=lists),
        Scoring(max_len=3),
        Languages("de"),
        DecoderSettings(f"{name} {{weights}} {{nbest}}", name, name, timeout),
        MarketSettings(folder=name, wage=budget, assignments=2),
        LoopSettings(budget, labels=3, exclude_bad=excludes),
    )
    write_settings(settings, folder)
    assert read_settings(folder) == settings


def test_sections_that_say_nothing_are_left_out(tmp_path):
    write_settings(CampaignSettings(Files("s")), tmp_path)
    assert list(tomllib.loads((tmp_path / "rypt.toml").read_text())) == ["files", "scoring", "languages"]
    write_settings(CampaignSettings(Files("s"), loop=LoopSettings(exclude_bad=False)), tmp_path)
    assert read_settings(tmp_path).loop == LoopSettings(exclude_bad=False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('nbest = ["a"]  # mine', 'nbest = [\n    "a",\n    "lists/1",\n]  # mine'),
        ('nbest = [\n  "a",  # ] no end\n  "b]"\n]', 'nbest = [\n    "a",\n    "b]",\n    "lists/1",\n]'),
        ("nbest=[]", 'nbest=[\n    "lists/1",\n]'),
        ("", 'nbest = [\n    "lists/1",\n]'),
        (
            'nbest = ["a"]\nalignments = ["x"]',
            'nbest = [\n    "a",\n    "lists/1",\n]\nalignments = [\n    "x",\n    "",\n]',
        ),
    ],
)
def test_a_list_is_added_and_all_else_stays(tmp_path, before, after):
    frame = '# my campaign\n[scoring]\nmax_len = 3\n\n[ files ] # texts\n{}\nsource = "s"  # [x]\n\n[loop]\nlabels = 7\n'
    text = frame.format(before).replace("texts\n\n", "texts\n")
    (tmp_path / "rypt.toml").write_text(text)
    settings = add_list(tmp_path, "lists/1")
    expected = frame.format(after)
    assert (tmp_path / "rypt.toml").read_text() == expected
    assert read_settings(tmp_path) == settings
    assert settings.files.nbest[-1] == "lists/1"
    add_list(tmp_path, "lists/1")
    assert (tmp_path / "rypt.toml").read_text() == expected


def test_a_file_that_cannot_be_edited_is_left_alone(tmp_path):
    text = 'files = { source = "s" }\n'
    (tmp_path / "rypt.toml").write_text(text)
    with pytest.raises(
        InputError, match=r"the list lists/1 could not be added: add it to nbest in \[files\]"
    ):
        add_list(tmp_path, "lists/1")
    assert (tmp_path / "rypt.toml").read_text() == text


def test_languages_of_a_pair():
    assert Languages.parse("de-en") == Languages("de", "en")
    assert Languages.parse("en:zh-Hans") == Languages("en", "zh-Hans")
    assert Languages.parse("de-") == Languages("de")
    for pair in ("deutsch", "en-zh-Hans", "a:b:c"):
        with pytest.raises(
            OptionError, match=f"expected a language pair such as de-en or en:zh-Hans, got '{pair}'"
        ):
            Languages.parse(pair)


def test_places_are_relative_to_the_campaign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    decoder = DecoderSettings.run_from_here("c/d", "run {weights} {nbest}", "w", 9)
    assert decoder == DecoderSettings("run {weights} {nbest}", "../../w", "../..", 9)
    assert DecoderSettings.run_from_here("c", None) == DecoderSettings()
    with pytest.raises(OptionError, match="a timeout is an option of a decoder"):
        DecoderSettings.run_from_here("c", None, timeout=9)
    assert MarketSettings.located_at("c", None) == MarketSettings()
    assert MarketSettings.located_at("c", "m", Decimal(9), 3) == MarketSettings(
        "../m", wage=Decimal(9), assignments=3
    )
    assert MarketSettings.located_at("c", "https://x.org") == MarketSettings(endpoint="https://x.org")


def test_a_segmenter_is_one_word():
    assert Languages(segmenter="icu-78.3").segmenter == "icu-78.3"
    with pytest.raises(
        RyptError, match=r"expected a segmenter with its version such as icu-78\.3, found 'a b'"
    ):
        Languages(segmenter="a b")
