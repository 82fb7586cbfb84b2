"""``rypt.toml``, read strictly, written and edited."""

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
    add_list,
    read_settings,
    write_settings,
)
from rypt.text import InputError, OptionError

FILES = '[files]\nsource = "s"\n'


def read(folder, text):
    (folder / "rypt.toml").write_text(text, encoding="utf-8")
    return read_settings(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[files]\nsource = 3 4\n", "expected TOML: .* line 2"),
        ("x = " + "[" * 100_000, "expected TOML: too deeply nested"),
        ("[fils]\n", r"unknown section \[fils\]"),
        ("[files]\ntrees = 't'\n", r"a setting of \[files\] is missing"),
        ("[files]\nsauce = 'x'\n", r"unknown setting 'sauce' in \[files\]"),
        ("[files]\nsource = 3\n", r"source in \[files\] as a text, found 3"),
        ("[files]\nnbest = [1]\n", r"nbest in \[files\] as a list of texts, found \[1\]"),
        (FILES + "[scoring]\nties = 'coin'\n", r"\[scoring\]: expected ties as one of"),
        (FILES + "[decoder]\ntimeout = nan", r"timeout in \[decoder\] as a number, found NaN"),
        (FILES + '[decoder]\ncommand = "moses > {nbest}"', r"expected {weights} or {config}"),
        (FILES + '[market]\nendpoint = "mturk"', r"\[market\]: expected an endpoint"),
        (FILES + "[market]\nseverity = 1", r"severity in \[market\] as true or false, found 1"),
        (FILES + '[market]\nwage = "-1"', r"an amount of dollars such as \"25.00\", found '-1'"),
        (FILES + "[loop]\nlabels = 2.5", r"labels in \[loop\] as a whole number, found 2.5"),
        (FILES + "[loop]\npatience = 0", r"\[loop\]: expected patience of at least 1, found 0"),
    ],
)  # fmt: skip
def test_mistakes_name_the_file_and_the_setting(tmp_path, text, message):
    with pytest.raises(InputError, match=f"{tmp_path}/rypt.toml: .*{message}"):
        read(tmp_path, text)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@pytest.mark.slow
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
    text = f"{FILES}[market]\nwage = 15.50\n[loop]\nbudget = 25\n"  # amounts may be numbers
    assert read(folder, text).market.wage == Decimal("15.50")
    assert read(folder, text).loop.budget == 25


@pytest.mark.parametrize(
    "files",
    [
        'source = "s"\nnbest = ["a"]  # mine\nalignments = ["x"]\n',
        'source = "s"\nnbest = [\n  "a",  # ] no end\n  "b]"\n]\n',
        'source = "s"  # no list yet\n',
    ],
)
def test_a_list_is_added_and_all_else_stays(tmp_path, files):
    text = f"# my campaign\n[scoring]\nmax_len = 3\n\n[ files ] # texts\n{files}\n[loop]\nlabels = 7\n"
    before = read(tmp_path, text)
    settings = add_list(tmp_path, "lists/1")
    edited = (tmp_path / "rypt.toml").read_text()
    assert settings == read_settings(tmp_path)
    assert settings.files.nbest == [*before.files.nbest, "lists/1"]
    assert settings.files.alignments == ([*before.files.alignments, ""] if before.files.alignments else [])
    left = [line for line in text.splitlines() if not line.startswith(("nbest", "alignments", '  "b'))]
    assert [line for line in edited.splitlines() if line in left] == left
    assert edited.count("#") == text.count("#")
    add_list(tmp_path, "lists/1")
    assert (tmp_path / "rypt.toml").read_text() == edited


def test_languages_of_a_pair():
    assert Languages.parse("de-en") == Languages("de", "en")
    assert Languages.parse("de-") == Languages("de")
    for pair in ("deutsch", "en-zh-Hans", "a:b:c"):
        with pytest.raises(OptionError, match=f"expected a language pair such as .*, got '{pair}'"):
            Languages.parse(pair)


def test_paths_are_relative_to_the_campaign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    decoder = DecoderSettings.run_from_here("c/d", "run {weights} {nbest}", "w")
    assert decoder == DecoderSettings("run {weights} {nbest}", "../../w", "../..")
    assert MarketSettings.located_at("c", "m", Decimal(9), 3) == MarketSettings(
        "../m", wage=Decimal(9), assignments=3
    )
    assert MarketSettings.located_at("c", "https://x.org") == MarketSettings(endpoint="https://x.org")
